"""Commands without a spec: schema, catalog, new."""

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from rackwright.cli.app import AsJson, app
from rackwright.cli.terminal import emit
from rackwright.report.terminal.console import console


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
def new(directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")], as_json: AsJson = False) -> None:
    """Start a project of your own. A spec, a Pulumi program of a few lines, a test."""
    from rackwright.cli.scaffold import scaffold

    written = scaffold(directory, date.today())
    if as_json:
        emit({"ok": True, "files": [str(path) for path in written]})
    else:
        emit(f"wrote {len(written)} files to {directory}\nnext: rackwright plan {directory / 'stacks' / 'dev.yaml'}")
