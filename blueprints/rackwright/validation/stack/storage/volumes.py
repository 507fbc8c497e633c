"""Disks, local storage and buckets: sizes, throughputs, encryption and location."""

import re
from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.clouds import AWS, GCP
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import DiskPlan, StackPlan
from rackwright.units import GIB
from rackwright.validation.stack.registry import accelerators, catalog_rule, machines, pools, rule

MIB = 2**20


@catalog_rule("V-41", Level.ERROR, "https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html", on=AWS)
def gp3_limits(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """gp3 disks have at most 64 TiB, 2,000 MiB/s and 1 MiB/s per 4 IOPS. They have 3,000 to 80,000 IOPS, at most 500 per GiB."""
    gp3 = catalog.volume("ebs-gp3")
    max_gib, max_iops, max_mib_s = (gp3.max_bytes or 0) // GIB, round(gp3.max_iops or 0), round((gp3.max_read_bytes_per_s or 0) / MIB)
    included, per_gib, per_mib_s = (catalog.storage_limit(gp3.name, limit) for limit in ("included_iops", "iops_per_gib", "iops_per_mib_s"))
    for at, disk in _disks(plan):
        if disk.size_gib > max_gib:
            message = f"A gp3 disk cannot have {disk.size_gib} GiB; the limit is {max_gib} GiB"
            yield Violation(at / "size_gib", f"set it to {max_gib} or less, and keep larger data in a bucket or on Lustre", message)
        iops, mib_s = disk.iops or included, disk.throughput_mib_s or 0
        iops_limit = max(included, min(max_iops, per_gib * disk.size_gib))
        if not included <= iops <= iops_limit:
            message = f"A gp3 disk of {disk.size_gib} GiB cannot have {iops} IOPS; the range is {included} to {iops_limit}"
            yield Violation(at / "iops", f"set it to {included} to {iops_limit}", message)
        if mib_s > min(max_mib_s, iops / per_mib_s):
            limit = min(max_mib_s, iops // per_mib_s)
            message = f"A gp3 disk with {iops} IOPS cannot have {mib_s} MiB/s; the limit is {limit} MiB/s"
            yield Violation(at / "throughput_mib_s", f"set it to {limit}, or raise iops to {mib_s * per_mib_s}", message)


@rule("V-42", Level.WARNING, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html", on=AWS)
def auto_scaling_can_use_the_key(plan: StackPlan) -> Iterator[Violation]:
    """The Auto Scaling service role must be allowed to use the key of the disks, or instances stop with Client.InternalError."""
    if not plan.pools:
        return
    if plan.key.existing_arn:
        fix = "allow AWSServiceRoleForAutoScaling to use the key and to create grants, then acknowledge V-42"
        message = "The disks use an existing key, whose policy cannot be read before deployment"
        yield Violation(At() / "key" / "existing_arn", fix, message)
    elif "disks" not in plan.key.serves:
        message = "The key is not for disks, so Auto Scaling cannot decrypt them"
        yield Violation(At() / "key" / "serves", "add disks", message, level=Level.ERROR)


@catalog_rule("V-43", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-store-volumes.html", invariant=True)
def local_nvme_exists(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Local NVMe is used only on machines that have it."""
    users = [(at, p.machine) for at, p in accelerators(plan) if p.local_nvme]
    users += [(At() / "box", plan.box.machine)] if plan.box and plan.box.local_nvme else []
    for at, name in users:
        machine = catalog.machine_by_name.get(name)
        if machine and machine.local_nvme_bytes == 0:
            yield Violation(at / "local_nvme", "set it to false", f"local_nvme is true, but {name} has no local NVMe disks")


@catalog_rule("V-58", Level.WARNING, "https://aws.amazon.com/s3/pricing/#Data_transfer")
def checkpoint_bucket_is_in_the_region(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """The checkpoint bucket should be in the stack's region; writing across regions is slower and billed per byte."""
    for index, bucket in enumerate(plan.buckets):
        if bucket.key != "checkpoints" or not (name := bucket.existing_name):
            continue
        regions = {row.region for row in catalog.availability if row.cloud == plan.place.cloud}
        named = (r for r in regions if re.search(rf"(?<![a-z0-9]){r}(?![a-z0-9])", name))  # as a separate word
        region = next(named, plan.place.region)
        if region != plan.place.region:
            message = f"The name of checkpoint bucket {name} suggests {region}; the machines are in {plan.place.region}"
            fix = f"use a bucket in {plan.place.region}, or leave it out to create one"
            yield Violation(At() / "buckets" / index / "existing_name", fix, message)


@rule("V-57", Level.ERROR, "https://cloud.google.com/storage/docs/hns-overview", invariant=True)
def hierarchical_buckets_have_no_versions(plan: StackPlan) -> Iterator[Violation]:
    """Buckets with a hierarchical namespace do not support object versions."""
    for index, bucket in enumerate(plan.buckets):
        if bucket.hierarchical and bucket.versioned:
            message = f"Bucket {bucket.key} has both a hierarchical namespace and object versions"
            yield Violation(At() / "buckets" / index / "versioned", "set one of the two to false", message)


@catalog_rule("V-75", Level.ERROR, "https://cloud.google.com/compute/docs/disks/local-ssd", invariant=True, on=GCP)
def bundled_ssd_count(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """GCP machines with bundled local SSDs have a fixed number of them."""
    for at, pool, machine in machines(plan, catalog):
        if machine.local_nvme_bytes and pool.local_ssd_count not in (0, machine.local_nvme_count):
            message = f"{pool.machine} has {machine.local_nvme_count} local SSDs; the pool sets {pool.local_ssd_count}"
            yield Violation(at / "local_ssd_count", f"set it to {machine.local_nvme_count}", message)


def _disks(plan: StackPlan) -> Iterator[tuple[At, DiskPlan]]:
    if plan.box:
        yield At() / "box" / "root", plan.box.root
    if plan.box and plan.box.data:
        yield At() / "box" / "data", plan.box.data
    yield from ((at / "disk", pool.disk) for at, pool in pools(plan))
