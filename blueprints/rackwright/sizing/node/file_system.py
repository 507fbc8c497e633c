"""Storage of a training run: the size and tier that a plan shows, the StackPlan builds and the bill prices. Chosen here only."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from rackwright.catalog import query
from rackwright.catalog.query import INTELLIGENT_TIERING
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine, Volume
from rackwright.clouds import MANAGED_LUSTRE, profile
from rackwright.diagnostics.errors import CatalogError
from rackwright.sizing.blueprint_kind import blueprint_kind
from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS
from rackwright.sizing.node.lustre_throughput import (
    EFA,
    GBIT,
    SERVICE,
    TCP,
    LustreClients,
    LustreSize,
    LustreThroughput,
    lustre_clients,
    lustre_interfaces,
    lustre_throughput,
    needed_bytes,
    servers_needed,
)
from rackwright.sizing.node.managed_lustre import managed_lustre_size
from rackwright.sizing.node.requirements import FileSystem
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.plan import Candidate, SizingPlan, StorageNeed
from rackwright.spec.blueprint import LustreOptions, LustreStorage, OwnImage
from rackwright.spec.spec import Spec
from rackwright.spec.workload import TRAINING
from rackwright.units import GIB, MIB

DATA_DISK_MIN_GIB, DATA_DISK_STEP_GIB = 100, 10
TIMES = (1, 2, 4, 8, 16, 32)
"""Multiples of the needed throughput of which the cheapest for the whole run is taken: machines wait less for a faster storage."""
NEARLY_USD, NEARLY_SHARE = 1.0, 0.001
"""Difference in the cost of a run, US dollars and share of its machines, below which the smaller storage is taken; rackwright's choice."""
DEFAULT_OPTIONS = LustreOptions()
T = TypeVar("T")


def reads_over_efa(machine: Machine, image: str) -> bool:
    """Whether a machine reads Lustre over EFA, which requires AL2023. image: family or neutral name of its node image."""
    return machine.lustre_interfaces > 0 and image.partition("-")[0] == "al2023"


def data_disk_size(need: StorageNeed, catalog: Catalog, machine: Machine | None = None) -> tuple[int, int]:
    """(GiB, MiB/s) of the gp3 data disk of a box: of the rates that suffice, the one with which the run costs least.

    machine: whose disk connection limits the rate.
    """
    size_gib = math.ceil(need.capacity_bytes * NODE_ASSUMPTIONS.file_system_headroom / GIB / DATA_DISK_STEP_GIB) * DATA_DISK_STEP_GIB
    connection = machine.block_storage_bytes_per_s if machine else None
    highest = round(min(catalog.volume("ebs-gp3").max_read_bytes_per_s or math.inf, connection or math.inf) / MIB)
    included = catalog.storage_limit("ebs-gp3", "included_mib_s")
    least = min(highest, max(included, math.ceil(need.throughput_bytes_per_s / MIB)))
    rates = sorted({min(highest, times * least) for times in TIMES})
    return max(DATA_DISK_MIN_GIB, size_gib), _cheapest(need, [(rate, _disk_rate_usd(rate, catalog), rate * MIB) for rate in rates])


def _cheapest(need: StorageNeed, choices: Sequence[tuple[T, float, float]]) -> T:
    """The storage with which the run costs least; of those that cost it nearly the same, the first with the lowest price.

    choices: storage, US dollars per month, bytes per second.
    """
    costs = [need.run_usd(usd, rate) for _, usd, rate in choices]
    alike = min(costs) + max(NEARLY_USD, NEARLY_SHARE * need.usd_per_hour * need.hours) * bool(need.hours)
    return min((choice for choice, cost in zip(choices, costs, strict=True) if cost <= alike), key=lambda choice: choice[1])[0]


def _disk_rate_usd(mib_s: int, catalog: Catalog) -> float:
    """US dollars per month of the throughput of a gp3 disk, and of the IOPS that it requires, above what its size includes."""
    included, iops_included, per_mib_s = (
        catalog.storage_limit("ebs-gp3", limit) for limit in ("included_mib_s", "included_iops", "iops_per_mib_s")
    )
    more = {"ebs-gp3-throughput": max(0, mib_s - included), "ebs-gp3-iops": max(0, mib_s * per_mib_s - iops_included)}
    fees = {name: next((fee.usd for fee in catalog.fees if fee.name == name), math.inf) for name in more}
    return sum(count * fees[name] for name, count in more.items() if count)


