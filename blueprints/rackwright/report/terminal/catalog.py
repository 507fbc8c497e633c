"""The catalog on a terminal: machines, accelerators, models, prices, with their dates."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console

from rackwright.catalog import Catalog
from rackwright.catalog.models import library
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.spec.reading.model_fields import did_you_mean
from rackwright.units import GIB
from rackwright.wording.formatting import UNKNOWN, count, gib, money


@dataclass(frozen=True)
class CatalogRow:
    """A row: displayed cells and all data."""

    cells: tuple[str, ...]
    whole: Any

    def as_json(self) -> dict[str, Any]:
        return asdict(self.whole)


@dataclass(frozen=True)
class Listing:
    columns: tuple[str, ...]
    numbers: tuple[str, ...]
    rows: Callable[[Catalog], Iterable[CatalogRow]]


def catalog_rows(what: str, name: str) -> list[CatalogRow]:
    """Rows of one kind with `name` in them. Raises UserError for a kind the catalog does not have, or when nothing matches."""
    listing = LISTINGS.get(what)
    if listing is None:
        raise UserError([Problem("C-catalog", f"the catalog has no {what!r}", fix=did_you_mean(what, LISTINGS))])
    requested = name.lower()
    found = [row for row in listing.rows(Catalog.default()) if requested in " ".join(row.cells).lower()]
    if name and not found:
        raise UserError([Problem("C-catalog", f"no row of {what} contains {name!r}", fix=f"see `rackwright catalog {what}`")])
    return found


def show_catalog(out: Console, what: str, rows: list[CatalogRow]) -> None:
    from rackwright.report.terminal.tables import table

    made = table(*LISTINGS[what].columns, right=LISTINGS[what].numbers)
    for row in rows:
        made.add_row(*row.cells)
    out.print(made)


def _accelerators(catalog: Catalog) -> Iterable[CatalogRow]:
    for row in catalog.accelerators:
        bf16 = f"{row.bf16_flops / 1e12:,.0f}" if row.bf16_flops else UNKNOWN
        bandwidth = f"{row.memory_bandwidth_bytes_per_s / 1e9:,.0f}" if row.memory_bandwidth_bytes_per_s else UNKNOWN
        memory = gib(row.memory_bytes).removesuffix(" GiB")
        yield CatalogRow((row.name, memory, bf16, bandwidth, row.as_of), row)


def _machines(catalog: Catalog) -> Iterable[CatalogRow]:
    for row in catalog.machines:
        holds = f"{row.accelerator_count} x {row.accelerator}" if row.accelerator else "no accelerator"
        network = f"{row.network_bytes_per_s * 8 / 1e9:,.0f}" if row.network_bytes_per_s else UNKNOWN
        yield CatalogRow((row.name, row.cloud, holds, str(row.fabric), network, row.as_of), row)


def _slices(catalog: Catalog) -> Iterable[CatalogRow]:
    for row in catalog.slices:
        yield CatalogRow((row.generation, row.topology, str(row.chips), str(row.hosts), row.gke_machine_type, row.as_of), row)


def _models(catalog: Catalog) -> Iterable[CatalogRow]:
    for row in library.rows():
        yield CatalogRow((row.name, row.publisher, row.architecture.kind, count(row.published.parameters), row.released, row.as_of), row)


def _prices(catalog: Catalog) -> Iterable[CatalogRow]:
    for row in catalog.prices:
        yield CatalogRow((row.sku, row.region or UNKNOWN, str(row.capacity), money(row.usd_per_hour, 4), row.unit, row.as_of), row)


def _volumes(catalog: Catalog) -> Iterable[CatalogRow]:
    for row in catalog.volumes:
        price = row.price_usd_per_byte_month
        yield CatalogRow((row.name, row.cloud, row.kind, money(price * GIB, 3) if price is not None else UNKNOWN, row.as_of), row)


LISTINGS = {
    "machines": Listing(("machine", "cloud", "accelerators", "fabric", "network, Gbit/s", "as of"), ("network, Gbit/s",), _machines),
    "accelerators": Listing(
        ("accelerator", "memory, GiB", "bf16, TFLOP/s", "bandwidth, GB/s", "as of"),
        ("memory, GiB", "bf16, TFLOP/s", "bandwidth, GB/s"),
        _accelerators,
    ),
    "slices": Listing(("generation", "topology", "chips", "hosts", "host", "as of"), ("chips", "hosts"), _slices),
    "models": Listing(("model", "publisher", "kind", "parameters", "released", "as of"), ("parameters",), _models),
    "prices": Listing(("what", "region", "capacity", "USD/h", "per", "as of"), ("USD/h",), _prices),
    "volumes": Listing(("volume", "cloud", "kind", "USD per GiB-month", "as of"), ("USD per GiB-month",), _volumes),
}
