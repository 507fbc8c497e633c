"""Node requirements as text: host memory, CPUs, disks, network, file system, power. Computes no number."""

from collections.abc import Iterator

from rackwright.cost.bill_line import ILLUSTRATIVE
from rackwright.sizing.node.requirements import NodeRequirements, Power
from rackwright.wording.formatting import UNKNOWN, span, usd
from rackwright.wording.notes import note_text

UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
COLUMNS = ("per node", "needed", "available", "reason")


def requirement_lines(found: NodeRequirements | None) -> Iterator[tuple[str, str]]:
    """(label, text): node, data, storage, power; nothing for a plan without a fit."""
    if found is None:
        return
    needs = (
        f"{n.name} {amount(n.need)} {n.unit} (available: {UNKNOWN})"
        if n.have is None
        else f"{n.name} {amount(n.need)} of {amount(n.have)} {n.unit}"
        for n in found.needs
    )
    yield "node", "each needs " + ", ".join(needs)
    lines = {"data": "; ".join(_data(found)), "storage": storage_text(found)}
    lines |= {"power": power_text(found.power), "on-prem": power_text(found.owned)}
    yield from ((label, text) for label, text in lines.items() if text)


def requirement_rows(found: NodeRequirements) -> Iterator[tuple[str, str, str, str]]:
    """Cells of COLUMNS."""
    for n in found.needs:
        too_small = f"; too small: {n.instead}" if n.is_short and n.instead else "; too small" if n.is_short else ""
        available = f"{amount(n.have)} {n.unit}" if n.have is not None else UNKNOWN
        yield n.name, f"{amount(n.need)} {n.unit}", available, n.words + too_small


def storage_text(found: NodeRequirements | None) -> str:
    """`1.2 GB/s, limited by its throughput tier; checkpoint 14 min, limit 2 h; illustrative price`."""
    fs = found.file_system if found else None
    if found is None or fs is None or fs.limit is None:
        return ""
    parts = [note_text(fs.limit)]
    limit = f", limit {span(found.checkpoint_write_s)}" if found.checkpoint_write_s else ""
    parts += [f"checkpoint {span(float(f'{fs.checkpoint_s:.2g}'))}{limit}"] if fs.checkpoint_s else []
    parts += [f"{ILLUSTRATIVE} price"] if fs.price_is_illustrative else []
    return "; ".join(parts)


def power_text(p: Power | None) -> str:
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
    """Checkpoint and dataset rates, and the file system for them."""
    if found.checkpoint_bytes and found.checkpoint_write_s and found.checkpoint_bytes_per_s:
        rate = size_text(found.checkpoint_bytes_per_s)
        yield f"checkpoints of {size_text(found.checkpoint_bytes)} written within {span(found.checkpoint_write_s)}, {rate}/s"
    if found.dataset_read_bytes_per_s:
        yield f"data read at {size_text(found.dataset_read_bytes_per_s)}/s"
    if fs := found.file_system:
        price = f"{usd(fs.usd_per_month)} a month" if fs.usd_per_month is not None else f"price {UNKNOWN}"
        yield f"{fs.tier}, {size_text(fs.bytes)}, {price}: {fs.words}"
        if fs.weights_s:
            yield f"weights read from it in {fs.weights_s:,.0f} s"


def amount(value: float | None) -> str:
    """Three significant digits, whole numbers from 100."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def size_text(value: float) -> str:
    """`988 GB`, `59 kB`."""
    for scale, unit in UNITS:
        if value >= scale:
            return f"{value / scale:,.3g} {unit}" if value < 1000 * scale else f"{value / scale:,.0f} {unit}"
    return f"{value:,.0f} B"