def lustre_size(
    spec: Spec, plan: SizingPlan, candidate: Candidate, machine: Machine, catalog: Catalog, recorded: LustreSize | None = None
) -> LustreSize | None:
    """The file system of a training cluster in a cloud: the spec's options, and for the rest the size that holds the run's data, delivers
    its throughput to these machines, and costs the run least. None where the spec disables it, and for `auto` where a bucket is cheaper.

    Sizes in the spec are used unchanged; rules reject those that are not sold. recorded: the file system of a running stack, whose tier
    and network stay, because changing them replaces it; it only grows. One with EFA stays only with machines and images that use EFA.
    """
    options = _options(spec)
    if options is None:
        return None
    if profile(candidate.cloud).lustre_service == MANAGED_LUSTRE:
        clients, by_default = lustre_clients(machine, candidate.nodes, 0, catalog), spec.blueprint.storage == "auto" and recorded is None
        if by_default and (plan.storage.in_bucket or not isinstance(spec.workload, TRAINING)):
            return None
        return managed_lustre_size(plan, options, clients, catalog, recorded)
    if recorded and bool(recorded.ssd_tier) == (options.tiering == "ssd") and (_able(spec, machine) or not recorded.efa):
        return _grown(plan, options, recorded, catalog)
    if uses_bucket(spec, plan):
        return None
    able = _able(spec, machine) and any(query.is_offered(row, candidate.region) for row in query.ssd_tiers(catalog, rdma=True).values())
    over = {efa: lustre_clients_of(spec, candidate, machine, efa, catalog) for efa in _networks(options, able)}
    need, choose = plan.storage, _tiered if options.tiering == "intelligent" else _ssd
    faster = [replace(need, throughput_bytes_per_s=times * need.throughput_bytes_per_s) for times in (TIMES if need.hours else TIMES[:1])]
    plans = [replace(plan, storage=each) for each in faster]
    sizes = {size for each in plans for efa, clients in over.items() for size in choose(each, options, efa, clients, catalog)}
    if not sizes:
        raise CatalogError(f"no Lustre tier of {options.throughput or 'any'} MB/s per TiB")
    fast = need.throughput_bytes_per_s > catalog.storage_limit(SERVICE, "efa_recommended_above_gb_s") * 1e9

    def rank(size: LustreSize) -> tuple[float, ...]:
        """Tiers that the region offers, then missing throughput, and AWS's recommendation of EFA for fast file systems."""
        missing = max(0.0, round((need.throughput_bytes_per_s - rates[size]) / 1e6))
        return not query.is_offered(catalog.volume(size.volume), candidate.region), missing, fast and not size.efa

    rates = {size: delivered(size, over[size.efa], catalog).bytes_per_s for size in sizes}
    best = min(map(rank, sizes))
    ordered = sorted((size for size in sizes if rank(size) == best), key=lambda size: (size.ssd_tier, size.efa, size.capacity_gib))
    return _cheapest(need, [(size, usd_per_month(size, catalog), rates[size]) for size in ordered])


def uses_bucket(spec: Spec, plan: SizingPlan) -> bool:
    """Whether sizing chose a bucket for the checkpoints, and the spec leaves the choice."""
    return plan.storage.in_bucket and spec.blueprint.storage == "auto"


def _options(spec: Spec) -> LustreOptions | None:
    chosen = spec.blueprint.storage
    return None if chosen == "none" else chosen.lustre if isinstance(chosen, LustreStorage) else DEFAULT_OPTIONS


def _able(spec: Spec, machine: Machine) -> bool:
    image = spec.blueprint.nodes.image
    return reads_over_efa(machine, image.family if isinstance(image, OwnImage) else image)


def _networks(options: LustreOptions, able: bool) -> tuple[bool, ...]:
    """Whether EFA is used: the spec's choice, else both ways where machines and image can."""
    return (options.efa,) if options.efa is not None else (False, True) if able else (False,)


def lustre_clients_of(spec: Spec, candidate: Candidate, machine: Machine, efa: bool, catalog: Catalog) -> LustreClients:
    """The nodes of a candidate as clients of a file system with or without EFA."""
    interfaces = lustre_interfaces(machine, candidate.nodes, catalog) if efa and _able(spec, machine) else 0
    return lustre_clients(machine, candidate.nodes, interfaces, catalog)


