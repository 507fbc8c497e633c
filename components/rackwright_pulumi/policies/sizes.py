"""Numbers that AWS accepts only in steps or ranges: volumes, file systems, retention days, node group sizes."""

from collections.abc import Iterator

from rackwright.catalog.query import INTELLIGENT_TIERING, tier_bytes_per_s
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Volume
from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import LUSTRE, NODE_GROUP, GraphView
from rackwright_pulumi.policies.launch_templates import disks, gp3_limit
from rackwright_pulumi.policies.registry import rule, violation

MIB, GIB, TIB = 2**20, 2**30, 2**40
GP3_UNITS = {"volumeSize": "GiB", "size": "GiB", "iops": "IOPS", "throughput": "MiB/s"}
RETENTION_DAYS = (
    *(0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731),
    *(1096, 1827, 2192, 2557, 2922, 3288, 3653),
)
"""0 keeps logs for ever: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html"""
DELETION_DAYS = (7, 30)
"""https://docs.aws.amazon.com/kms/latest/APIReference/API_ScheduleKeyDeletion.html"""


@rule("L-09", Level.ERROR, "https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html")
def gp3_volumes_are_in_range(view: GraphView) -> Iterator[Violation]:
    """A gp3 volume has 1 to 65,536 GiB, 3,000 to 80,000 IOPS but no more than 500 per GiB, and 125 to 2,000 MiB/s."""
    ranges, included, per_gib = _gp3_ranges(), gp3_limit("included_iops"), gp3_limit("iops_per_gib")
    for node, path, disk in disks(view):
        if "gp3" not in (disk.get("volumeType"), disk.get("type")):
            continue
        for key, (minimum, maximum) in ranges.items():
            value = disk.get(key)
            if value is not None and not minimum <= value <= maximum:
                message = f"{value:,} {GP3_UNITS[key]} is outside {minimum:,} to {maximum:,}, the range of gp3"
                yield violation(node, (*path, key), message, f"set it to {min(max(value, minimum), maximum)}")
        gib, iops = disk.get("volumeSize") or disk.get("size"), disk.get("iops") or included
        max_iops = max(included, per_gib * gib) if gib else iops
        if iops > max_iops:
            message = f"{iops:,} IOPS exceed {max_iops:,}, the limit of {gib} GiB of gp3"
            yield violation(node, (*path, "iops"), message, f"set it to {max_iops}")


@rule("L-10", Level.ERROR, "https://docs.aws.amazon.com/fsx/latest/LustreGuide/ssd-storage.html")
def lustre_sizes_are_offered(view: GraphView) -> Iterator[Violation]:
    """A Lustre file system on SSD has 1,200 GiB or a multiple of 2,400 and an offered throughput; a tiered one has steps of 4,000 MB/s."""
    step = Catalog.default().storage_limit(INTELLIGENT_TIERING, "throughput_step_mb_s")
    for node in view.of(LUSTRE):
        inputs = view.inputs(node)
        capacity, kind = inputs.get("storageCapacity"), inputs.get("deploymentType")
        tiered, tiers = inputs.get("storageType") == "INTELLIGENT_TIERING", _ssd_tiers(str(kind))
        offered = tuple(tiers)
        rate, throughput = inputs.get("perUnitStorageThroughput"), inputs.get("throughputCapacity")
        if offered and not tiered and inputs.get("storageType") != "HDD":
            smallest, larger = ((size or 1) // GIB for size in (tiers[offered[0]].min_bytes, tiers[offered[0]].step_bytes))
            if capacity and capacity != smallest and capacity % larger:
                message = f"{capacity:,} GiB is neither {smallest:,} nor a multiple of {larger:,}"
                yield violation(node, ("storageCapacity",), message, f"set it to {-(-capacity // larger) * larger}")
            if rate not in offered:
                message = f"{'No throughput is set' if rate is None else f'{rate} MB/s per TiB is not offered'}; {kind} has"
                fix = f"set it to {min((each for each in offered if each >= (rate or 0)), default=offered[-1])}"
                yield violation(node, ("perUnitStorageThroughput",), f"{message} {', '.join(map(str, offered))}", fix)
        if tiered and (not throughput or throughput % step):
            message = f"{throughput:,} MB/s is not a multiple of {step:,}" if throughput else "No throughput is set"
            fix = f"set it to {max(1, -(-(throughput or 0) // step)) * step}"
            yield violation(node, ("throughputCapacity",), message, fix)


@rule("L-11", Level.ERROR, "https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html")
def retention_days_are_offered(view: GraphView) -> Iterator[Violation]:
    """CloudWatch keeps logs for one of the numbers of days it lists, and KMS deletes a key after 7 to 30 days."""
    for node in view.of("aws:cloudwatch/logGroup:LogGroup"):
        days = view.inputs(node).get("retentionInDays")
        if days is not None and days not in RETENTION_DAYS:
            nearest = min((each for each in RETENTION_DAYS if each >= days), default=RETENTION_DAYS[-1])
            yield violation(node, ("retentionInDays",), f"CloudWatch does not offer a retention of {days} days", f"set it to {nearest}")
    for node in view.of("aws:kms/key:Key"):
        days, (minimum, maximum) = view.inputs(node).get("deletionWindowInDays"), DELETION_DAYS
        if days is not None and not minimum <= days <= maximum:
            message = f"{days} days is outside {minimum} to {maximum}, the waiting period before a key is deleted"
            yield violation(node, ("deletionWindowInDays",), message, f"set it to {min(max(days, minimum), maximum)}")


@rule("L-12", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html")
def node_group_sizes_are_ordered(view: GraphView) -> Iterator[Violation]:
    """A node group needs 0 <= minSize <= desiredSize <= maxSize, and a maxSize of 1 or more."""
    for node in view.of(NODE_GROUP):
        scaling = view.inputs(node).get("scalingConfig") or {}
        sizes = {key: scaling[key] for key in ("minSize", "desiredSize", "maxSize") if scaling.get(key) is not None}
        values = list(sizes.values())
        if values != sorted(values) or any(size < 0 for size in values) or scaling.get("maxSize") == 0:
            near = sorted(max(size, 0) for size in values)
            found = ", ".join(f"{key} is {size}" for key, size in sizes.items())
            fix = f"use sizes such as {', '.join(map(str, [*near[:-1], max(near[-1], 1)]))}"
            yield violation(node, ("scalingConfig",), f"{found}: they must not decrease, and maxSize must be 1 or more", fix)


def _gp3_ranges() -> dict[str, tuple[int, int]]:
    """Argument -> (minimum, maximum) of gp3, in GiB, IOPS and MiB/s."""
    gp3 = Catalog.default().volume("ebs-gp3")
    gib = ((gp3.min_bytes or 0) // GIB, (gp3.max_bytes or 0) // GIB)
    iops, mib_s = (gp3_limit("included_iops"), round(gp3.max_iops or 0)), round((gp3.max_read_bytes_per_s or 0) / MIB)
    return {"volumeSize": gib, "size": gib, "iops": iops, "throughput": (gp3_limit("included_mib_s"), mib_s)}


def _ssd_tiers(kind: str) -> dict[int, Volume]:
    """MB/s per TiB -> tier of a Lustre deployment type on SSD, in rising order."""
    rows = [row for row in Catalog.default().volumes if row.tier.startswith(f"{kind} SSD") and not row.rdma]
    return dict(sorted((round(tier_bytes_per_s(row, TIB) / 1e6), row) for row in rows))
