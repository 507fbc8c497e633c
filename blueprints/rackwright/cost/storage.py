"""Storage cost: shared file system, disks with their additional IOPS and throughput, buckets by usage."""

from collections import Counter
from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.clouds import profile
from rackwright.cost.bill_line import BillLine, UnitPrice, by_use, monthly
from rackwright.cost.node_counts import billed_nodes
from rackwright.cost.prices import fee_price, volume_price
from rackwright.sizing.plan import Fit
from rackwright.spec.spec import Spec
from rackwright.spec.workload import TRAINING, Batch
from rackwright.stackplan import DiskPlan, LustrePlan, PlacePlan, StackPlan, machine_layer
from rackwright.units import GIB


def lines(stack: StackPlan, fit: Fit, spec: Spec, catalog: Catalog, hours: float) -> Iterator[BillLine]:
    base, machines = "base" in stack.layers, machine_layer(stack) in stack.layers
    if stack.lustre and base:
        yield from (_tiered if stack.lustre.kind == "tiered" else _ssd)(stack.lustre, stack.place, catalog, hours)
    if stack.box and machines:
        yield from _disk("root disk", stack.box.root, 1, stack.place, catalog, hours)
        yield from _disk("data disk", stack.box.data, 1, stack.place, catalog, hours) if stack.box.data else ()
    for pool in stack.pools if machines else ():
        if nodes := billed_nodes(stack, pool, fit):
            yield from _disk(f"disks of {pool.name}", pool.disk, nodes, stack.place, catalog, hours)
    for release in stack.releases if "operators" in stack.layers else ():
        for disk, count in Counter(release.claims).items():
            yield from _disk(f"disk of {release.name}", disk, count, stack.place, catalog, hours)
    if base:
        yield from _buckets(stack, spec, catalog, hours)


def _ssd(plan: LustrePlan, place: PlacePlan, catalog: Catalog, hours: float) -> Iterator[BillLine]:
    what = f"Lustre file system, {plan.throughput_mb_s_per_tib} MB/s per TiB"
    yield monthly(what, plan.capacity_gib, "GiB", volume_price(catalog, plan.volume, place), hours)
    if plan.backup_days and not (plan.imports or plan.exports):
        yield by_use("backups of the file system", "GiB", fee_price(catalog, "fsx-lustre-backup", place, "GiB-month"))


def _tiered(plan: LustrePlan, place: PlacePlan, catalog: Catalog, hours: float) -> Iterator[BillLine]:
    """Tiered file system with all data in the most expensive tier, and the provisioned servers, cache and metadata."""
    what = "Lustre file system in tiers"
    yield monthly(f"{what}: data", plan.capacity_gib, "GiB", volume_price(catalog, plan.volume, place), hours)
    for part, fee, count, unit in (
        ("throughput", "tiered-throughput", plan.throughput_mb_s, "MB/s"),
        ("cache", "tiered-cache", plan.cache_gib, "GiB"),
        ("metadata", "metadata-iops", plan.metadata_iops, "IOPS"),
    ):
        yield monthly(f"{what}: {part}", count or 0, unit, fee_price(catalog, f"fsx-lustre-{fee}", place, f"{unit}-month"), hours)
    yield by_use(f"{what}: requests", "request", UnitPrice(None, "request"))


def _disk(what: str, disk: DiskPlan, count: int, place: PlacePlan, catalog: Catalog, hours: float) -> Iterator[BillLine]:
    cloud = profile(place.cloud)
    volume = cloud.disk_volumes[disk.kind]
    yield monthly(what, disk.size_gib * count, "GiB", volume_price(catalog, volume, place), hours)
    if "disk_iops" not in cloud.fees:
        return
    more_iops = max(0, (disk.iops or 0) - catalog.storage_limit(volume, "included_iops")) * count
    more_mib_s = max(0, (disk.throughput_mib_s or 0) - catalog.storage_limit(volume, "included_mib_s")) * count
    if more_iops:
        yield monthly(f"{what}: IOPS", more_iops, "IOPS", fee_price(catalog, cloud.fees["disk_iops"], place, "IOPS-month"), hours)
    if more_mib_s:
        yield monthly(
            f"{what}: throughput", more_mib_s, "MiB/s", fee_price(catalog, cloud.fees["disk_throughput"], place, "MiB/s-month"), hours
        )


def _buckets(stack: StackPlan, spec: Spec, catalog: Catalog, hours: float) -> Iterator[BillLine]:
    """New buckets, by the size in the spec, by the expected content, or by usage."""
    workload, sizes = spec.workload, dict[str, float | None]()
    if isinstance(workload, (*TRAINING, Batch)):
        sizes["data"] = workload.data.size
    for index, each in enumerate(spec.workloads):
        sizes[f"weights-{each.name}" if index else "weights"] = each.model.weights.size if each.model.weights else None
    price = volume_price(catalog, profile(stack.place.cloud).object_volume, stack.place)
    for bucket in stack.buckets:
        if bucket.existing_name:
            continue
        size = sizes.get(bucket.key)
        gib = round(size / GIB, 1) if size else bucket.expected_gib
        what = f"bucket {bucket.key}"
        yield monthly(what, gib, "GiB", price, hours) if gib else by_use(what, "GiB", price)
