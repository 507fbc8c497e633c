"""The command line: parse, call, print. Holds no rule and no number. Exit statuses are those of `rackwright.terminal`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwright.errors import UserError
from rackwright.problems import Problem
from rackwright.terminal import BAD_INPUT, NOT_FEASIBLE, console, emit, failure, guarded, tell, working

if TYPE_CHECKING:
    from rackwright.compile.wants import StackPlan
    from rackwright.report.outlook import Outlook
    from rackwright.sizing.plan import Fit, SizingPlan
    from rackwright.spec.load import Reading
    from rackwright.spec.spec import Spec

app = typer.Typer(
    name="rackwright",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

SpecPath = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, such as stacks/llama-70b-sft.yaml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Today = Annotated[datetime | None, typer.Option("--today", formats=["%Y-%m-%d"], help="The date to plan for.", show_default="today")]


@dataclass
class Session:
    """One spec on its way through the stages, each done once and only when asked for."""

    path: Path
    as_json: bool = False
    today: date = date.min

    @staticmethod
    def of(path: Path, as_json: bool, today: datetime | None) -> "Session":
        return Session(path, as_json, today.date() if today else date.today())

    @cached_property
    def reading(self) -> "Reading":
        """The file as read. Raises UserError with every problem of it."""
        from rackwright.spec.load import examine
        from rackwright.spec.source import read_file

        found = examine(read_file(self.path), str(self.path))
        if found.spec is None:
            raise UserError(found.problems, str(self.path))
        if not self.as_json:
            tell(found.warnings, str(self.path))
        return found

    @cached_property
    def spec(self) -> "Spec":
        spec = self.reading.spec
        assert spec is not None, "reading refuses a file without one"
        return spec

    @cached_property
    def plan(self) -> "SizingPlan":
        from rackwright import size

        with working("sizing", self.as_json):
            return size(self.spec, today=self.today)

    def outlook(self, fit: "Fit | None") -> "Outlook":
        from rackwright.report.outlook import outlook

        return outlook(self.spec, self.plan, fit, self.today)

    def chosen(self, rank: int = 1) -> "Fit":
        """The fit of a rank. Ends the command with the nearest misses when there is none at all."""
        if not self.plan.fits:
            self.show_plan(self.outlook(None), 1)
            raise typer.Exit(NOT_FEASIBLE)
        if rank > len(self.plan.fits):
            reason = f"there is no rank {rank}: the plan has ranks 1 to {len(self.plan.fits)}"
            raise UserError([Problem("D-rank", reason, fix=f"see `rackwright plan {self.path}`")])
        return self.plan.fits[rank - 1]

    def stack(self, fit: "Fit") -> "StackPlan":
        """The stack of a fit. Raises UserError where this release cannot build it or a rule says that a cloud would refuse it."""
        from rackwright import check, compile_plan
        from rackwright.problems import Level

        compiled = compile_plan(self.spec, self.plan, fit, today=self.today)
        found = check(compiled, [entry.rule for entry in self.spec.acknowledge])
        if any(problem.level is Level.ERROR for problem in found):
            raise UserError(found, self.spec.name)
        if not self.as_json:
            tell(found, self.spec.name)
        return compiled

    def show_plan(self, ahead: "Outlook", top: int) -> None:
        from rackwright.report import plan_json, plan_text

        if self.as_json:
            emit(plan_json.plan_json(self.plan, ahead, self.reading.warnings))
        else:
            plan_text.show_plan(console(), self.plan, self.spec, ahead, top, self.path)


def _version(wanted: bool) -> None:
    if wanted:
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
    found = session.reading
    if as_json:
        emit(failure(found.problems, str(spec)) | {"ok": True, "notes": list(found.notes)})
    else:
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
    ahead = session.outlook(session.plan.chosen)
    session.show_plan(ahead, top)
    _leave(session, ahead)


@app.command()
def explain(
    spec: SpecPath,
    candidate: Annotated[str, typer.Argument(help="Part of a machine's name, such as p5.48xlarge.", show_default="the chosen one")] = "",
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Say why this machine, or why not that one. Memory by term, time by term, every limit, every assumption."""
    from rackwright.report import explain_text

    session = Session.of(spec, as_json, today)
    found = explain_text.about(session.plan, candidate)
    if candidate and not (found.fits or found.rejected):
        raise UserError(
            [Problem("C-candidate", f"no candidate of this plan has {candidate!r} in its name", fix="see `rackwright catalog`")]
        )
    emit(found.to_json()) if as_json else explain_text.show_explanation(console(), found)
    if not session.plan.fits:
        raise typer.Exit(NOT_FEASIBLE)


