"""Commands on one spec: validate, plan, explain, choose, compile, report, economics."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rackwright.cli.app import AsJson, SpecPath, Today, app
from rackwright.cli.session import Session
from rackwright.cli.terminal import BAD_INPUT, NOT_FEASIBLE, emit, failure, tell, working
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.report.terminal.console import console


class ReportFormat(StrEnum):
    """Formats of the report file."""

    HTML = "html"
    MARKDOWN = "md"


@app.command()
def validate(spec: SpecPath, as_json: AsJson = False) -> None:
    """Check a spec. Every problem is shown at once, each with its place and what to do."""
    session = Session.of(spec, as_json, None)
    found = session.pipeline.reading
    if as_json:
        emit(failure(found.problems, str(spec)) | {"ok": True, "notes": list(found.notes)})
    else:
        tell(found.warnings, str(spec))
        for note in found.notes:
            emit(f"{spec}: {note}")
        emit(f"{spec}: no errors")


@app.command()
def plan(
    spec: SpecPath,
    as_json: AsJson = False,
    top: Annotated[int, typer.Option(min=1, help="How many machines to show.")] = 5,
    today: Today = None,
) -> None:
    """Size the workload. Ranked machines with time, cost and memory, the whole bill, and what the nearest misses lack."""
    session = Session.of(spec, as_json, today)
    session.show_plan(top)
    _leave(session)


@app.command()
def explain(
    spec: SpecPath,
    candidate: Annotated[str, typer.Argument(help="Part of a machine's name, such as p5.48xlarge.", show_default="the chosen one")] = "",
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Say why this machine, or why not that one. Memory by term, time by term, every limit, every assumption."""
    from rackwright.report.plan_json import explanation_json
    from rackwright.report.terminal import explain as explain_text

    session = Session.of(spec, as_json, today)
    found = explain_text.about(session.plan, candidate)
    if candidate and not (found.fits or found.rejected):
        raise UserError(
            [Problem("C-candidate", f"no candidate of this plan has {candidate!r} in its name", fix="see `rackwright catalog`")]
        )
    emit(explanation_json(found, session.plan)) if as_json else explain_text.show_explanation(console(), found, session.plan)
    if not session.plan.fits:
        raise typer.Exit(NOT_FEASIBLE)


@app.command()
def choose(
    spec: SpecPath,
    rank: Annotated[int | None, typer.Argument(min=1, help="Rank in `rackwright plan`.", show_default="what is recorded, else 1")] = None,
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Record a choice beside the spec. A new price list then never replaces a running cluster."""
    from rackwright.files import write_text
    from rackwright.workflow.decision import decision_path

    session = Session.of(spec, as_json, today)
    made = session.choose(rank).decision
    path = decision_path(spec)
    write_text(path, made.to_json())
    emit(made.to_json()) if as_json else emit(f"{path}: rank {made.rank}, {made.fit.candidate.label}")


@app.command(name="compile")
def compile_command(spec: SpecPath, as_json: AsJson = False, today: Today = None) -> None:
    """Print what is wanted of the cloud. Networks, disks, pools, operators and queues of the recorded choice, else of the first."""
    from rackwright.report.terminal import stack

    session = Session.of(spec, as_json, today)
    compiled = session.stack()
    emit(compiled.to_json()) if as_json else stack.show_stack(console(), compiled)


@app.command()
def report(
    spec: SpecPath,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file, .html or .md; - for standard output.", show_default="SPEC.html")
    ] = None,
    form: Annotated[ReportFormat | None, typer.Option("--format", help="Format of the report.", show_default="the file's suffix")] = None,
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Write the report of a decision. One HTML file without external resources, or Markdown for a pull request."""
    from rackwright.report.document.write import check_target, render_report, write_report

    session = Session.of(spec, as_json, today)
    suffix = f".{form or ReportFormat.HTML}"
    if output == Path("-"):
        text = render_report(session.spec, session.plan, suffix, session.today, session.preview, session.pipeline.catalog)
        emit({"ok": True, "report": text, "feasible": bool(session.plan.fits)} if as_json else text)
    else:
        target = output or Path(f"{spec.stem}{suffix}")
        check_target(target, f".{form}" if form else "")
        preview = session.preview
        with working("drawing the report", as_json):
            write_report(session.spec, session.plan, target, session.today, preview, session.pipeline.catalog)
        emit({"ok": True, "report": str(target), "feasible": bool(session.plan.fits)}) if as_json else emit(f"wrote {target}")
    _leave(session)


@app.command()
def economics(spec: SpecPath, as_json: AsJson = False, today: Today = None) -> None:
    """Say what serving costs and earns. Cost over load, a month, break-even, and the same service on other accelerators."""
    from rackwright.report.terminal.economics import show_economics
    from rackwright.sizing.economics.serving import economics_of

    session = Session.of(spec, as_json, today)
    found = economics_of(session.spec, session.plan, session.pipeline.catalog)
    if found is None:
        session.show_plan(1)
        raise typer.Exit(NOT_FEASIBLE)
    emit(found.as_json()) if as_json else show_economics(console(), found)


def _leave(session: Session) -> None:
    """Ends with the exit status of a plan that was shown."""
    if not session.plan.fits:
        raise typer.Exit(NOT_FEASIBLE)
    if session.preview.errors:
        raise typer.Exit(BAD_INPUT)
