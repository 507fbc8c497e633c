"""Commands without a spec: schema, catalog, new."""

from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from rackwright.cli.app import AsJson, app
from rackwright.cli.terminal import emit
from rackwright.report.terminal.layout.console import console


@app.command()
def schema(as_json: AsJson = False) -> None:
    """Print the JSON Schema of a spec, for editors. The output is the same with and without --json."""
    from rackwright.spec.schema import text

    emit(text())


@app.command()
def catalog(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="machines, accelerators, slices, models, prices or volumes.")] = "machines",
    name: Annotated[str, typer.Argument(metavar="NAME", help="Part of a name.", show_default="all")] = "",
    as_json: AsJson = False,
) -> None:
    """List machines, models, prices and other catalog rows. --json adds the source of each row."""
    from rackwright.report.terminal.catalog import catalog_rows, show_catalog

    rows = catalog_rows(kind, name)
    emit([asdict(row) for _, row in rows]) if as_json else show_catalog(console(), kind, (cells for cells, _ in rows))


@app.command()
def new(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    as_json: AsJson = False,
) -> None:
    """Create a project with a spec, a Pulumi program and a test."""
    from rackwright.cli.scaffold import scaffold

    written = scaffold(directory, date.today())
    if as_json:
        emit({"ok": True, "files": [str(path) for path in written]})
    else:
        emit(f"wrote {len(written)} files to {directory}\nnext: rackwright plan {directory / 'stacks' / 'dev.yaml'}")