@app.command()
def choose(
    spec: SpecPath,
    rank: Annotated[int, typer.Argument(min=1, help="Rank in `rackwright plan`.")] = 1,
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Record a choice beside the spec. A new price list then never replaces a running cluster."""
    from rackwright import decision
    from rackwright.files import write_text

    session = Session.of(spec, as_json, today)
    fit = session.chosen(rank)
    session.stack(fit)
    made = decision.choose(session.spec, session.plan, rank, session.today)
    path = decision.decision_path(spec)
    write_text(path, made.to_json())
    emit(made.to_json()) if as_json else emit(f"{path}: rank {rank}, {made.fit.candidate.label}")


@app.command(name="compile")
def compile_command(spec: SpecPath, as_json: AsJson = False, today: Today = None) -> None:
    """Print what is wanted of the cloud. Networks, disks, pools, operators and queues, in no provider's words."""
    from rackwright.report import stack_text

    session = Session.of(spec, as_json, today)
    compiled = session.stack(session.chosen())
    emit(compiled.to_json()) if as_json else stack_text.show_stack(console(), compiled)


@app.command()
def report(
    spec: SpecPath,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file; .md makes Markdown.", show_default="SPEC.html")] = None,
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Write the report a manager reads. One HTML file that needs nothing else, or Markdown for a pull request."""
    from rackwright.report.write import check_target, write_report

    session = Session.of(spec, as_json, today)
    target = output or Path(f"{spec.stem}.html")
    check_target(target)
    ahead = session.outlook(session.plan.chosen)
    with working("drawing the report", as_json):
        write_report(session.spec, session.plan, target, session.today, ahead)
    emit({"ok": True, "report": str(target), "feasible": bool(session.plan.fits)}) if as_json else emit(f"wrote {target}")
    _leave(session, ahead)


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
    from rackwright.report import catalog_text

    rows = catalog_text.catalog_rows(what, name)
    emit([row.as_json() for row in rows]) if as_json else catalog_text.show_catalog(console(), what, rows)


@app.command()
def new(directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")], as_json: AsJson = False) -> None:
    """Start a project of your own. A spec, a Pulumi program of a few lines, a test."""
    from rackwright.scaffold import scaffold

    written = scaffold(directory, date.today())
    if as_json:
        emit({"ok": True, "files": [str(path) for path in written]})
    else:
        emit(f"wrote {len(written)} files to {directory}\nnext: rackwright plan {directory / 'stacks' / 'dev.yaml'}")


def _leave(session: Session, ahead: "Outlook") -> None:
    """The exit status of a plan that was shown."""
    if not session.plan.fits:
        raise typer.Exit(NOT_FEASIBLE)
    if ahead.errors:
        raise typer.Exit(BAD_INPUT)


def _register_plugins() -> None:
    """Commands of other packages, such as `graph`. Registering twice is harmless."""
    for entry in entry_points(group="rackwright.commands"):
        entry.load()(app)


def run(arguments: Sequence[str] | None = None) -> int:
    """One command as the shell would run it; returns its exit status and never raises."""
    given = list(sys.argv[1:] if arguments is None else arguments)

    def command() -> int | None:
        _register_plugins()
        return app(given, prog_name="rackwright", standalone_mode=False)

    return guarded(command, "--json" in given)


def main() -> None:
    raise SystemExit(run())


if __name__ == "__main__":
    main()
