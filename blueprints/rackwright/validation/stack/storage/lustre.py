"""FSx for Lustre: sizes, throughputs, location and linked buckets; what any Lustre file system delivers."""

from collections.abc import Iterator

from rackwright.catalog.query import INTELLIGENT_TIERING, is_offered, ssd_tiers
from rackwright.catalog.read import Catalog
from rackwright.clouds import FSX, profile
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.sizing.node.lustre_throughput import LustreTerm, LustreThroughput, lustre_clients, lustre_throughput
from rackwright.stackplan import LustrePlan, StackPlan
from rackwright.units import GIB
from rackwright.validation.stack.registry import accelerators, catalog_rule, machines, rule
from rackwright.wording.notes import note_text

GUIDE = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/"
AT = At() / "lustre"
TOLERANCE = 0.99
"""Share of the needed throughput that counts as enough: sizes are rounded to GiB."""


def _created(plan: StackPlan, kind: str) -> LustrePlan | None:
    """The file system of FSx for Lustre that this stack creates, if it is of that kind."""
    lustre, service = plan.lustre, profile(plan.place.cloud).lustre_service
    return lustre if lustre and lustre.kind == kind and service == FSX and not lustre.existing_id else None


@catalog_rule("V-49", Level.ERROR, GUIDE + "ssd-storage.html", invariant=True)
def lustre_tier_exists(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Persistent SSD file systems of FSx for Lustre have 125, 250, 500 or 1,000 MB/s per TiB."""
    lustre, tiered = _created(plan, "ssd"), _created(plan, "tiered")
    if tiered and tiered.volume != INTELLIGENT_TIERING:
        yield _other_volume(tiered, INTELLIGENT_TIERING)
    rows = ssd_tiers(catalog, lustre.rdma) if lustre else {}
    tiers = tuple(rows)
    if lustre and lustre.throughput_mb_s_per_tib in rows and lustre.volume != rows[lustre.throughput_mb_s_per_tib].name:
        yield _other_volume(lustre, rows[lustre.throughput_mb_s_per_tib].name)
    if lustre and lustre.throughput_mb_s_per_tib not in tiers:
        sold = ", ".join(map(str, tiers))
        message = f"FSx for Lustre has no SSD tier of {lustre.throughput_mb_s_per_tib} MB/s per TiB; the tiers are {sold}"
        yield Violation(AT / "throughput_mb_s_per_tib", _set_to(*_nearest(lustre.throughput_mb_s_per_tib, tiers)), message)


@catalog_rule("V-50", Level.ERROR, GUIDE + "managing-storage-capacity.html")
def lustre_size_exists(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """SSD file systems of FSx for Lustre have 1,200 GiB, 2,400 GiB or a multiple of 2,400 GiB."""
    lustre = _created(plan, "ssd")
    if lustre is None or lustre.rdma:
        return
    tier = next(iter(ssd_tiers(catalog).values()))
    size, smallest, step = lustre.capacity_gib, (tier.min_bytes or 0) // GIB, (tier.step_bytes or 0) // GIB
    if size != smallest and (size <= 0 or size % step):
        sold = (smallest, size // step * step, (size // step + 1) * step)
        message = f"A Lustre file system cannot have {size} GiB; sizes are {smallest} and multiples of {step} GiB"
        yield Violation(AT / "capacity_gib", _set_to(*_nearest(size, sold)), message)


@catalog_rule("V-51", Level.ERROR, GUIDE + "efa-file-systems.html")
def lustre_efa_requirements(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """EFA file systems require EFA clients (AL2023 on Nitro v4 or newer, not Trainium2) and grow in steps of one server."""
    if plan.lustre is None or not plan.lustre.rdma:
        return
    if not any(pool.lustre_interfaces for _, pool in accelerators(plan)):
        message = "The file system uses EFA, but no pool has machines and images that read Lustre over EFA"
        yield Violation(AT / "rdma", "set it to false", message)
    tier = ssd_tiers(catalog, rdma=True).get(plan.lustre.throughput_mb_s_per_tib)
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


@catalog_rule("V-53", Level.ERROR, GUIDE + "fsx-data-repositories.html", invariant=True)
def lustre_bucket_links(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """SSD file systems link at most 8 buckets, each once and at a different path; Intelligent-Tiering file systems link none."""
    lustre = plan.lustre
    if lustre is None:
        return
    links = [(At() / "lustre" / field / i, *link) for field in ("imports", "exports") for i, link in enumerate(getattr(lustre, field))]
    most = catalog.storage_limit("fsx-lustre", "linked_buckets")
    known = {bucket.key for bucket in plan.buckets}
    for number, (at, path, key) in enumerate(links):
        if lustre.kind == "tiered":
            yield Violation(at, "remove the link and copy the data", "Intelligent-Tiering file systems cannot link buckets")
        elif number >= most:
            yield Violation(at, f"remove links beyond {most}", f"This is link {number + 1}; the limit is {most}")
        elif key not in known:
            yield Violation(at, f"use one of {', '.join(sorted(known))}", f"The linked bucket {key!r} is not a bucket of the stack")
        elif any(path == other or key == same for _, other, same in links[:number]):
            yield Violation(at, "remove one of the two links", f"Path {path} or bucket {key} is already linked")


@catalog_rule("V-54", Level.ERROR, GUIDE + "managing-throughput-capacity.html")
def tiered_lustre_size_exists(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Intelligent-Tiering file systems have a multiple of 4,000 MB/s up to 2,000,000, 32 to 131,072 GiB of cache per 4,000 MB/s, and
    6,000 or 12,000 metadata IOPS."""
    lustre = _created(plan, "tiered")
    if lustre is None:
        return
    step, highest, min_cache, max_cache = (
        catalog.storage_limit(INTELLIGENT_TIERING, limit)
        for limit in ("throughput_step_mb_s", "max_throughput_mb_s", "min_cache_gib", "max_cache_gib")
    )
    rate, offered_iops = lustre.throughput_mb_s or 0, catalog.storage_values(INTELLIGENT_TIERING, "metadata_iops")
    servers = rate // step
    if not 0 < rate <= highest or rate % step:
        sold = tuple(min(n * step, highest) for n in (servers, servers + 1))
        message = f"A throughput of {rate:,} MB/s is not a multiple of {step:,} up to {highest:,} MB/s"
        yield Violation(AT / "throughput_mb_s", _set_to(*_nearest(rate, sold)), message)
    elif lustre.cache_gib and not servers * min_cache <= lustre.cache_gib <= servers * max_cache:
        low, high = servers * min_cache, servers * max_cache
        message = f"A cache of {lustre.cache_gib} GiB is outside {low} to {high} GiB, the range at {rate:,} MB/s"
        yield Violation(AT / "cache_gib", f"set it to {low} to {high}", message)
    if lustre.metadata_iops not in offered_iops:
        choices = " or ".join(f"{iops:,}" for iops in offered_iops)
        found = "not set" if lustre.metadata_iops is None else lustre.metadata_iops
        message = f"metadata_iops is {found}; Intelligent-Tiering requires {choices}"
        yield Violation(AT / "metadata_iops", _set_to(*offered_iops), message)


@catalog_rule("V-120", Level.WARNING, GUIDE + "performance.html#throughput-clients")
def lustre_delivers_what_the_run_needs(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """A Lustre file system should deliver the throughput that the run needs: the least of its tier, its clients and its servers."""
    found, lustre = delivered_throughput(plan, catalog), plan.lustre
    if found is None or lustre is None or not lustre.required_mb_s or found.bytes_per_s >= lustre.required_mb_s * TOLERANCE * 1e6:
        return
    times = lustre.required_mb_s * 1e6 / found.bytes_per_s
    need = f"The run needs {lustre.required_mb_s / 1000:,.1f} GB/s of its file system"
    message = f"{need}, which delivers {note_text(found.note)}. Checkpoints and data take {times:,.1f} times as long"
    over_efa = any(machine.lustre_interfaces for _, _, machine in machines(plan, catalog))
    if found.term is LustreTerm.TIER:
        yield Violation(AT, "choose a larger capacity or throughput", message)
    elif not lustre.rdma and over_efa:
        yield Violation(AT / "rdma", "set it to true with an AL2023 image; a running file system is replaced by a new one", message)
    else:
        yield Violation(AT, "use more machines, or an instance type and image that read Lustre over EFA", message)


@catalog_rule("V-121", Level.WARNING, GUIDE + "using-fsx-lustre.html")
def lustre_tier_is_offered_in_the_region(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """FSx for Lustre offers the throughput tier, with EFA where it is used, in the region of the stack."""
    lustre, region = plan.lustre, plan.place.region
    tier = catalog.volume_by_name.get(lustre.volume) if lustre and lustre == _created(plan, lustre.kind) else None
    if lustre is None or tier is None or is_offered(tier, region):
        return
    others = [row for row in (*ssd_tiers(catalog).values(), *ssd_tiers(catalog, rdma=True).values()) if is_offered(row, region)]
    fix = f"use one of {', '.join(row.tier for row in others)}" if others else "use another region, or set blueprint.storage to none"
    yield Violation(AT / "throughput_mb_s_per_tib", fix, f"FSx for Lustre does not list {tier.tier} in {region}")


def delivered_throughput(plan: StackPlan, catalog: Catalog) -> LustreThroughput | None:
    """What the file system that this stack creates delivers to its first accelerator pool; None without one of known clients."""
    lustre = plan.lustre
    pool, machine = next(((pool, machine) for _, pool, machine in machines(plan, catalog)), (None, None))
    if lustre is None or lustre.clients is None or pool is None or machine is None or lustre.existing_id:
        return None
    if lustre.volume not in catalog.volume_by_name:
        return None
    clients = lustre_clients(machine, lustre.clients, pool.lustre_interfaces, catalog)
    throughput = lustre.throughput_mb_s if lustre.kind == "tiered" else None
    found = lustre_throughput(catalog.volume(lustre.volume), lustre.capacity_gib, throughput, clients, catalog)
    return found if found.bytes_per_s > 0 else None


def _other_volume(lustre: LustrePlan, volume: str) -> Violation:
    """A tier whose name in the catalog is not the one of its kind, throughput and network: its price and limits would be wrong."""
    return Violation(AT / "volume", f"set it to {volume}", f"The tier is {lustre.volume!r}, but these settings are {volume}")


def _nearest(value: int, sold: tuple[int, ...]) -> tuple[int, ...]:
    """The nearest values that are sold: at most one below and one above."""
    below, above = [n for n in sold if 0 < n <= value], [n for n in sold if n > value]
    return (*sorted(below)[-1:], *sorted(above)[:1])


def _set_to(*values: int) -> str:
    return f"set it to {' or '.join(map(str, values))}"
