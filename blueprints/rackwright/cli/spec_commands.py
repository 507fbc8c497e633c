"""Commands on one spec: validate, plan, explain, compare, choose, compile, report, economics."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwright.cli.app import AsJson, SpecPath, Today, app
from rackwright.cli.session import Session
from rackwright.cli.terminal import BAD_INPUT, NOT_FEASIBLE, emit, failure, tell, working
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.report.terminal.layout.console import console

if TYPE_CHECKING:
    from rackwright.workflow.decision import Decision


class ReportFormat(StrEnum):
    """Formats of the report file."""

    HTML = "html"
    MARKDOWN = "md"


@app.command()
def validate(spec: SpecPath, as_json: AsJson = False) -> None:
    """Check a spec. Reports every problem with its line and fix."""
    session = Session.of(spec, as_json, None)
    found = session.pipeline.reading
    warnings = (*found.warnings, *session.pipeline.sizing_problems)
    if as_json:
        emit(failure(warnings, str(spec)) | {"ok": True, "notes": list(found.notes)})
    else:
        tell(warnings, str(spec))
        for note in found.notes:
            emit(f"{spec}: {note}")
        emit(f"{spec}: no errors")


@app.command()
def plan(
    spec: SpecPath,
    as_json: AsJson = False,
    top: Annotated[int | None, typer.Option(min=1, help="Number of candidates to show.", show_default="4")] = None,
    full: Annotated[bool, typer.Option("--full", help="Also the frontier, the bill by line, all quotas and rejections.")] = False,
    today: Today = None,
) -> None:
    """Rank machines for a spec by time, cost and memory. One screen; --full shows the bill by line and the rejections."""
    session = Session.of(spec, as_json, today)
    session.show_plan(top, full)
    _leave(session)


@app.command()
def explain(
    spec: SpecPath,
    machine: Annotated[
        str, typer.Argument(metavar="CANDIDATE", help="A rank, or a machine or accelerator: 3, p5.48xlarge, L4.", show_default="rank 1")
    ] = "",
    as_json: AsJson = False,
    full: Annotated[bool, typer.Option("--full", help="Of a named candidate also the frontier, all rejections and assumptions.")] = False,
    today: Today = None,
) -> None:
    """Explain a choice or a rejection. Shows memory and time by term, constraints, and assumptions with sources."""
    from rackwright.report.candidates import named_candidates
    from rackwright.report.plan_json import explanation_json
    from rackwright.report.terminal import explain as explain_text

    session = Session.of(spec, as_json, today)
    part = named_candidates(session.plan, machine)
    if as_json:
        emit(explanation_json(part, session.plan, session.preview, session.spec))
    elif session.plan.further:
        explain_text.show_workloads(console(), part, session.spec, session.plan, session.preview)
    elif machine and not full:
        explain_text.show_candidates(console(), part, session.spec, session.plan)
    else:
        explain_text.show_explanation(console(), part, session.spec, session.plan, session.preview)
    if not session.plan.fits:
        raise typer.Exit(NOT_FEASIBLE)


@app.command()
def compare(
    spec: SpecPath,
    first: Annotated[str, typer.Argument(metavar="A", help="A rank, or a machine or accelerator: 1, p5.48xlarge, L4.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The other one.")],
    as_json: AsJson = False,
    full: Annotated[bool, typer.Option("--full", help="Also terms that are equal.")] = False,
    workload: Annotated[str, typer.Option("--workload", metavar="NAME", help="Candidates of one of several workloads.")] = "",
    today: Today = None,
) -> None:
    """Compare two candidates term by term. Shows memory, time, rate, price, storage, bill, quota, intervals, and what decided.

    Of several workloads A and B are ranks of combinations, or with --workload candidates of that workload alone.
    """
    from rackwright.report.comparison.candidate_comparison import comparison_json, comparison_of
    from rackwright.report.comparison.workload_comparison import workload_comparison_of
    from rackwright.report.terminal.comparison import show_comparison

    session = Session.of(spec, as_json, today)
    if workload:
        session = session.of_workload(workload)
    elif not (first.isdigit() and second.isdigit()):
        instead = f"name two ranks, or a workload: --workload {session.spec.workloads[0].name}"
        session.require_one_workload("compare with a machine or an accelerator", instead)
    assert session.plan
    compared = workload_comparison_of if session.spec.is_several else comparison_of
    with working("comparing", as_json):
        found = compared(session.pipeline, first, second)
    emit(comparison_json(found)) if as_json else show_comparison(console(), found, full)
    if not session.plan.fits:
        raise typer.Exit(NOT_FEASIBLE)


@app.command()
def choose(
    spec: SpecPath,
    rank: Annotated[int | None, typer.Argument(min=1, metavar="RANK", help="Rank in the plan.", show_default="recorded, else 1")] = None,
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Show what the versions of this release would change.")] = False,
    recorded: Annotated[bool, typer.Option("--record", help="With --upgrade: record them.")] = False,
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Record the chosen machines in a file beside the spec. New prices and versions then do not replace a running cluster."""
    from rackwright.files import write_text
    from rackwright.workflow.decision import decision_path

    if recorded and not upgrade:
        raise UserError([Problem("U-usage", "--record needs --upgrade", fix="a choice without --upgrade is always recorded")])
    session = Session.of(spec, as_json, today)
    decision = session.choose(rank, upgrade=upgrade).decision
    path = decision_path(spec)
    if recorded or not upgrade:
        write_text(path, decision.to_json(), through_link=False)
    if upgrade:
        _show_upgrade(session, decision, recorded)
    else:
        emit(decision.to_json() if as_json else f"{path}: rank {decision.rank}, {decision.fit.label}")


