"""The command line: parse, call, print. Holds no rule and no number. Exit statuses are those of `rackwright.cli.terminal`."""

import json
import sys
from collections.abc import Sequence
from datetime import date, datetime
from enum import StrEnum
from itertools import repeat
from pathlib import Path
from typing import Annotated

import typer

from rackwright.cli.session import Session
from rackwright.cli.terminal import BAD_INPUT, NOT_FEASIBLE, emit, failure, guarded, tell, working
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.report.terminal.console import console

app = typer.Typer(
    name="rackwright",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

SpecPath = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, such as stacks/llama-70b-sft.yaml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
LINES_BYTES = 64_000_000
"""Of a file with configurations: a hundred thousand of them."""
MOST_SHOWN = 200
"""Problems of a file that are shown one by one; with --json each line tells its own."""


class ReportFormat(StrEnum):
    """Formats of the report file."""

    HTML = "html"
    MARKDOWN = "md"


Today = Annotated[datetime | None, typer.Option("--today", formats=["%Y-%m-%d"], help="The date to plan for.", show_default="today")]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        emit(f"rackwright {version('rackwright')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Say what AI workload you want to run; get the machines, the reasons, and the Pulumi stack that builds them.

    Exit status: 0 done, 1 nothing meets the goals, 2 the input is wrong.
    """


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
        emit(render_report(session.spec, session.plan, suffix, session.today, session.preview))
    else:
        target = output or Path(f"{spec.stem}{suffix}")
        check_target(target, f".{form}" if form else "")
        preview = session.preview
        with working("drawing the report", as_json):
            write_report(session.spec, session.plan, target, session.today, preview)
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


@app.command()
def schema(as_json: AsJson = False) -> None:
    """Print the JSON Schema of a spec, for editors. It is JSON with and without --json."""
    from rackwright.spec.schema import text

    emit(text())


@app.command()
def catalog(
    what: Annotated[str, typer.Argument(help="machines, accelerators, slices, models, prices or volumes.")] = "machines",
    name: Annotated[str, typer.Argument(help="Part of a name.", show_default="all")] = "",
    as_json: AsJson = False,
) -> None:
    """List what can be bought and what can be run. --json adds source and date of every fact."""
    from rackwright.report.terminal import catalog as catalog_text

    rows = catalog_text.catalog_rows(what, name)
    emit([row.as_json() for row in rows]) if as_json else catalog_text.show_catalog(console(), what, rows)


@app.command()
def estimate(
    file: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="One pinned configuration a line.")],
    as_json: AsJson = False,
    calibrated: Annotated[
        Path | None, typer.Option("--calibration", help="What `rackwright calibrate` wrote.", show_default="ours")
    ] = None,
) -> None:
    """Say what pinned configurations need and do. Memory and time by term, intervals, launch flags, the nearest measured run.

    --json prints one object a line. A broken line costs only itself, and exit status 2.
    """
    from rackwright.estimator.calibration.calibrate import load_calibration
    from rackwright.estimator.estimate_lines import estimate_lines
    from rackwright.report.terminal.estimate import show_estimate
    from rackwright.spec.reading.source import read_file

    problems: list[Problem] = []
    text = read_file(file, LINES_BYTES)
    shipped = estimate_lines(text, load_calibration(None)) if calibrated and not as_json else repeat(None)
    for answer, ours in zip(estimate_lines(text, load_calibration(calibrated)), shipped, strict=False):
        problems += answer.problems[: MOST_SHOWN - len(problems)]
        if as_json:
            emit(json.dumps(answer.as_json(), ensure_ascii=False))
        elif answer.estimate:
            show_estimate(console(), answer.estimate, ours.estimate if ours else None)
    if problems:
        raise typer.Exit(BAD_INPUT) if as_json else UserError(problems, str(file))


@app.command()
def calibrate(
    runs: Annotated[Path, typer.Argument(metavar="RUNS.csv", help="Your own runs; docs/estimate.md shows the columns.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the calibration goes.")] = Path("calibration.json"),
    as_json: AsJson = False,
) -> None:
    """Learn from your own runs. Says what was predicted, what you measured, and what changes; `estimate --calibration` uses it."""
    from rackwright.estimator.calibration.calibrate import calibrate as learn
    from rackwright.estimator.calibration.calibrate import check_output_path
    from rackwright.files import write_text
    from rackwright.report.terminal.estimate import show_calibration

    check_output_path(output, runs)
    made = learn(runs)
    write_text(output, made.to_text())
    emit(made.as_json() | {"calibration": str(output)}) if as_json else show_calibration(console(), made, str(output))
    if made.problems:
        raise typer.Exit(BAD_INPUT)


@app.command()
def new(directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")], as_json: AsJson = False) -> None:
    """Start a project of your own. A spec, a Pulumi program of a few lines, a test."""
    from rackwright.cli.scaffold import scaffold

    written = scaffold(directory, date.today())
    if as_json:
        emit({"ok": True, "files": [str(path) for path in written]})
    else:
        emit(f"wrote {len(written)} files to {directory}\nnext: rackwright plan {directory / 'stacks' / 'dev.yaml'}")


def _leave(session: Session) -> None:
    """Ends with the exit status of a plan that was shown."""
    if not session.plan.fits:
        raise typer.Exit(NOT_FEASIBLE)
    if session.preview.errors:
        raise typer.Exit(BAD_INPUT)


def _own_commands() -> set[str]:
    """Commands of this package, which need no look for others."""
    return {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}


def _register_plugins() -> None:
    """Commands of other packages, such as `graph`. Registering twice is harmless."""
    from importlib.metadata import entry_points

    for entry in entry_points(group="rackwright.commands"):
        entry.load()(app)


def run(arguments: Sequence[str] | None = None) -> int:
    """One command as the shell would run it; returns its exit status and never raises."""
    given = list(sys.argv[1:] if arguments is None else arguments)

    def command() -> int | None:
        if not given or given[0] not in _own_commands():
            _register_plugins()
        return app(given, prog_name="rackwright", standalone_mode=False)

    return guarded(command, "--json" in given)


def main() -> None:
    raise SystemExit(run())


if __name__ == "__main__":
    main()
