"""The catalog: rows of the data files, indexes over them, and a digest of the data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from rackwright.catalog import columns as tables
from rackwright.catalog import records as machines
from rackwright.catalog.csv_table import Record, Table
from rackwright.catalog.rows import (
    Accelerator,
    Availability,
    CapacityMode,
    CapacityRule,
    FabricLayout,
    Fee,
    Machine,
    Price,
    Quota,
    Server,
    StoragePrice,
    TpuSlice,
    Volume,
)
from rackwright.diagnostics.errors import CatalogError, UserError
from rackwright.diagnostics.problem import Mark, Problem

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Catalog:
    """All rows of the catalog. digest: changes with any byte of the data files and with user prices."""

    accelerators: tuple[Accelerator, ...]
    machines: tuple[Machine, ...]
    layouts: tuple[FabricLayout, ...]
    slices: tuple[TpuSlice, ...]
    servers: tuple[Server, ...]
    prices: tuple[Price, ...]
    availability: tuple[Availability, ...]
    volumes: tuple[Volume, ...]
    storage_prices: tuple[StoragePrice, ...]
    fees: tuple[Fee, ...]
    quotas: tuple[Quota, ...]
    capacity_rules: tuple[CapacityRule, ...]
    digest: str

    @staticmethod
    def default() -> "Catalog":
        """Return the embedded catalog. Raises CatalogError when a data file is invalid."""
        return _embedded()

    @staticmethod
    def load(folder: Path) -> "Catalog":
        """A catalog from a folder of data files with the names of the embedded ones. Raises CatalogError with file and line."""
        return load(folder)

    def machine(self, name: str) -> Machine:
        """The row of a machine. Raises CatalogError for an unknown name."""
        if name not in self.machine_by_name:
            raise CatalogError(f"no machine {name!r}")
        return self.machine_by_name[name]

    def volume(self, name: str) -> Volume:
        """The row of a storage tier. Raises CatalogError for an unknown name."""
        if name not in self.volume_by_name:
            raise CatalogError(f"no storage tier {name!r}")
        return self.volume_by_name[name]

    def capacity_rule(self, cloud: str, mode: CapacityMode, rule: str, family: str = "") -> float | None:
        """The number a capacity mode imposes on a family of machines, "" for all of them; None without a row."""
        asked = (cloud, mode, rule, family)
        return next((row.value for row in self.capacity_rules if (row.cloud, row.capacity, row.rule, row.family) == asked), None)

    def with_prices(self, path: Path) -> "Catalog":
        """Return this catalog with the user's price rows (columns of prices_*.csv), which replace or extend its own.

        Raises UserError with the line when the file is invalid or prices an unknown machine.
        """
        units = {machine.name: "node" for machine in self.machines if machine.kind != "tpu"} | {s.generation: "chip" for s in self.slices}
        mine = _own_prices(path, units)
        kept = {_price_key(row): row for row in (*self.prices, *mine)}
        digest = sha256((self.digest + repr(mine)).encode()).hexdigest()[: len(self.digest)]
        return replace(self, prices=tuple(kept.values()), digest=digest)

    @cached_property
    def machine_by_name(self) -> Mapping[str, Machine]:
        return {machine.name: machine for machine in self.machines}

    @cached_property
    def accelerator_by_name(self) -> Mapping[str, Accelerator]:
        """Lower-case name or alias -> accelerator."""
        return {name: row for row in self.accelerators for name in (*row.aliases, row.name.lower())}

    @cached_property
    def layout_by_machine(self) -> Mapping[str, FabricLayout]:
        return {row.machine: row for row in self.layouts}

    @cached_property
    def slices_by_machine(self) -> Mapping[str, tuple[TpuSlice, ...]]:
        return _grouped((piece.gke_machine_type, piece) for piece in self.slices)

    @cached_property
    def places_by_sku(self) -> Mapping[str, tuple[Availability, ...]]:
        return _grouped((row.sku, row) for row in self.availability)

    @cached_property
    def prices_by_sku(self) -> Mapping[tuple[str, str], tuple[Price, ...]]:
        """Rows by (sku, capacity mode), in file order."""
        return _grouped(((row.sku, row.capacity), row) for row in self.prices)

    @cached_property
    def volume_by_name(self) -> Mapping[str, Volume]:
        return {volume.name: volume for volume in self.volumes}

    def fee(self, name: str, cloud: str, region: str) -> Fee | None:
        """Return the fee of a region, else the one without a region, else that of the reference region; None when unknown."""
        rows = [row for row in self.fees if (row.name, row.cloud) == (name, cloud)]
        return min(rows, key=lambda row: (row.region != region, row.region is not None), default=None)


@cache
def _embedded() -> Catalog:
    return load(DATA)


def load(folder: Path) -> Catalog:
    """Read a catalog from a folder of data files. Raises CatalogError with file and line."""

    read = partial(_records, folder)
    accelerators = tuple(machines.accelerator(record) for record in read(tables.ACCELERATORS))
    known = {row.name: row for row in accelerators}
    layouts = tuple(FabricLayout(**record) for record in read(tables.FABRICS))
    layout = {row.machine: row for row in layouts}
    servers = tuple(Server(**record) for record in read(tables.SERVERS))
    storage_prices = tuple(StoragePrice(**record) for record in read(tables.STORAGE_PRICES))
    hosts = {record["name"]: record for record in read(tables.TPU_HOSTS)}
    families = {record["family"]: record for record in read(tables.AWS_FAMILIES)}
    try:
        nodes = (
            *(machines.aws(record, known, layout, families) for record in read(tables.AWS_MACHINES)),
            *(machines.gcp(record, known, layout) for record in read(tables.GCP_MACHINES) if record["accelerator_count"]),
            *(machines.tpu_host(record, known) for record in hosts.values()),
            *(machines.system(record) for record in read(tables.SYSTEM_MACHINES)),
            *(machines.owned(server, known) for server in servers),
        )
        slices = tuple(machines.tpu_slice(record, hosts) for record in read(tables.TPU_SLICES))
    except KeyError as fault:
        raise CatalogError(f"refers to {fault}, which has no row") from None
    return Catalog(
        accelerators=accelerators,
        machines=nodes,
        layouts=layouts,
        slices=slices,
        servers=servers,
        prices=tuple(Price(**record) for file in _per_cloud(folder, "prices") for record in read(tables.PRICES, file)),
        availability=tuple(
            Availability(**record) for file in _per_cloud(folder, "availability") for record in read(tables.AVAILABILITY, file)
        ),
        volumes=tuple(machines.volume(record, storage_prices) for record in read(tables.VOLUMES)),
        storage_prices=storage_prices,
        fees=tuple(Fee(**record) for record in read(tables.FEES)),
        quotas=tuple(Quota(**record) for record in read(tables.QUOTAS)),
        capacity_rules=tuple(CapacityRule(**record) for record in read(tables.CAPACITY_RULES)),
        digest=_digest(folder),
    )


def _per_cloud(folder: Path, what: str) -> list[str]:
    """Names of the files that hold a table of one cloud each."""
    return sorted(path.name for path in folder.glob(f"{what}_*.csv"))


def _records(folder: Path, table: Table, name: str = "") -> list[Record]:
    file = name or table.file
    try:
        return table.read((folder / file).read_text(encoding="utf-8"), file)
    except (OSError, UnicodeDecodeError) as fault:
        raise CatalogError(f"cannot be read: {fault}", file) from None


def _own_prices(path: Path, units: Mapping[str, str]) -> list[Price]:
    """Return the user's price rows. units: sku -> unit of its price."""
    try:
        rows = [Price(**record) for record in tables.PRICES.read(path.read_text(encoding="utf-8"), str(path))]
    except CatalogError as fault:
        columns, mark = ", ".join(tables.PRICES.columns), Mark(fault.line, 1) if fault.line else None
        raise UserError([Problem("S-price-file", str(fault), fix=f"columns: {columns}", mark=mark)], str(path)) from None
    except (OSError, UnicodeDecodeError) as fault:
        raise UserError([Problem("S-price-file", f"cannot be read: {fault}")], str(path)) from None
    problems = [
        Problem("S-price-sku", f"{row.sku!r} is no machine or TPU generation of the catalog") for row in rows if row.sku not in units
    ]
    problems += [Problem("S-price-unit", f"{r.sku} is priced per {units[r.sku]}") for r in rows if units.get(r.sku, r.unit) != r.unit]
    if problems:
        raise UserError(problems, str(path))
    return rows


def _price_key(row: Price) -> tuple[str | None, ...]:
    return (row.sku, row.cloud, row.region, row.capacity, row.unit)


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, tuple[Any, ...]]:
    groups: dict[Any, list[Any]] = {}
    for key, row in pairs:
        groups.setdefault(key, []).append(row)
    return {key: tuple(rows) for key, rows in groups.items()}


def _digest(folder: Path) -> str:
    """Return twelve hex digits of the hash over names and contents of all data files, models included."""
    total = sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
        total.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return total.hexdigest()[:12]
