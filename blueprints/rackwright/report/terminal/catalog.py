"""The catalog on a terminal: machines, accelerators, models, prices, with their dates."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from rackwright.catalog import Catalog
from rackwright.catalog.hardware import Machine
from rackwright.catalog.models import library
from rackwright.catalog.query import families, narrow_formats
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.spec.reading.model_fields import did_you_mean
from rackwright.units import GIB
from rackwright.wording.formatting import UNKNOWN, count, gib, money


@dataclass(frozen=True)
class Listing:
    """One kind of catalog rows. right: columns of numbers. cells: one text per column but the last, the date."""

    columns: tuple[str, ...]
    right: tuple[str, ...]
    rows: Callable[[Catalog], Iterable[Any]]
    cells: Callable[[Any], tuple[str, ...]]


def catalog_rows(kind: str, name: str) -> list[tuple[tuple[str, ...], Any]]:
    """(cells, row) of one kind with `name` in a cell. Raises UserError for an unknown kind, or when nothing matches."""
    listing = LISTINGS.get(kind)
    if listing is None:
        raise UserError([Problem("C-catalog", f"the catalog has no {kind!r}", fix=did_you_mean(kind, LISTINGS))])
    rows: list[tuple[tuple[str, ...], Any]] = [((*listing.cells(row), row.as_of), row) for row in listing.rows(Catalog.default())]
    found = [row for row in rows if name.lower() in " ".join(row[0]).lower()]
    if name and not found:
        raise UserError([Problem("C-catalog", f"no row of {kind} contains {name!r}", fix=f"see `rackwright catalog {kind}`")])
    return found


def show_catalog(out: Console, kind: str, rows: Iterable[tuple[str, ...]]) -> None:
    from rackwright.report.terminal.layout.tables import table

    out.print(table((*LISTINGS[kind].columns, "as of"), rows, right=LISTINGS[kind].right))


def scaled(value: float | None, scale: float) -> str:
    """A rate in units of `scale`."""
    return f"{value / scale:,.0f}" if value else UNKNOWN


def _network(machine: Machine) -> str:
    """`400`; `2.5 (up to 20)` where the machine bursts."""
    peak, baseline = scaled(machine.network_bytes_per_s, 1e9 / 8), machine.network_baseline_bytes_per_s
    return f"{baseline * 8 / 1e9:,.3g} (up to {peak})" if baseline else f"up to {peak}" if machine.network_is_peak else peak


LISTINGS = {
    "machines": Listing(
        ("machine", "cloud", "accelerators", "fabric", "network, Gbit/s"),
        ("network, Gbit/s",),
        lambda catalog: catalog.machines,
        lambda row: (
            row.name,
            row.cloud,
            f"{row.accelerator_count} x {row.accelerator}" if row.accelerator else "no accelerator",
            str(row.fabric),
            _network(row),
        ),
    ),
    "accelerators": Listing(
        ("accelerator", "memory, GiB", "bandwidth, GB/s", "16 bit, TFLOP/s", "formats", "sold in"),
        ("memory, GiB", "bandwidth, GB/s", "16 bit, TFLOP/s"),
        lambda catalog: catalog.accelerators,
        lambda row: (
            row.name,
            gib(row.memory_bytes).removesuffix(" GiB"),
            scaled(row.memory_bandwidth_bytes_per_s, 1e9),
            scaled(row.bf16_flops or row.fp16_flops, 1e12),
            " ".join(narrow_formats(row)),
            ", ".join(families(Catalog.default(), row)),
        ),
    ),
    "slices": Listing(
        ("generation", "topology", "chips", "hosts", "host"),
        ("chips", "hosts"),
        lambda catalog: catalog.slices,
        lambda row: (row.generation, row.topology, str(row.chips), str(row.hosts), row.gke_machine_type),
    ),
    "models": Listing(
        ("model", "publisher", "kind", "parameters", "released"),
        ("parameters",),
        lambda _: library.rows(),
        lambda row: (row.name, row.publisher, row.architecture.kind, count(row.published.parameters), row.released),
    ),
    "prices": Listing(
        ("what", "region", "capacity", "USD/h", "per"),
        ("USD/h",),
        lambda catalog: catalog.prices,
        lambda row: (row.sku, row.region or UNKNOWN, str(row.capacity), money(row.usd_per_hour, 4), row.unit),
    ),
    "volumes": Listing(
        ("volume", "cloud", "kind", "USD per GiB-month"),
        ("USD per GiB-month",),
        lambda catalog: catalog.volumes,
        lambda row: (row.name, row.cloud, row.kind, money(None if (p := row.price_usd_per_byte_month) is None else p * GIB, 3)),
    ),
}
