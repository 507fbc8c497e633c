"""Node requirements as text: host memory, CPUs, disks, network, file system, power. Computes no number."""

from collections.abc import Iterator

from rich.table import Table

from rackwright.report.terminal.tables import table
from rackwright.sizing.node.requirements import NodeRequirement, NodeRequirements, Power
from rackwright.wording.formatting import UNKNOWN, usd

UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def requirement_lines(found: NodeRequirements | None) -> Iterator[tuple[str, str]]:
    """(label, text): node, data, power; nothing for a plan without a fit."""
    if found is None:
        return
    yield "node", "each needs " + ", ".join(map(_of, found.needs))
    if words := "; ".join(_data(found)):
        yield "data", words
    if words := power(found.power):
        yield "power", words
    if words := power(found.owned):
        yield "on-prem", words


def rows(found: NodeRequirements) -> list[tuple[str, str, str, str]]:
    """(name, needed, available, reason) per requirement."""
    return [
        (n.name, f"{amount(n.need)} {n.unit}", f"{amount(n.have)} {n.unit}" if n.have is not None else UNKNOWN, _why(n))
        for n in found.needs
    ]


def needs_table(found: NodeRequirements) -> Table:
    made = table("per node", "needed", "available", "reason", right=("needed", "available"))
    for row in rows(found):
        made.add_row(*row)
    return made


def power(p: Power | None) -> str:
    """`41.2 kW drawn, 64.2 kW with cooling; 140,520 BTU/h, 11.7 tons of cooling; 24 U; 965 kWh for the run; at full load`."""
    if p is None:
        return ""
    parts = [
        f"{p.it_watts / 1000:,.1f} kW drawn, {p.facility_watts / 1000:,.1f} kW with cooling",
        f"{p.btu_per_hour:,.0f} BTU/h, {p.cooling_tons:,.1f} tons of cooling",
        f"{p.rack_units} U" if p.rack_units is not None else "",
        f"{p.energy_kwh:,.0f} kWh for the run at most" if p.energy_kwh is not None else "",
        p.words,
    ]
    return "; ".join(filter(None, parts))


def _data(found: NodeRequirements) -> Iterator[str]:
    if found.checkpoint_bytes and found.checkpoint_write_s and found.checkpoint_bytes_per_s:
        rate = held(found.checkpoint_bytes_per_s)
        yield f"checkpoints of {held(found.checkpoint_bytes)} written within {found.checkpoint_write_s:g} s, {rate}/s"
    if found.dataset_read_bytes_per_s:
        yield f"data read at {held(found.dataset_read_bytes_per_s)}/s"
    if fs := found.file_system:
        price = f"{usd(fs.usd_per_month)} a month" if fs.usd_per_month is not None else f"price {UNKNOWN}"
        yield f"{fs.tier}, {held(fs.bytes)}, {price}: {fs.words}"


def _of(n: NodeRequirement) -> str:
    """`host memory 268 of 2,048 GiB`."""
    if n.have is None:
        return f"{n.name} {amount(n.need)} {n.unit} (available: {UNKNOWN})"
    return f"{n.name} {amount(n.need)} of {amount(n.have)} {n.unit}"


def _why(n: NodeRequirement) -> str:
    missing = f"; too small: {n.instead}" if n.is_short and n.instead else "; too small" if n.is_short else ""
    return n.words + missing


def amount(value: float | None) -> str:
    """Three significant digits, whole numbers from 100."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def held(value: float) -> str:
    """`988 GB`, `59 kB`."""
    for each, unit in UNITS:
        if value >= each:
            return f"{value / each:,.3g} {unit}" if value < 1000 * each else f"{value / each:,.0f} {unit}"
    return f"{value:,.0f} B"
