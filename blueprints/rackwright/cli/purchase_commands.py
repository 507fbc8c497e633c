"""`rackwright buy`: servers, switches, cables, racks, power and cooling for the goals of a spec."""

from typing import Annotated

import typer

from rackwright.cli.app import AsJson, SpecPath, Today, app
from rackwright.cli.session import Session
from rackwright.cli.terminal import NOT_FEASIBLE, emit, working


@app.command()
def buy(
    spec: SpecPath,
    servers: Annotated[
        int, typer.Option("--servers", min=0, max=1024, help="Price this number instead of sizing one.", show_default="sized")
    ] = 0,
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Compare what to buy for the goals of a spec: each server model of `purchase`, with its fabric, racks, power and cost."""
    from rackwright.report.purchase import options_json
    from rackwright.report.terminal.layout.console import console
    from rackwright.report.terminal.purchase import show_purchase
    from rackwright.workflow.purchase import purchase_options

    session = Session.of(spec, as_json, today)
    with working("sizing each server model", as_json):
        found = purchase_options(session.spec, session.pipeline.sold_catalog, session.today, servers)
    if as_json:
        emit(options_json(found))
    else:
        show_purchase(console(), found, session.spec, is_sized=not servers)
    if not any(option.plan for option in found):
        raise typer.Exit(NOT_FEASIBLE)