def _show_upgrade(session: Session, decision: "Decision", is_recorded: bool) -> None:
    """Prints every recorded version that the decision replaces, and the machines where they differ."""
    from rackwright.workflow.recorded.version_age import changes_of

    changes = changes_of(session.pipeline.recorded, decision)
    if session.as_json:
        emit({"ok": True, "recorded": is_recorded, "changes": [asdict(change) for change in changes]})
        return
    for change in changes:
        until = f" (support ends {change.support_ends})" if change.support_ends else ""
        emit(f"{change.part} {change.name}: {change.recorded or 'absent'} -> {change.release or 'absent'}{until}")
    if not changes:
        emit("no change: the recorded versions are those of this release")
    elif not is_recorded:
        emit(f"nothing was recorded; record it with `rackwright choose {session.path} --upgrade --record`")


@app.command(name="compile")
def compile_command(spec: SpecPath, as_json: AsJson = False, today: Today = None) -> None:
    """Print the StackPlan of the recorded or first choice. It lists networks, disks, pools, operators and queues."""
    from rackwright.report.terminal import stack

    session = Session.of(spec, as_json, today)
    compiled = session.stack()
    emit(compiled.to_json()) if as_json else stack.show_stack(console(), compiled, session.pipeline.catalog)


@app.command()
def report(
    spec: SpecPath,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Report file, .html or .md; - for standard output.", show_default="SPEC.html")
    ] = None,
    form: Annotated[ReportFormat | None, typer.Option("--format", help="Format of the report.", show_default="from the suffix")] = None,
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Write a report of the plan. One HTML file without external resources, or Markdown for a pull request."""
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
    """Show cost and revenue of serving, of each workload. By load and by month, with the break-even and other accelerators."""
    from rackwright.report.terminal.economics import show_economics
    from rackwright.sizing.economics.serving import economics_of
    from rackwright.wording.plan_text import economics_with_text

    session = Session.of(spec, as_json, today)
    parts = enumerate(session.plan.each_workload)
    each = [economics_of(session.spec.of_workload(index), part, session.pipeline.catalog) for index, part in parts]
    found = [economics_with_text(economics) for economics in each if economics]
    if not found:
        session.show_plan(1)
        raise typer.Exit(NOT_FEASIBLE)
    if as_json:
        shown = found[0].as_json()
        emit(shown | {"further": [economics.as_json() for economics in found[1:]]} if found[1:] else shown)
        return
    for economics in found:
        show_economics(console(), economics)


def _leave(session: Session) -> None:
    """Ends the command with an exit status if no candidate fits or the preview has errors."""
    if not session.plan.fits:
        raise typer.Exit(NOT_FEASIBLE)
    if session.preview.errors:
        raise typer.Exit(BAD_INPUT)
