"""The catalog: rows of the data files, indexes over them, and a digest of the data."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from rackwright.catalog import columns as tables
from rackwright.catalog import records as machines
from rackwright.catalog import server_columns
from rackwright.catalog.csv_table import Record, Table
from rackwright.catalog.rows import (
    Accelerator,
    AcceleratorGeneration,
    Availability,
    CapacityMode,
    CapacityRule,
    FabricLayout,
    Fee,
    GpuProduct,
    LinkSpeed,
    Machine,
    MigProfile,
    Price,
    Quota,
    Server,
    StorageLimit,
    StoragePrice,
    SupportedVersion,
    Switch,
    TpuSlice,
    Volume,
    Zone,
)
from rackwright.diagnostics.errors import CatalogError, UserError
from rackwright.diagnostics.problem import Mark, Problem
from rackwright.files import read_bytes

DATA = Path(__file__).parent / "data"
ZONE_SUFFIX = re.compile(r"(-ai[0-9]+[a-h]?|-?[a-h])$")
"""End of a zone's name after its region. Google's AI zones are us-central1-ai1 and us-south1-ai1b
(https://cloud.google.com/compute/docs/regions-zones/ai-zones)."""


@dataclass(frozen=True, eq=False)
class Catalog:
    """All rows of the catalog. Two catalogs are equal only if they are the same object; the digest compares their data.

    digest: twelve hex digits over every byte of the data files, models included, and user prices.
    """

    accelerators: tuple[Accelerator, ...]
    generations: tuple[AcceleratorGeneration, ...]
    machines: tuple[Machine, ...]
    layouts: tuple[FabricLayout, ...]
    slices: tuple[TpuSlice, ...]
    servers: tuple[Server, ...]
    switches: tuple[Switch, ...]
    link_speeds: tuple[LinkSpeed, ...]
    mig_profiles: tuple[MigProfile, ...]
    gpu_products: tuple[GpuProduct, ...]
    prices: tuple[Price, ...]
    availability: tuple[Availability, ...]
    zones: tuple[Zone, ...]
    volumes: tuple[Volume, ...]
    storage_prices: tuple[StoragePrice, ...]
    fees: tuple[Fee, ...]
    quotas: tuple[Quota, ...]
    capacity_rules: tuple[CapacityRule, ...]
    storage_limits: tuple[StorageLimit, ...]
    supported_versions: tuple[SupportedVersion, ...]
    digest: str

    @staticmethod
    @cache
    def default() -> "Catalog":
        """Return the embedded catalog. Raises CatalogError when a data file is invalid."""
        return load(DATA)

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

    def capacity_rule(self, cloud: str, mode: CapacityMode | None, rule: str, family: str = "") -> float | None:
        """The number a capacity mode (None: any) imposes on a family of machines, "" for all of them; None without a row."""
        asked = (cloud, mode, rule, family)
        return next((row.value for row in self.capacity_rules if (row.cloud, row.capacity, row.rule, row.family) == asked), None)

    def supported_version(self, component: str) -> SupportedVersion:
        """The first row of a component. Raises CatalogError for an unknown one."""
        for row in self.supported_versions:
            if row.component == component:
                return row
        raise CatalogError(f"no supported versions of {component!r}")

    def storage_limit(self, volume: str, limit: str) -> int:
        """A limit of a volume, the lowest of several offered values. Raises CatalogError when the catalog lacks it."""
        return self.storage_values(volume, limit)[0]

    def storage_values(self, volume: str, limit: str) -> tuple[int, ...]:
        """The offered values of a limit of a volume, in rising order. Raises CatalogError when the catalog lacks it."""
        for row in self.storage_limits:
            if (row.volume, row.limit) == (volume, limit):
                return row.values
        raise CatalogError(f"no limit {limit!r} of {volume!r}")

    def region_of_zone(self, zone: str) -> str:
        """Region of a zone ID (use1-az1) or of a zone name (us-east-1a, us-central1-b, us-south1-ai1b)."""
        return self.region_by_zone_id.get(zone) or ZONE_SUFFIX.sub("", zone)

    def zone_is_in(self, zone: str, region: str) -> bool:
        """Whether a zone ID or zone name is in a region."""
        return self.region_by_zone_id[zone] == region if zone in self.region_by_zone_id else zone.startswith(region) and zone != region

    def with_prices(self, path: Path) -> "Catalog":
        """Return this catalog with the user's price rows (columns of prices_*.csv), which replace or extend its own.

        Raises UserError with the line when the file is invalid or prices an unknown machine.
        """
        units = {machine.name: "node" for machine in self.machines if machine.kind != "tpu"} | {s.generation: "chip" for s in self.slices}
        mine = _own_prices(path, units)
        kept = {(row.sku, row.cloud, row.region, row.capacity, row.unit): row for row in (*self.prices, *mine)}
        digest = sha256((self.digest + repr(mine)).encode()).hexdigest()[: len(self.digest)]
        return replace(self, prices=tuple(kept.values()), digest=digest)

    def with_machines(self, machines: Iterable[Machine], prices: Iterable[Price]) -> "Catalog":
        """This catalog with further machines, which replace those of the same name, and their prices."""
        rows, priced = tuple(machines), tuple(prices)
        kept = {row.name: row for row in (*self.machines, *rows)}
        digest = sha256((self.digest + repr((rows, priced))).encode()).hexdigest()[: len(self.digest)]
        return replace(self, machines=tuple(kept.values()), prices=(*self.prices, *priced), digest=digest)

    @cached_property
    def machine_by_name(self) -> Mapping[str, Machine]:
        return {machine.name: machine for machine in self.machines}

    @cached_property
    def accelerator_by_name(self) -> Mapping[str, Accelerator]:
        """Lower-case name or alias -> accelerator."""
        return {name: row for row in self.accelerators for name in (*row.aliases, row.name.lower())}

    @cached_property
    def generation_by_name(self) -> Mapping[str, AcceleratorGeneration]:
        return {row.generation: row for row in self.generations}

    @cached_property
    def measured_shares(self) -> Mapping[str, tuple[float, ...]]:
        """Measured over nameplate bf16 peaks by accelerator name, architecture and generation, in file order."""
        measured = [(row, row.measured_bf16_flops, row.bf16_flops) for row in self.accelerators]
        shares = [(row, flops / peak) for row, flops, peak in measured if flops and peak]
        return _grouped((key, share) for row, share in shares for key in {row.name, row.architecture, row.generation})

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
    def regions_by_cloud(self) -> Mapping[str, tuple[str, ...]]:
        """Regions in which a machine is offered, in alphabetical order."""
        return _grouped(sorted({(row.cloud, row.region) for row in self.availability}))

    @cached_property
    def zones_by_region(self) -> Mapping[str, tuple[Zone, ...]]:
        """Zone IDs by region. Regions of clouds whose zones have the same name in every account are not listed."""
        return _grouped((row.region, row) for row in self.zones)

    @cached_property
    def region_by_zone_id(self) -> Mapping[str, str]:
        return {row.zone: row.region for row in self.zones}

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


PLAIN = {
    "generations": (AcceleratorGeneration, tables.ACCELERATOR_GENERATIONS),
    "layouts": (FabricLayout, tables.FABRICS),
    "servers": (Server, server_columns.SERVERS),
    "switches": (Switch, server_columns.SWITCHES),
    "link_speeds": (LinkSpeed, server_columns.LINK_SPEEDS),
    "mig_profiles": (MigProfile, server_columns.MIG_PROFILES),
    "gpu_products": (GpuProduct, server_columns.GPU_PRODUCTS),
    "zones": (Zone, tables.ZONES),
    "storage_prices": (StoragePrice, tables.STORAGE_PRICES),
    "fees": (Fee, tables.FEES),
    "quotas": (Quota, tables.QUOTAS),
    "capacity_rules": (CapacityRule, tables.CAPACITY_RULES),
    "storage_limits": (StorageLimit, tables.STORAGE_LIMITS),
    "supported_versions": (SupportedVersion, tables.SUPPORTED_VERSIONS),
}
"""Field of the catalog -> row type and table, where a record is a row."""
PER_CLOUD = {"prices": (Price, tables.PRICES), "availability": (Availability, tables.AVAILABILITY)}
"""As PLAIN, for tables with one file per cloud, such as prices_aws.csv."""


def load(folder: Path) -> Catalog:
    """Read a catalog from a folder of data files. Raises CatalogError with file and line."""
    read = partial(read_table, folder)
    plain: dict[str, Any] = {name: tuple(row(**record) for record in read(table)) for name, (row, table) in PLAIN.items()}
    for name, (row, table) in PER_CLOUD.items():
        files = sorted(path.name for path in folder.glob(f"{name}_*.csv"))
        plain[name] = tuple(row(**record) for file in files for record in read(table, file))
    accelerators = tuple(machines.accelerator(record) for record in read(tables.ACCELERATORS))
    known = {row.name: row for row in accelerators}
    layout = {row.machine: row for row in plain["layouts"]}
    hosts = {record["name"]: record for record in read(tables.TPU_HOSTS)}
    families = {record["family"]: record for record in read(tables.AWS_FAMILIES)}
    try:
        nodes = (
            *(machines.aws(record, known, layout, families) for record in read(tables.AWS_MACHINES)),
            *(machines.gcp(record, known, layout) for record in read(tables.GCP_MACHINES) if record["accelerator_count"]),
            *(machines.tpu_host(record, known) for record in hosts.values()),
            *(machines.system(record) for record in read(tables.SYSTEM_MACHINES)),
            *(machines.owned(server, known) for server in plain["servers"]),
        )
        slices = tuple(machines.tpu_slice(record, hosts) for record in read(tables.TPU_SLICES))
    except KeyError as fault:
        raise CatalogError(f"refers to {fault}, which has no row") from None
    digest = sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    volumes = tuple(machines.volume(record, plain["storage_prices"]) for record in read(tables.VOLUMES))
    return Catalog(accelerators=accelerators, machines=nodes, slices=slices, volumes=volumes, digest=digest.hexdigest()[:12], **plain)


def read_table(folder: Path, table: Table, name: str = "") -> list[Record]:
    """The records of a table in a folder. name: of the file where it is not the table's. Raises CatalogError with file and line."""
    file = name or table.file
    try:
        return table.read((folder / file).read_text(encoding="utf-8"), file)
    except (OSError, UnicodeDecodeError) as fault:
        raise CatalogError(f"cannot be read: {fault}", file) from None


def _own_prices(path: Path, units: Mapping[str, str]) -> list[Price]:
    """Return the user's price rows. units: sku -> unit of its price."""
    try:
        rows = [Price(**record) for record in tables.PRICES.read(read_bytes(path).decode("utf-8-sig"), str(path))]
    except CatalogError as fault:
        columns, mark = ", ".join(tables.PRICES.columns), Mark(fault.line, 1) if fault.line else None
        raise UserError([Problem("S-price-file", str(fault), fix=f"columns: {columns}", mark=mark)], str(path)) from None
    except (OSError, UnicodeDecodeError) as fault:
        raise UserError([Problem("S-price-file", f"cannot be read: {getattr(fault, 'strerror', None) or fault}")], str(path)) from None
    problems = [
        Problem("S-price-sku", f"{row.sku!r} is no machine or TPU generation of the catalog") for row in rows if row.sku not in units
    ]
    problems += [Problem("S-price-unit", f"{r.sku} is priced per {units[r.sku]}") for r in rows if units.get(r.sku, r.unit) != r.unit]
    if problems:
        raise UserError(problems, str(path))
    return rows


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, tuple[Any, ...]]:
    groups: dict[Any, list[Any]] = {}
    for key, row in pairs:
        groups.setdefault(key, []).append(row)
    return {key: tuple(rows) for key, rows in groups.items()}
