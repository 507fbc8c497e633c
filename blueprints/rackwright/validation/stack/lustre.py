"""FSx for Lustre: sizes and speeds that are sold, where it lies, what it may be linked to."""

from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.clouds import AWS
from rackwright.compile.storage.lustre import CACHE_LEAST_GIB, CACHE_MOST_GIB, SSD_TIERS, TIERED_METADATA_IOPS, TIERED_STEP_MB_S
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import LustrePlan, StackPlan
from rackwright.units import GIB
from rackwright.validation.stack.registry import accelerators, rule

GUIDE = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/"
AT = At() / "lustre"
STEP_GIB = 2400
TIERED_MOST_MB_S = 2_000_000
MOST_LINKS = 8


def _ours(plan: StackPlan, kind: str) -> LustrePlan | None:
    """The file system, where it is made on AWS and of that kind."""
    want = plan.lustre
    return want if want and want.kind == kind and plan.place.cloud == AWS.name and not want.existing_id else None


@rule("V-49", Level.ERROR, GUIDE + "ssd-storage.html", invariant=True)
def lustre_tier_is_sold(plan: StackPlan) -> Iterator[Violation]:
    """A persistent Lustre file system on SSD comes with 125, 250, 500 or 1,000 MB/s per TiB."""
    want = _ours(plan, "ssd")
    if want and want.throughput_mb_s_per_tib not in SSD_TIERS:
        fix = _take(*_around(want.throughput_mb_s_per_tib, SSD_TIERS))
        yield Violation(AT / "throughput_mb_s_per_tib", fix, detail=f"got {want.throughput_mb_s_per_tib}")


@rule("V-50", Level.ERROR, GUIDE + "managing-storage-capacity.html")
def lustre_size_is_sold(plan: StackPlan) -> Iterator[Violation]:
    """A Lustre file system on SSD has 1,200 GiB, 2,400 GiB or a multiple of 2,400 GiB."""
    want = _ours(plan, "ssd")
    if want is None or want.rdma:
        return
    size = want.capacity_gib
    if size != STEP_GIB // 2 and (size <= 0 or size % STEP_GIB):
        sold = (STEP_GIB // 2, size // STEP_GIB * STEP_GIB, (size // STEP_GIB + 1) * STEP_GIB)
        yield Violation(AT / "capacity_gib", _take(*_around(size, sold)), detail=f"got {size}")


@rule("V-51", Level.ERROR, GUIDE + "efa-file-systems.html")
def lustre_over_efa(plan: StackPlan) -> Iterator[Violation]:
    """A file system on EFA needs clients that speak it (AL2023 on Nitro v4 or newer, not Trainium2), and grows in steps of one server."""
    if plan.lustre is None or not plan.lustre.rdma:
        return
    if not any(pool.lustre_interfaces for _, pool in accelerators(plan)):
        yield Violation(AT / "rdma", "set it to false", detail="the machines of no pool do")
    tier = Catalog.default().volume_by_name.get(f"fsx-lustre-persistent2-{plan.lustre.throughput_mb_s_per_tib}-efa")
    step = (tier.step_bytes or 0) // GIB if tier else 0
    size = plan.lustre.capacity_gib
    if _ours(plan, "ssd") and step and (size <= 0 or size % step):
        fix = _take(*_around(size, (size // step * step, (size // step + 1) * step)))
        yield Violation(AT / "capacity_gib", fix, detail=f"{size} GiB is no multiple of {step}")


@rule("V-52", Level.ERROR, GUIDE + "performance.html", invariant=True)
def lustre_is_where_the_machines_are(plan: StackPlan) -> Iterator[Violation]:
    """The file system is in the accelerators' zone; crossing zones costs money and time on every read."""
    for at, pool in accelerators(plan):
        if plan.lustre and plan.lustre.zone not in pool.zones:
            yield Violation(AT / "zone", f"use {pool.zones[0]}", detail=f"{plan.lustre.zone}, while {at} is in {', '.join(pool.zones)}")


@rule("V-53", Level.ERROR, GUIDE + "fsx-data-repositories.html", invariant=True)
def lustre_is_linked_as_it_can_be(plan: StackPlan) -> Iterator[Violation]:
    """A file system on SSD is linked to at most 8 buckets, each at a path of its own; one of Intelligent-Tiering to none."""
    want = plan.lustre
    if want is None:
        return
    links = [(At() / "lustre" / field / i, *link) for field in ("imports", "exports") for i, link in enumerate(getattr(want, field))]
    known = {bucket.key for bucket in plan.buckets}
    for number, (at, path, key) in enumerate(links):
        if want.kind == "tiered":
            yield Violation(at, "leave it out, and copy what is needed", detail="it follows use in tiers")
        elif number >= MOST_LINKS:
            yield Violation(at, f"leave out all but {MOST_LINKS}", detail=f"this is number {number + 1}")
        elif key not in known:
            yield Violation(at, f"one of {', '.join(sorted(known))}", detail=f"there is no bucket {key}")
        elif any(path == other or key == same for _, other, same in links[:number]):
            yield Violation(at, "leave one of the two out", detail=f"{path} or {key} is linked already")


@rule("V-54", Level.ERROR, GUIDE + "managing-throughput-capacity.html")
def tiered_lustre_is_sold(plan: StackPlan) -> Iterator[Violation]:
    """A file system of Intelligent-Tiering has a multiple of 4,000 MB/s, 2,000,000 at most, 32 to 131,072 GiB of cache for each,
    and 6,000 or 12,000 metadata IOPS."""
    want = _ours(plan, "tiered")
    if want is None:
        return
    asked = want.throughput_mb_s or 0
    servers = asked // TIERED_STEP_MB_S
    if not 0 < asked <= TIERED_MOST_MB_S or asked % TIERED_STEP_MB_S:
        sold = tuple(min(n * TIERED_STEP_MB_S, TIERED_MOST_MB_S) for n in (servers, servers + 1))
        yield Violation(AT / "throughput_mb_s", _take(*_around(asked, sold)), detail=f"got {asked}")
    elif want.cache_gib and not servers * CACHE_LEAST_GIB <= want.cache_gib <= servers * CACHE_MOST_GIB:
        fix = f"between {servers * CACHE_LEAST_GIB} and {servers * CACHE_MOST_GIB}"
        yield Violation(AT / "cache_gib", fix, detail=f"got {want.cache_gib} at {asked} MB/s")
    if want.metadata_iops not in TIERED_METADATA_IOPS:
        yield Violation(AT / "metadata_iops", _take(*TIERED_METADATA_IOPS), detail=f"got {want.metadata_iops}")


def _around(got: int, sold: tuple[int, ...]) -> tuple[int, ...]:
    """The nearest that are sold: one below and one above, where there are any."""
    below, above = [n for n in sold if 0 < n <= got], [n for n in sold if n > got]
    return (*sorted(below)[-1:], *sorted(above)[:1])


def _take(*values: int) -> str:
    return f"take {' or '.join(map(str, values))}"
