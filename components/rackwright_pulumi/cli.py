"""Commands that need the resource graph. Nothing of pulumi is imported before one of them runs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from rackwright.cli import AsJson, SpecPath, Today, _compiled, console, day, emit, working


def register(app: typer.Typer) -> None:
    app.command()(graph)
    app.command()(diff)


def graph(spec: SpecPath, as_json: AsJson = False, today: Today = None) -> None:
    """Print every cloud resource the spec compiles to, with realistic ids, without a cloud."""
    from rackwright.report import text

    with working("declaring resources", as_json):
        found = graph_of(spec, today)
    emit(found) if as_json else text.show_graph(console(), found)


def diff(
    old: Annotated[Path, typer.Argument(help="A spec, or a graph written by `rackwright graph --json`.")],
    new: Annotated[Path, typer.Argument(help="The same, as it is to become.")],
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Name what an update would create, change, replace and delete, without the Pulumi CLI."""
    from rackwright.report import text
    from rackwright_pulumi.testing.diff import compare

    changes = compare(_read(old, today), _read(new, today))
    emit([change.as_json() for change in changes]) if as_json else text.show_diff(console(), [change.as_json() for change in changes])


def graph_of(spec: Path, today=None) -> dict:
    """The graph of a spec as plain JSON. Raises UserError, and typer.Exit(1) when nothing meets the goals."""
    from rackwright import load
    from rackwright_pulumi.build import declare
    from rackwright_pulumi.testing import record

    stack_plan = _compiled(spec, today, quiet=True)
    names = load(spec).secrets
    return record(
        lambda: declare(stack_plan, secrets={name: "(secret)" for name in names}) and None,
        stack=spec.stem,
        context=None,
    ).as_json() | {"stack": spec.stem, "planned_on": day(today).isoformat()}


def _read(path: Path, today) -> dict:
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    return graph_of(path, today)
