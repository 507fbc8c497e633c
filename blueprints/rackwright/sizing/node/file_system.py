"""Storage of a training run: the size and tier that a plan shows, the StackPlan builds and the bill prices. Chosen here only."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine, Volume
from rackwright.diagnostics.errors import CatalogError
from rackwright.sizing.blueprint_kind import blueprint_kind
from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS
from rackwright.sizing.node.requirements import FileSystem
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.plan import Candidate, SizingPlan, StorageNeed
from rackwright.spec.blueprint import LustreOptions, LustreStorage, OwnImage
from rackwright.spec.spec import Spec
from rackwright.units import GIB, TIB

MIB = 2**20
TIERED = "fsx-lustre-intelligent-tiering"
DATA_DISK_MIN_GIB, DATA_DISK_STEP_GIB = 100, 10
DEFAULT_OPTIONS = LustreOptions()


@dataclass(frozen=True)
class LustreSize:
    """An FSx for Lustre file system. volume: name of its tier in the catalog. ssd_tier: MB/s per TiB, 0 for Intelligent-Tiering, which
    has throughput_mb_s and cache_gib."""

    capacity_gib: int
    volume: str
    ssd_tier: int = 0
    efa: bool = False
    throughput_mb_s: int | None = None
    cache_gib: int = 0

    @property
    def bytes_per_s(self) -> float:
        return (self.ssd_tier * self.capacity_gib * GIB / TIB or self.throughput_mb_s or 0) * 1e6


def reads_over_efa(machine: Machine, image: str) -> bool:
    """Whether a machine reads Lustre over EFA, which requires AL2023. image: family or neutral name of its node image."""
    return machine.lustre_interfaces > 0 and image.partition("-")[0] == "al2023"


def data_disk_size(need: StorageNeed, catalog: Catalog) -> tuple[int, int]:
    """(GiB, MiB/s) of the gp3 data disk of a box."""
    size_gib = math.ceil(need.capacity_bytes * NODE_ASSUMPTIONS.file_system_headroom / GIB / DATA_DISK_STEP_GIB) * DATA_DISK_STEP_GIB
    rate_mib_s = math.ceil(need.throughput_bytes_per_s / MIB)
    highest = round((catalog.volume("ebs-gp3").max_read_bytes_per_s or math.inf) / MIB)
    return max(DATA_DISK_MIN_GIB, size_gib), min(highest, max(catalog.storage_limit("ebs-gp3", "included_mib_s"), rate_mib_s))


def lustre_size(spec: Spec, plan: SizingPlan, candidate: Candidate, machine: Machine, catalog: Catalog) -> LustreSize | None:
    """The file system of a training cluster on AWS: the spec's options, and for the rest the cheapest size that holds and sustains the
    run. None where the spec disables it. Sizes in the spec are used unchanged; rules reject those that are not sold.
    """
    chosen = spec.blueprint.storage
    if chosen == "none":
        return None
    options = chosen.lustre if isinstance(chosen, LustreStorage) else DEFAULT_OPTIONS
    image = spec.blueprint.nodes.image
    fast = plan.storage.throughput_bytes_per_s > NODE_ASSUMPTIONS.client_bytes_per_s * candidate.nodes
    able = reads_over_efa(machine, image.family if isinstance(image, OwnImage) else image)
    efa = able and fast if options.efa is None else options.efa
    return _tiered(plan, options, efa, catalog) if options.tiering == "intelligent" else _ssd(plan.storage, options, efa, catalog)


def _ssd(need: StorageNeed, options: LustreOptions, efa: bool, catalog: Catalog) -> LustreSize:
    rows = query.ssd_tiers(catalog, efa)
    tiers = tuple(rows) if options.throughput is None else (options.throughput,)
    if not tiers or not rows.keys() >= set(tiers):
        raise CatalogError(f"no Lustre tier of {options.throughput or 'any'} MB/s per TiB")
    if options.capacity is not None:
        size = options.capacity
        tier = next((t for t in tiers if t * 1e6 * size / TIB >= need.throughput_bytes_per_s), tiers[-1])
        return LustreSize(round(size / GIB), rows[tier].name, tier, efa)
    sizes = [(tier, *_bought(need, rows[tier])) for tier in tiers]
    tier, capacity_bytes, _ = min(sizes, key=lambda row: row[2])
    return LustreSize(capacity_bytes // GIB, rows[tier].name, tier, efa)


def _bought(need: StorageNeed, tier: Volume) -> tuple[int, float]:
    """(bytes, US dollars per month) of a tier; infinite dollars where the tier is too small or its price is not published."""
    for_throughput = need.throughput_bytes_per_s / (tier.read_bytes_per_s_per_tib or 1) * TIB
    size = tier.allowed_bytes(max(need.capacity_bytes * NODE_ASSUMPTIONS.file_system_headroom, for_throughput))
    if size is None:
        return 0, math.inf
    price = tier.price_usd_per_byte_month
    return size, math.inf if price is None else size * price


def _tiered(plan: SizingPlan, options: LustreOptions, efa: bool, catalog: Catalog) -> LustreSize:
    """Capacity grows by itself; servers are bought for the throughput, and a cache for the dataset, which is read repeatedly."""
    need = plan.storage
    step, low, high = (catalog.storage_limit(TIERED, limit) for limit in ("throughput_step_mb_s", "min_cache_gib", "max_cache_gib"))
    servers = max(1, math.ceil(need.throughput_bytes_per_s / (step * 1e6)))
    dataset_gib = math.ceil(plan.facts.dataset_bytes / GIB)
    return LustreSize(
        capacity_gib=math.ceil((need.capacity_bytes if options.capacity is None else options.capacity) / GIB),
        volume=TIERED,
        efa=efa,
        throughput_mb_s=servers * step,
        cache_gib=min(max(dataset_gib, servers * low), servers * high),
    )


def storage_note(kind: NoteKind, need: StorageNeed) -> Note:
    return Note(kind, {"gb_per_s": need.throughput_bytes_per_s / 1e9, "gb": need.capacity_bytes / 1e9})


def planned_file_system(
    spec: Spec, plan: SizingPlan, candidate: Candidate, machine: Machine, catalog: Catalog, otherwise: Callable[[], FileSystem | None]
) -> FileSystem | None:
    """What the StackPlan of a training run will contain, for display. otherwise: a recommendation where this release builds none."""
    need, kind = plan.storage, blueprint_kind(spec, candidate)
    sold = {volume.name for volume in catalog.volumes if volume.cloud == candidate.cloud}
    if kind == "tpu-pod":
        return None
    if kind == "box" and "ebs-gp3" in sold:
        size_gib, rate_mib_s = data_disk_size(need, catalog)
        price = catalog.volume("ebs-gp3").price_usd_per_byte_month
        usd = None if price is None else size_gib * GIB * price
        limit = Note(NoteKind.DISK_LIMIT, {"gb_per_s": rate_mib_s * MIB / 1e9})
        slow = (limit,) if rate_mib_s * MIB < need.throughput_bytes_per_s else ()
        return FileSystem("ebs-gp3", size_gib * GIB, rate_mib_s * MIB, usd, basis=(storage_note(NoteKind.DATA_DISK, need), *slow))
    if kind == "training-cluster" and any(row.name in sold for row in query.ssd_tiers(catalog).values()):
        size = lustre_size(spec, plan, candidate, machine, catalog)
        if size is None:
            return None
        price = catalog.volume(size.volume).price_usd_per_byte_month if size.ssd_tier else None
        usd = None if price is None else size.capacity_gib * GIB * price
        note = storage_note(NoteKind.SHARED_FILE_SYSTEM, need)
        client, interface = NODE_ASSUMPTIONS.client_bytes_per_s, "ENA"
        if size.efa:
            client, interface = catalog.storage_limit("fsx-lustre", "client_efa_gbps") * 1e9 / 8, "EFA"
        return FileSystem(size.volume, size.capacity_gib * GIB, size.bytes_per_s, usd, "", (note,), client, interface)
    return otherwise()