def delivered(size: LustreSize, clients: LustreClients, catalog: Catalog) -> LustreThroughput:
    """What a file system delivers to these clients."""
    return lustre_throughput(catalog.volume(size.volume), size.capacity_gib, size.throughput_mb_s, clients, catalog)


def earlier_lustre_size(spec: Spec, plan: SizingPlan, candidate: Candidate, machine: Machine, catalog: Catalog) -> LustreSize | None:
    """The file system of a decision that does not record one: earlier releases assumed 100 Gbit/s per client and any number of servers."""
    options = _options(spec)
    if options is None:
        return None
    fast = plan.storage.throughput_bytes_per_s > candidate.nodes * catalog.storage_limit(SERVICE, "client_tcp_gbps") * GBIT
    efa = _able(spec, machine) and fast if options.efa is None else options.efa
    clients = LustreClients(candidate.nodes, math.inf, EFA if efa else TCP, math.inf)
    choose = _tiered if options.tiering == "intelligent" else _ssd
    sizes = choose(plan, options.model_copy(update={"efa": efa}), efa, clients, catalog)
    if options.capacity is None:
        return min(sizes, key=lambda size: usd_per_month(size, catalog))
    need = plan.storage.throughput_bytes_per_s
    return next((size for size in sizes if delivered(size, clients, catalog).tier_bytes_per_s >= need), sizes[-1])


