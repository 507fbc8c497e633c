"""Purchases on a terminal: one table of server models, then the parts of the first. Computes no number."""

from rich.console import Console

from rackwright.report.terminal.layout.tables import heading, print_labelled, table, title
from rackwright.sizing.purchase.purchase_plan import PurchasePlan
from rackwright.spec.spec import Spec
from rackwright.wording.formatting import UNKNOWN, money, span_range, usd
from rackwright.workflow.purchase import PurchaseOption

COLUMNS = ("server", "count", "time", "switch", "cable", "rack", "kW", "purchase", "USD/h\nper server")
NO_PRICE = "no price"
PARTS = ("part", "pieces", "each", "total")


def show_purchase(out: Console, found: list[PurchaseOption], spec: Spec, is_sized: bool) -> None:
    """Every server model that can be bought, the parts list of the first, and why others cannot. is_sized: for the goals of the spec."""
    made = [(option, option.plan) for option in found if option.plan]
    title(
        out,
        f"What to buy for {spec.name}",
        f"{len(made)} of {len(found)} server models {'meet the goals' if is_sized else 'priced, goals not checked'}",
    )
    if made:
        out.print(table(COLUMNS, [_cells(option, plan) for option, plan in made], right=COLUMNS[1:], whole=COLUMNS[:1]))
        _parts(out, made[0][1])
    if spec.goals.max_cost is not None and is_sized:
        print_labelled(out, "note", "`goals.max_cost` limits what a run costs; it limits no purchase")
    for option in (option for option in found if not option.plan):
        print_labelled(out, "no", f"{option.machine}: {option.reason}")


def _cells(option: PurchaseOption, plan: PurchasePlan) -> tuple[str, ...]:
    return (
        option.machine,
        f"{plan.servers:,}",
        span_range(option.fit.duration_s) if option.fit and option.fit.duration_s else "",
        f"{plan.fabric.switches:,}",
        f"{plan.fabric.cables:,}",
        _number(plan.racks),
        _kw(plan.it_watts),
        _usd(plan.purchase_usd),
        NO_PRICE if plan.usd_per_server_hour is None else money(plan.usd_per_server_hour, 2),
    )


def _parts(out: Console, plan: PurchasePlan) -> None:
    """The parts of one purchase, its power and cooling, and what is missing for a total."""
    heading(out, f"{plan.servers} x {plan.server.name}")
    rows = [(line.what, _number(line.pieces), _usd(line.usd_each), _usd(line.usd)) for line in plan.lines]
    total = ("sum of the known prices" if plan.missing else "sum", "", "", usd(plan.known_usd))
    out.print(table(PARTS, [*rows, total], right=PARTS[1:]))
    tree, server = plan.fabric, plan.server
    tiers = f"{tree.leaves} leaf, {tree.spines} spine, {tree.cores} core switches of {plan.switch.ports} ports, no oversubscription"
    print_labelled(out, "fabric", tiers if tree.switches else "one server needs no switch")
    basis = "published maximum" if server.is_published else "estimated from the accelerators"
    each = UNKNOWN if server.watts is None else f"{_kw(server.watts)} kW per server ({basis})"
    whole = "" if plan.it_watts is None else f"; {_kw(plan.it_watts)} kW IT, {_kw(plan.facility_watts)} kW at PUE {plan.site.pue}"
    print_labelled(out, "power", f"{each}{whole or '; the power of a switch is not published'}")
    print_labelled(out, "cooling", "" if plan.btu_per_hour is None else f"{_kw(plan.it_watts)} kW, {plan.btu_per_hour:,.0f} BTU/h")
    units = f"{_number(plan.rack_units)} U in racks of {plan.site.rack_units} U"
    limit = f" and {plan.site.rack_watts / 1000:g} kW" if plan.site.rack_watts else ""
    print_labelled(out, "racks", f"{_number(plan.racks)}; {units}{limit}")
    costs = {"depreciation": plan.depreciation_usd_per_year, "energy at full load": plan.energy_usd_per_year}
    print_labelled(out, "a year", ", ".join(f"{what} {_usd(value)}" for what, value in costs.items()))
    print_labelled(out, "missing", ", ".join(f"purchase.{key}" for key in plan.missing))


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def _usd(value: float | None) -> str:
    return NO_PRICE if value is None else usd(value)


def _kw(watts: float | None) -> str:
    return UNKNOWN if watts is None else f"{watts / 1000:,.1f}"
