"""The shared file system: what the spec says of it, and for the rest the cheapest that holds the data and sustains the run."""

import math

from rackwright.catalog.rows import Volume
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.nodes.machine_facts import volume_facts
from rackwright.compile.storage.lustre_clients import reads_over_efa
from rackwright.sizing.plan import StorageNeed
from rackwright.spec.blueprint import LustreOptions, LustreStorage, OwnImage
from rackwright.stackplan import BucketPlan, LustrePlan
from rackwright.stackplan.storage_limits import CACHE_MAX_GIB, CACHE_MIN_GIB, SSD_TIERS, TIERED_METADATA_IOPS, TIERED_STEP_MB_S
from rackwright.units import GIB, TIB

TCP_CLIENT_BYTES_PER_S = 12.5e9
"""What one machine takes from the file system over ENA (100 Gbit/s); more needs the file system on EFA (FSx performance guide)."""
HEADROOM = 1.2
"""A file system slows and fails when full: a fifth is left free."""
UNSAID = LustreOptions()


def lustre(context: CompileContext, zone: str, wanted: tuple[BucketPlan, ...]) -> LustrePlan | None:
    """None when the spec wants none. A size or speed that is written is taken as it is: rules say when nobody sells it."""
    chosen = context.spec.blueprint.storage
    if chosen == "none":
        return None
    said = chosen.lustre if isinstance(chosen, LustreStorage) else UNSAID
    rdma = _needs_rdma(context) if said.efa is None else said.efa
    return _tiered(context, said, zone, rdma) if said.tiering == "intelligent" else _ssd(context, said, zone, rdma, wanted)


def _needs_rdma(context: CompileContext) -> bool:
    """Where the machines can: others would pay for it and read over TCP all the same."""
    most_over_tcp = TCP_CLIENT_BYTES_PER_S * context.candidate.nodes
    image = context.spec.blueprint.nodes.image
    able = reads_over_efa(context.machine, image.family if isinstance(image, OwnImage) else image)
    return able and context.sizing.storage.throughput_bytes_per_s > most_over_tcp


def _ssd(context: CompileContext, said: LustreOptions, zone: str, rdma: bool, wanted: tuple[BucketPlan, ...]) -> LustrePlan:
    """Buckets of ours get back what is written below their folder; those that exist are only read."""
    need = context.sizing.storage
    rows = {tier: volume_facts(f"fsx-lustre-persistent2-{tier}{'-efa' if rdma else ''}") for tier in SSD_TIERS}
    tiers = SSD_TIERS if said.throughput is None else (said.throughput,)
    if said.capacity is None:
        tier, capacity_gib = _cheapest(need, {tier: rows[tier] for tier in tiers})
    else:
        capacity_gib = round(said.capacity / GIB)
        tier = next((t for t in tiers if t * 1e6 * said.capacity / TIB >= need.throughput_bytes_per_s), tiers[-1])
    return LustrePlan(
        capacity_gib,
        tier,
        zone,
        imports=tuple((f"/{b.key}", b.key) for b in wanted if b.key == "data"),
        exports=tuple((f"/{b.key}", b.key) for b in wanted if b.key == "checkpoints" and not b.existing_name),
        rdma=rdma,
    )


def _cheapest(need: StorageNeed, tiers: dict[int, Volume]) -> tuple[int, int]:
    """MB/s per TiB and GiB."""
    sizes = [(tier, *_sized(need, row)) for tier, row in tiers.items()]
    tier, capacity_bytes, _ = min(sizes, key=lambda row: row[2])
    return tier, capacity_bytes // GIB


def _sized(need: StorageNeed, tier: Volume) -> tuple[int, float]:
    """Bytes to buy of a tier and US dollars per month; infinite when the tier cannot hold it or its price is not published."""
    for_throughput = need.throughput_bytes_per_s / (tier.read_bytes_per_s_per_tib or 1) * TIB
    size = tier.allowed_bytes(max(need.capacity_bytes * HEADROOM, for_throughput))
    if size is None:
        return 0, math.inf
    price = tier.price_usd_per_byte_month
    return size, math.inf if price is None else size * price


def _tiered(context: CompileContext, said: LustreOptions, zone: str, rdma: bool) -> LustrePlan:
    """It grows by itself; what is bought is servers, and a cache that holds the dataset, which is read again and again.

    It cannot be linked to buckets: https://docs.aws.amazon.com/fsx/latest/LustreGuide/fsx-data-repositories.html
    """
    need = context.sizing.storage
    servers = max(1, math.ceil(need.throughput_bytes_per_s / (TIERED_STEP_MB_S * 1e6)))
    cache_gib = math.ceil(context.sizing.facts.dataset_bytes / GIB)
    return LustrePlan(
        capacity_gib=math.ceil((need.capacity_bytes if said.capacity is None else said.capacity) / GIB),
        throughput_mb_s_per_tib=0,
        zone=zone,
        rdma=rdma,
        backup_days=0,
        kind="tiered",
        throughput_mb_s=servers * TIERED_STEP_MB_S,
        metadata_iops=TIERED_METADATA_IOPS[0],
        cache_gib=min(max(cache_gib, servers * CACHE_MIN_GIB), servers * CACHE_MAX_GIB),
    )