def _grown(plan: SizingPlan, options: LustreOptions, recorded: LustreSize, catalog: Catalog) -> LustreSize:
    """The recorded file system with the spec's options, as large as the run's data and throughput need by now."""
    need, efa = plan.storage, recorded.efa if options.efa is None else options.efa
    if not recorded.ssd_tier:
        step = catalog.storage_limit(INTELLIGENT_TIERING, "throughput_step_mb_s")
        bought = max(recorded.throughput_mb_s or 0, math.ceil(need.throughput_bytes_per_s / (step * 1e6)) * step)
        return _with_cache(plan, options, replace(recorded, efa=efa, throughput_mb_s=bought), catalog)
    tier = options.throughput or recorded.ssd_tier
    row = query.ssd_tiers(catalog, efa)[tier]
    if options.capacity is not None:
        return LustreSize(round(options.capacity / GIB), row.name, tier, efa)
    wanted = row.allowed_bytes(max(needed_bytes(need, row), recorded.capacity_gib * GIB)) or 0
    return LustreSize(max(recorded.capacity_gib, wanted // GIB), row.name, tier, efa)


def _ssd(plan: SizingPlan, options: LustreOptions, efa: bool, clients: LustreClients, catalog: Catalog) -> list[LustreSize]:
    """One size per tier, slowest first: the spec's capacity where it is sold with that network, else the smallest one."""
    found = list[LustreSize]()
    for tier, row in query.ssd_tiers(catalog, efa).items():
        if options.throughput in (None, tier):
            size = options.capacity or row.allowed_bytes(_delivering_bytes(plan.storage, row, clients))
            if size and (options.capacity is None or options.efa is not None or not efa or not size % (row.step_bytes or 1)):
                found.append(LustreSize(round(size / GIB), row.name, tier, efa))
    return found


def _delivering_bytes(need: StorageNeed, tier: Volume, clients: LustreClients) -> float:
    """As `needed_bytes`, with servers for all of the throughput that the network of the clients can take."""
    reachable = min(need.throughput_bytes_per_s, clients.total_bytes_per_s)
    servers = servers_needed(reachable, clients)
    return max(needed_bytes(replace(need, throughput_bytes_per_s=reachable), tier), (servers - 1) * (tier.server_bytes or 0) + 1)


def usd_per_month(size: LustreSize, catalog: Catalog) -> float:
    """US dollars per month of an SSD tier, or of the throughput of a tiered file system, in which two differ; infinite without a price."""
    if not size.ssd_tier:
        fee = next((fee.usd for fee in catalog.fees if fee.name == "fsx-lustre-tiered-throughput"), math.inf)
        return (size.throughput_mb_s or 0) * fee
    price = catalog.volume(size.volume).price_usd_per_byte_month
    return math.inf if price is None else size.capacity_gib * GIB * price


def _tiered(plan: SizingPlan, options: LustreOptions, efa: bool, clients: LustreClients, catalog: Catalog) -> list[LustreSize]:
    """Capacity grows by itself; servers are bought for the throughput, and a cache for the dataset, which is read repeatedly."""
    need, step = plan.storage, catalog.storage_limit(INTELLIGENT_TIERING, "throughput_step_mb_s")
    reachable = min(need.throughput_bytes_per_s, clients.total_bytes_per_s)
    servers = max(1, math.ceil(reachable / (step * 1e6)), servers_needed(reachable, clients))
    return [_with_cache(plan, options, LustreSize(0, INTELLIGENT_TIERING, efa=efa, throughput_mb_s=servers * step), catalog)]


def _with_cache(plan: SizingPlan, options: LustreOptions, size: LustreSize, catalog: Catalog) -> LustreSize:
    """A tiered file system with its expected capacity, and a cache for the dataset in the range of its servers."""
    step, low, high = (
        catalog.storage_limit(INTELLIGENT_TIERING, limit) for limit in ("throughput_step_mb_s", "min_cache_gib", "max_cache_gib")
    )
    servers = (size.throughput_mb_s or 0) // step
    capacity = plan.storage.capacity_bytes if options.capacity is None else options.capacity
    cache_gib = min(max(math.ceil(plan.facts.dataset_bytes / GIB), servers * low), servers * high)
    return replace(size, capacity_gib=math.ceil(capacity / GIB), cache_gib=cache_gib)


def storage_note(kind: NoteKind, need: StorageNeed) -> Note:
    return Note(kind, {"gb_per_s": need.throughput_bytes_per_s / 1e9, "gb": need.capacity_bytes / 1e9})


def planned_file_system(
    spec: Spec,
    plan: SizingPlan,
    candidate: Candidate,
    machine: Machine,
    catalog: Catalog,
    otherwise: Callable[[], FileSystem | None],
    recorded: LustreSize | None = None,
) -> FileSystem | None:
    """What the StackPlan of a training run will contain, for display. otherwise: a recommendation where this release builds none.
    recorded: the file system of a running stack."""
    need, kind = plan.storage, blueprint_kind(spec, candidate)
    if kind == "tpu-pod":
        return None
    if kind == "box" and (disk := profile(candidate.cloud).disk_volumes.get(machine.boot_disk)):
        return _planned_data_disk(need, catalog.volume(disk), machine, catalog)
    if kind == "training-cluster" and profile(candidate.cloud).lustre_service:
        size = lustre_size(spec, plan, candidate, machine, catalog, recorded)
        if size is None:
            return None
        return _planned_lustre(plan, size, lustre_clients_of(spec, candidate, machine, size.efa, catalog), catalog)
    return otherwise()


def _planned_data_disk(need: StorageNeed, disk: Volume, machine: Machine, catalog: Catalog) -> FileSystem:
    """The data disk of a box. Its rate is chosen and billed for gp3 only; others have that of their size and machine, None here."""
    size_gib, rate_mib_s = data_disk_size(need, catalog, machine)
    price, is_rated = disk.price_usd_per_byte_month, disk.name == "ebs-gp3"
    usd = None if price is None else size_gib * GIB * price + (_disk_rate_usd(rate_mib_s, catalog) if is_rated else 0.0)
    limit = Note(NoteKind.DISK_LIMIT, {"gb_per_s": rate_mib_s * MIB / 1e9})
    slow = (limit,) if is_rated and rate_mib_s * MIB < need.throughput_bytes_per_s else ()
    rate = rate_mib_s * MIB if is_rated else None
    return FileSystem(disk.name, size_gib * GIB, rate, usd, basis=(storage_note(NoteKind.DATA_DISK, need), *slow))


def _planned_lustre(plan: SizingPlan, size: LustreSize, clients: LustreClients, catalog: Catalog) -> FileSystem:
    """A file system with what it delivers to the nodes, and the time that this takes."""
    volume = catalog.volume(size.volume)
    price = volume.price_usd_per_byte_month if size.ssd_tier else None
    found = delivered(size, clients, catalog)
    return FileSystem(
        size.volume,
        size.capacity_gib * GIB,
        found.tier_bytes_per_s,
        None if price is None else size.capacity_gib * GIB * price,
        basis=(storage_note(NoteKind.SHARED_FILE_SYSTEM, plan.storage),),
        client_bytes_per_s=clients.bytes_per_s,
        client_interface=clients.interface,
        delivered_bytes_per_s=found.bytes_per_s,
        limit=found.note,
        checkpoint_s=plan.facts.checkpoint_bytes / found.bytes_per_s,
        weights_s=plan.facts.weights_bytes / found.bytes_per_s,
        price_is_illustrative=volume.price_is_illustrative,
    )
