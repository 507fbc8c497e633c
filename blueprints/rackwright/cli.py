"""The command line: parse, call, print. Holds no rule and no number.

Exit status: 0 done, 1 nothing meets the goals, 2 the input is wrong.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from rackwright.errors import CatalogError, UserError
from rackwright.problems import Problem
from rackwright.report.problems_text import rendered

app = typer.Typer(name="rackwright", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

SpecPath = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, such as stacks/llama-70b-sft.yaml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Today = Annotated[datetime | None, typer.Option("--today", formats=["%Y-%m-%d"], help="The date to plan for.", show_default="today")]
NOT_FEASIBLE, BAD_INPUT = 1, 2


def console() -> Console:
    """Tables fit 100 columns; NO_COLOR and pipes are respected by rich itself."""
    wide = Console()
    return Console(width=min(wide.width, 100)) if wide.is_terminal else Console(width=100)


@contextmanager
def working(words: str, quiet: bool) -> Iterator[None]:
    """A spinner on a terminal, for whatever may take more than a second."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(words):
        yield


def emit(value: Any) -> None:
    typer.echo(value if isinstance(value, str) else json.dumps(value, indent=2, sort_keys=True, default=str))


def day(today: datetime | None) -> date:
    return today.date() if today else date.today()


@app.command()
def validate(spec: SpecPath, as_json: AsJson = False) -> None:
    """Check a spec: every problem at once, each with its place and what to do."""
    from rackwright import load

    load(spec)
    emit({"ok": True, "problems": []}) if as_json else typer.echo(f"{spec}: no problems")


@app.command()
def plan(
    spec: SpecPath,
    as_json: AsJson = False,
    top: Annotated[int, typer.Option(min=1, help="How many ranks to show.")] = 5,
    today: Today = None,
) -> None:
    """Size the workload: ranked machines with time, cost and memory, and why the others do not do."""
    from rackwright.report import text

    sized = _sized(spec, today, as_json)
    emit(sized.to_json()) if as_json else text.show_plan(console(), sized, top)
    if not sized.fits:
        raise typer.Exit(NOT_FEASIBLE)


@app.command()
def explain(
    spec: SpecPath,
    candidate: Annotated[str, typer.Argument(help="Part of a machine's name, such as p5.48xlarge.", show_default="the chosen one")] = "",
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Why this machine, or why not that one: memory by term, time by term, every limit, every assumption."""
    from rackwright.report import text

    sized = _sized(spec, today, as_json)
    found = text.about(sized, candidate)
    if candidate and not (found.fits or found.rejected):
        raise UserError([Problem("C-candidate", f"no candidate of this plan has {candidate!r} in its name", fix="see `rackwright catalog machines`")])
    emit(found.to_json()) if as_json else text.show_explanation(console(), found)
    if not sized.fits:
        raise typer.Exit(NOT_FEASIBLE)


@app.command()
def choose(spec: SpecPath, rank: Annotated[int, typer.Argument(help="Rank in `rackwright plan`.")] = 1, as_json: AsJson = False, today: Today = None) -> None:
    """Record a choice beside the spec, so that a new price list never replaces a running cluster."""
    from rackwright import decision, load

    sized = _sized(spec, today, as_json)
    if not sized.fits:
        _show_misses(sized, as_json)
        raise typer.Exit(NOT_FEASIBLE)
    made = decision.choose(load(spec), sized, rank, day(today))
    path = decision.decision_path(spec)
    path.write_text(made.to_json(), encoding="utf-8")
    emit(made.to_json()) if as_json else typer.echo(f"{path}: rank {rank}, {made.fit.candidate.label}")


@app.command(name="compile")
def compile_command(spec: SpecPath, as_json: AsJson = False, today: Today = None) -> None:
    """Print the StackPlan: which networks, disks, pools, operators and queues are wanted."""
    from rackwright.report import text

    stack_plan = _compiled(spec, today, as_json)
    emit(stack_plan.to_json()) if as_json else text.show_stack(console(), stack_plan)


@app.command()
def report(
    spec: SpecPath,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write it; .md writes Markdown.", show_default="SPEC.html")] = None,
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Write the report a manager reads: one HTML file that needs nothing else, or Markdown for a pull request."""
    from rackwright import load
    from rackwright.report import write_report

    sized = _sized(spec, today, as_json)
    target = output or Path(spec.with_suffix(".html").name)
    with working("drawing the report", as_json):
        write_report(load(spec), sized, target, day(today))
    emit({"report": str(target)}) if as_json else typer.echo(f"wrote {target}")
    if not sized.fits:
        raise typer.Exit(NOT_FEASIBLE)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a spec, for editors."""
    from rackwright.spec.schema import spec_schema

    emit(json.dumps(spec_schema(), indent=2))


@app.command()
def catalog(
    what: Annotated[str, typer.Argument(help="accelerators, machines, slices, models, prices or volumes.")] = "machines",
    name: Annotated[str, typer.Argument(help="Part of a name.", show_default="all")] = "",
    as_json: AsJson = False,
) -> None:
    """List what can be bought and what can be run, with sources and dates."""
    from rackwright.report import text

    rows = text.catalog_rows(what, name)
    emit([row.as_json() for row in rows]) if as_json else text.show_catalog(console(), what, rows)


@app.command()
def new(directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")], as_json: AsJson = False) -> None:
    """Start a project of your own: a spec, a Pulumi program of a few lines, a test."""
    from rackwright.scaffold import scaffold

    written = scaffold(directory)
    emit({"files": [str(path) for path in written]}) if as_json else typer.echo(
        f"wrote {len(written)} files to {directory}\nnext: rackwright plan {directory}/stacks/dev.yaml"
    )


def _sized(spec: Path, today: datetime | None, quiet: bool):
    from rackwright import load, size

    read = load(spec)
    with working("sizing", quiet):
        return size(read, today=day(today))


def _compiled(spec: Path, today: datetime | None, quiet: bool):
    from rackwright import compile_plan, load

    sized = _sized(spec, today, quiet)
    if not sized.fits:
        _show_misses(sized, quiet)
        raise typer.Exit(NOT_FEASIBLE)
    return compile_plan(load(spec), sized, sized.fits[0], today=day(today))


def _show_misses(sized, as_json: bool) -> None:
    from rackwright.report import text

    emit(sized.to_json()) if as_json else text.show_plan(console(), sized, 1)


def _register_plugins() -> None:
    for entry in entry_points(group="rackwright.commands"):
        entry.load()(app)


def main() -> None:
    """Every error that is the user's ends as a list of problems and exit status 2; never a traceback."""
    _register_plugins()
    as_json = "--json" in sys.argv
    try:
        app(standalone_mode=True)
    except UserError as error:
        emit({"ok": False, "problems": [p.as_json() for p in error.problems]}) if as_json else typer.echo(rendered(error, color=sys.stderr.isatty()), err=True)
        raise SystemExit(BAD_INPUT) from None
    except CatalogError as error:
        typer.echo(f"the catalog of this release is wrong, please report it: {error}", err=True)
        raise SystemExit(3) from None
    except BrokenPipeError:
        raise SystemExit(0) from None


if __name__ == "__main__":
    main()
