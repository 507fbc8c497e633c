"""S-220 to S-222: what `rackwright buy` compares."""

from collections.abc import Iterator

from rackwright.catalog.servers import Server
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.sizing.node.power import rack_units
from rackwright.spec.base import quote
from rackwright.spec.purchase import Purchase
from rackwright.spec.reading.model_fields import did_you_mean
from rackwright.validation.spec.registry import SpecContext, rule

PURCHASE = At() / "purchase"


@rule("S-220")
def purchased_hardware_is_in_the_catalog(context: SpecContext) -> Iterator[Violation]:
    """The catalog has the servers and the switch of `purchase`."""
    asked = context.spec.purchase
    if asked is None:
        return
    servers = [server.machine for server in context.catalog.servers]
    for index, machine in enumerate(asked.servers or ()):
        if machine not in servers:
            fix = did_you_mean(machine, servers) or f"use {', '.join(servers)}"
            yield Violation(PURCHASE / "servers" / index, fix, f"{quote(machine)} is not a server of the catalog")
    switches = [switch.machine for switch in context.catalog.switches]
    if asked.switch not in switches:
        fix = did_you_mean(asked.switch, switches) or f"use {', '.join(switches)}"
        yield Violation(PURCHASE / "switch", fix, f"{quote(asked.switch)} is not a switch of the catalog")


@rule("S-221")
def racks_hold_a_server(context: SpecContext) -> Iterator[Violation]:
    """A rack of `purchase` has the power and the height of each server that `servers` names, and of one server without it."""
    asked = context.spec.purchase
    if asked is None:
        return
    compared = [server for server in context.catalog.servers if asked.servers is None or server.machine in asked.servers]
    misfits = [list(rack_misfits(server, asked)) for server in compared]
    if asked.servers is None:  # `rackwright buy` leaves out what no rack holds
        misfits = [min(misfits, key=len)] if all(misfits) else []
    for each in misfits:
        yield from each


def rack_misfits(server: Server, asked: Purchase) -> Iterator[Violation]:
    """Why a rack of `purchase` holds no server of a model."""
    height, watts = rack_units(server.form_factor), server.max_watts
    if height and height > asked.rack_units:
        message = f"A rack of {asked.rack_units} U holds no {server.machine}, which has {height} U"
        yield Violation(PURCHASE / "rack_units", f"set it to {height} or more", message)
    if watts and asked.rack_kw and watts > asked.rack_kw * 1000:
        message = f"A rack of {asked.rack_kw:g} kW holds no {server.machine}, which draws up to {watts / 1000:g} kW"
        fix = f"set it to {watts / 1000:g} or more, or leave {server.machine} out of `servers`"
        yield Violation(PURCHASE / "rack_kw", fix, message)


@rule("S-222", Level.WARNING)
def prices_are_of_compared_servers(context: SpecContext) -> Iterator[Violation]:
    """`prices.servers` of `purchase` has prices of compared servers only."""
    asked = context.spec.purchase
    if asked is None:
        return
    compared = asked.servers or [server.machine for server in context.catalog.servers]
    for machine in asked.prices.servers:
        if machine not in compared:
            fix = did_you_mean(machine, list(compared)) or f"use {', '.join(compared)}"
            yield Violation(
                PURCHASE / "prices" / "servers" / machine, fix, f"The price of {quote(machine)} is for no server that is compared"
            )
