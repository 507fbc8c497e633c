"""FSx for Lustre: sizes, throughputs, location and linked buckets."""

from collections.abc import Iterator

from rackwright.catalog.query import ssd_tiers
from rackwright.catalog.read import Catalog
from rackwright.catalog.storage_limits import CACHE_MAX_GIB, CACHE_MIN_GIB, TIERED_METADATA_IOPS, TIERED_STEP_MB_S
from rackwright.clouds import FSX, profile
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import LustrePlan, StackPlan
from rackwright.units import GIB
from rackwright.validation.stack.registry import accelerators, rule

GUIDE = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/"
AT = At() / "lustre"
STEP_GIB = 2400
TIERED_MAX_MB_S = 2_000_000
LINKS_MAX = 8


def _created(plan: StackPlan, kind: str) -> LustrePlan | None:
    """The file system of FSx for Lustre that this stack creates, if it is of that kind."""
    lustre, service = plan.lustre, profile(plan.place.cloud).lustre_service
    return lustre if lustre and lustre.kind == kind and service == FSX and not lustre.existing_id else None


@rule("V-49", Level.ERROR, GUIDE + "ssd-storage.html", invariant=True)
def lustre_tier_exists(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Persistent SSD file systems of FSx for Lustre have 125, 250, 500 or 1,000 MB/s per TiB."""
    lustre = _created(plan, "ssd")
    tiers = tuple(ssd_tiers(catalog))
    if lustre and lustre.throughput_mb_s_per_tib not in tiers:
        sold = ", ".join(map(str, tiers))
        message = f"FSx for Lustre has no SSD tier of {lustre.throughput_mb_s_per_tib} MB/s per TiB; the tiers are {sold}"
        yield Violation(AT / "throughput_mb_s_per_tib", _set_to(*_nearest(lustre.throughput_mb_s_per_tib, tiers)), message)


@rule("V-50", Level.ERROR, GUIDE + "managing-storage-capacity.html")
def lustre_size_exists(plan: StackPlan) -> Iterator[Violation]:
    """SSD file systems of FSx for Lustre have 1,200 GiB, 2,400 GiB or a multiple of 2,400 GiB."""
    lustre = _created(plan, "ssd")
    if lustre is None or lustre.rdma:
        return
    size = lustre.capacity_gib
    if size != STEP_GIB // 2 and (size <= 0 or size % STEP_GIB):
        sold = (STEP_GIB // 2, size // STEP_GIB * STEP_GIB, (size // STEP_GIB + 1) * STEP_GIB)
        message = f"A Lustre file system cannot have {size} GiB; sizes are {STEP_GIB // 2} and multiples of {STEP_GIB} GiB"
        yield Violation(AT / "capacity_gib", _set_to(*_nearest(size, sold)), message)


@rule("V-51", Level.ERROR, GUIDE + "efa-file-systems.html")
def lustre_efa_requirements(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """EFA file systems require EFA clients (AL2023 on Nitro v4 or newer, not Trainium2) and grow in steps of one server."""
    if plan.lustre is None or not plan.lustre.rdma:
        return
    if not any(pool.lustre_interfaces for _, pool in accelerators(plan)):
        message = "The file system uses EFA, but no pool has machines and images that read Lustre over EFA"
        yield Violation(AT / "rdma", "set it to false", message)
    tier = catalog.volume_by_name.get(f"fsx-lustre-persistent2-{plan.lustre.throughput_mb_s_per_tib}-efa")
    step = (tier.step_bytes or 0) // GIB if tier else 0
    size = plan.lustre.capacity_gib
    if _created(plan, "ssd") and step and (size <= 0 or size % step):
        message = f"The EFA file system has {size} GiB, which is not a multiple of {step} GiB"
        yield Violation(AT / "capacity_gib", _set_to(*_nearest(size, (size // step * step, (size // step + 1) * step))), message)


@rule("V-52", Level.ERROR, GUIDE + "performance.html", invariant=True)
def lustre_is_in_the_pool_zone(plan: StackPlan) -> Iterator[Violation]:
    """The file system is in the zone of the accelerator pools; reads across zones are slower and cost data transfer."""
    for at, pool in accelerators(plan):
        if plan.lustre and plan.lustre.zone not in pool.zones:
            message = f"The file system is in {plan.lustre.zone}, but {at} is in {', '.join(pool.zones)}"
            yield Violation(AT / "zone", f"set it to {pool.zones[0]}", message)


@rule("V-53", Level.ERROR, GUIDE + "fsx-data-repositories.html", invariant=True)
def lustre_bucket_links(plan: StackPlan) -> Iterator[Violation]:
    """SSD file systems link at most 8 buckets, each once and at a different path; Intelligent-Tiering file systems link none."""
    lustre = plan.lustre
    if lustre is None:
        return
    links = [(At() / "lustre" / field / i, *link) for field in ("imports", "exports") for i, link in enumerate(getattr(lustre, field))]
    known = {bucket.key for bucket in plan.buckets}
    for number, (at, path, key) in enumerate(links):
        if lustre.kind == "tiered":
            yield Violation(at, "remove the link and copy the data", "Intelligent-Tiering file systems cannot link buckets")
        elif number >= LINKS_MAX:
            yield Violation(at, f"remove links beyond {LINKS_MAX}", f"This is link {number + 1}; the limit is {LINKS_MAX}")
        elif key not in known:
            yield Violation(at, f"use one of {', '.join(sorted(known))}", f"The linked bucket {key!r} is not a bucket of the stack")
        elif any(path == other or key == same for _, other, same in links[:number]):
            yield Violation(at, "remove one of the two links", f"Path {path} or bucket {key} is already linked")


@rule("V-54", Level.ERROR, GUIDE + "managing-throughput-capacity.html")
def tiered_lustre_size_exists(plan: StackPlan) -> Iterator[Violation]:
    """Intelligent-Tiering file systems have a multiple of 4,000 MB/s up to 2,000,000, 32 to 131,072 GiB of cache per 4,000 MB/s, and
    6,000 or 12,000 metadata IOPS."""
    lustre = _created(plan, "tiered")
    if lustre is None:
        return
    rate = lustre.throughput_mb_s or 0
    servers = rate // TIERED_STEP_MB_S
    if not 0 < rate <= TIERED_MAX_MB_S or rate % TIERED_STEP_MB_S:
        sold = tuple(min(n * TIERED_STEP_MB_S, TIERED_MAX_MB_S) for n in (servers, servers + 1))
        message = f"A throughput of {rate:,} MB/s is not a multiple of {TIERED_STEP_MB_S:,} up to {TIERED_MAX_MB_S:,} MB/s"
        yield Violation(AT / "throughput_mb_s", _set_to(*_nearest(rate, sold)), message)
    elif lustre.cache_gib and not servers * CACHE_MIN_GIB <= lustre.cache_gib <= servers * CACHE_MAX_GIB:
        low, high = servers * CACHE_MIN_GIB, servers * CACHE_MAX_GIB
        message = f"A cache of {lustre.cache_gib} GiB is outside {low} to {high} GiB, the range at {rate:,} MB/s"
        yield Violation(AT / "cache_gib", f"set it to {low} to {high}", message)
    if lustre.metadata_iops not in TIERED_METADATA_IOPS:
        choices = " or ".join(f"{iops:,}" for iops in TIERED_METADATA_IOPS)
        found = "not set" if lustre.metadata_iops is None else lustre.metadata_iops
        message = f"metadata_iops is {found}; Intelligent-Tiering requires {choices}"
        yield Violation(AT / "metadata_iops", _set_to(*TIERED_METADATA_IOPS), message)


def _nearest(value: int, sold: tuple[int, ...]) -> tuple[int, ...]:
    """The nearest values that are sold: at most one below and one above."""
    below, above = [n for n in sold if 0 < n <= value], [n for n in sold if n > value]
    return (*sorted(below)[-1:], *sorted(above)[:1])


def _set_to(*values: int) -> str:
    return f"set it to {' or '.join(map(str, values))}"
