"""Numbers AWS takes only in steps or within bounds: disks, file systems, days, sizes of node groups."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import LUSTRE, NODE_GROUP, GraphView
from rackwright_pulumi.policies.launch_templates import disks
from rackwright_pulumi.policies.registry import rule, violation

GP3 = {"volumeSize": (1, 65536), "size": (1, 65536), "iops": (3000, 80000), "throughput": (125, 2000)}
"""GiB, IOPS and MiB/s: docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html"""
GP3_IOPS_PER_GIB, FREE_IOPS = 500, 3000
STEP_GIB, LEAST_GIB = 2400, 1200
THROUGHPUT = {"PERSISTENT_1": (50, 100, 200), "PERSISTENT_2": (125, 250, 500, 1000)}
"""MB/s per TiB of SSD: docs.aws.amazon.com/fsx/latest/LustreGuide/ssd-storage.html"""
TIERED_STEP_MB_S = 4000
"""docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemLustreConfiguration.html"""
RETENTION_DAYS = (
    *(0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731),
    *(1096, 1827, 2192, 2557, 2922, 3288, 3653),
)
"""0 is for ever: docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html"""
DELETION_DAYS = (7, 30)
"""docs.aws.amazon.com/kms/latest/APIReference/API_ScheduleKeyDeletion.html"""


@rule("L-09", Level.ERROR, "https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html")
def disks_have_sizes_ebs_sells(view: GraphView) -> Iterator[Violation]:
    """A gp3 disk has 64 TiB at most, 3,000 to 80,000 IOPS, 500 of them per GiB at most, and 125 to 2,000 MiB/s."""
    for node, path, disk in disks(view):
        if "gp3" not in (disk.get("volumeType"), disk.get("type")):
            continue
        for key, (least, most) in GP3.items():
            value = disk.get(key)
            if value is not None and not least <= value <= most:
                yield violation(node, (*path, key), f"set it to {min(max(value, least), most)}", f"got {value}")
        gib, iops = disk.get("volumeSize") or disk.get("size"), disk.get("iops") or FREE_IOPS
        if gib and iops > max(FREE_IOPS, GP3_IOPS_PER_GIB * gib):
            yield violation(node, (*path, "iops"), f"set it to {max(FREE_IOPS, GP3_IOPS_PER_GIB * gib)}", f"{iops} on {gib} GiB")


@rule("L-10", Level.ERROR, "https://docs.aws.amazon.com/fsx/latest/LustreGuide/ssd-storage.html")
def file_systems_have_sizes_fsx_sells(view: GraphView) -> Iterator[Violation]:
    """A Lustre file system on SSD has 1,200 GiB or a multiple of 2,400 and a throughput FSx sells; a tiered one buys it by 4,000 MB/s."""
    for node in view.of(LUSTRE):
        inputs = view.inputs(node)
        capacity, kind = inputs.get("storageCapacity"), inputs.get("deploymentType")
        tiered, allowed = inputs.get("storageType") == "INTELLIGENT_TIERING", THROUGHPUT.get(str(kind), ())
        rate, bought = inputs.get("perUnitStorageThroughput"), inputs.get("throughputCapacity")
        if allowed and not tiered and inputs.get("storageType") != "HDD":
            if capacity and capacity != LEAST_GIB and capacity % STEP_GIB:
                yield violation(node, ("storageCapacity",), f"set it to {-(-capacity // STEP_GIB) * STEP_GIB}", f"got {capacity}")
            if rate not in allowed:
                nearest = min((each for each in allowed if each >= (rate or 0)), default=allowed[-1])
                yield violation(node, ("perUnitStorageThroughput",), f"set it to {nearest}", f"got {rate or 'none'}")
        if tiered and (not bought or bought % TIERED_STEP_MB_S):
            nearest = max(1, -(-(bought or 0) // TIERED_STEP_MB_S)) * TIERED_STEP_MB_S
            yield violation(node, ("throughputCapacity",), f"set it to {nearest}", f"got {bought or 'none'}")


@rule("L-11", Level.ERROR, "https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html")
def days_are_days_aws_takes(view: GraphView) -> Iterator[Violation]:
    """Logs are kept for one of the numbers of days that CloudWatch lists, and a key waits 7 to 30 days for its deletion."""
    for node in view.of("aws:cloudwatch/logGroup:LogGroup"):
        days = view.inputs(node).get("retentionInDays")
        if days is not None and days not in RETENTION_DAYS:
            nearest = min((each for each in RETENTION_DAYS if each >= days), default=RETENTION_DAYS[-1])
            yield violation(node, ("retentionInDays",), f"set it to {nearest}", f"got {days}")
    for node in view.of("aws:kms/key:Key"):
        days, (least, most) = view.inputs(node).get("deletionWindowInDays"), DELETION_DAYS
        if days is not None and not least <= days <= most:
            yield violation(node, ("deletionWindowInDays",), f"set it to {min(max(days, least), most)}", f"got {days}")


@rule("L-12", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html")
def node_groups_have_bounds_in_order(view: GraphView) -> Iterator[Violation]:
    """A node group's desired size lies between its least and its most, and its most is 1 or more."""
    for node in view.of(NODE_GROUP):
        scaling = view.inputs(node).get("scalingConfig") or {}
        sizes = [scaling[key] for key in ("minSize", "desiredSize", "maxSize") if scaling.get(key) is not None]
        if sizes != sorted(sizes) or any(size < 0 for size in sizes) or scaling.get("maxSize") == 0:
            near = sorted(max(size, 0) for size in sizes)
            fix = f"such as {', '.join(map(str, [*near[:-1], max(near[-1], 1)]))}"
            yield violation(node, ("scalingConfig",), fix, f"got {', '.join(map(str, sizes))}")
