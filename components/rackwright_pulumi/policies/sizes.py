"""Numbers that AWS accepts only in steps or ranges: volumes, file systems, retention days, node group sizes."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import LUSTRE, NODE_GROUP, GraphView
from rackwright_pulumi.policies.launch_templates import FREE_IOPS, disks
from rackwright_pulumi.policies.registry import rule, violation

GP3 = {"volumeSize": (1, 65536), "size": (1, 65536), "iops": (3000, 80000), "throughput": (125, 2000)}
"""GiB, IOPS and MiB/s: https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html"""
GP3_UNITS = {"volumeSize": "GiB", "size": "GiB", "iops": "IOPS", "throughput": "MiB/s"}
GP3_IOPS_PER_GIB = 500
STEP_GIB, MIN_GIB = 2400, 1200
THROUGHPUT = {"PERSISTENT_1": (50, 100, 200), "PERSISTENT_2": (125, 250, 500, 1000)}
"""MB/s per TiB of SSD: https://docs.aws.amazon.com/fsx/latest/LustreGuide/ssd-storage.html"""
TIERED_STEP_MB_S = 4000
"""https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemLustreConfiguration.html"""
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
    for node, path, disk in disks(view):
        if "gp3" not in (disk.get("volumeType"), disk.get("type")):
            continue
        for key, (minimum, maximum) in GP3.items():
            value = disk.get(key)
            if value is not None and not minimum <= value <= maximum:
                message = f"{value:,} {GP3_UNITS[key]} is outside {minimum:,} to {maximum:,}, the range of gp3"
                yield violation(node, (*path, key), message, f"set it to {min(max(value, minimum), maximum)}")
        gib, iops = disk.get("volumeSize") or disk.get("size"), disk.get("iops") or FREE_IOPS
        max_iops = max(FREE_IOPS, GP3_IOPS_PER_GIB * gib) if gib else iops
        if iops > max_iops:
            message = f"{iops:,} IOPS exceed {max_iops:,}, the limit of {gib} GiB of gp3"
            yield violation(node, (*path, "iops"), message, f"set it to {max_iops}")


@rule("L-10", Level.ERROR, "https://docs.aws.amazon.com/fsx/latest/LustreGuide/ssd-storage.html")
def lustre_sizes_are_offered(view: GraphView) -> Iterator[Violation]:
    """A Lustre file system on SSD has 1,200 GiB or a multiple of 2,400 and an offered throughput; a tiered one has steps of 4,000 MB/s."""
    for node in view.of(LUSTRE):
        inputs = view.inputs(node)
        capacity, kind = inputs.get("storageCapacity"), inputs.get("deploymentType")
        tiered, offered = inputs.get("storageType") == "INTELLIGENT_TIERING", THROUGHPUT.get(str(kind), ())
        rate, throughput = inputs.get("perUnitStorageThroughput"), inputs.get("throughputCapacity")
        if offered and not tiered and inputs.get("storageType") != "HDD":
            if capacity and capacity != MIN_GIB and capacity % STEP_GIB:
                message = f"{capacity:,} GiB is neither {MIN_GIB:,} nor a multiple of {STEP_GIB:,}"
                yield violation(node, ("storageCapacity",), message, f"set it to {-(-capacity // STEP_GIB) * STEP_GIB}")
            if rate not in offered:
                message = f"{'No throughput is set' if rate is None else f'{rate} MB/s per TiB is not offered'}; {kind} has"
                fix = f"set it to {min((each for each in offered if each >= (rate or 0)), default=offered[-1])}"
                yield violation(node, ("perUnitStorageThroughput",), f"{message} {', '.join(map(str, offered))}", fix)
        if tiered and (not throughput or throughput % TIERED_STEP_MB_S):
            message = f"{throughput:,} MB/s is not a multiple of {TIERED_STEP_MB_S:,}" if throughput else "No throughput is set"
            fix = f"set it to {max(1, -(-(throughput or 0) // TIERED_STEP_MB_S)) * TIERED_STEP_MB_S}"
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
