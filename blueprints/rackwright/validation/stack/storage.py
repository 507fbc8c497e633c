"""Disks, file systems and buckets: sizes and speeds that are sold."""

import re
from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.clouds import AWS, GCP
from rackwright.compile.storage.buckets import GP3_FREE_IOPS, GP3_IOPS_PER_MIB_S, GP3_MOST_MIB_S
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import DiskPlan, StackPlan
from rackwright.validation.stack.registry import accelerators, pools, rule

GP3_MOST_IOPS, GP3_IOPS_PER_GIB = 80000, 500
GP3_MOST_GIB = 64 * 1024
"""gp3, AWS EBS documentation of 2025-09."""


@rule("V-41", Level.ERROR, "https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html", on=AWS)
def disks_are_sold_so(plan: StackPlan) -> Iterator[Violation]:
    """A gp3 disk has 64 TiB at most, 3,000 to 80,000 IOPS, 500 per GiB at most, and a MiB/s for every four IOPS, 2,000 at most."""
    for at, disk in _disks(plan):
        if disk.size_gib > GP3_MOST_GIB:
            yield Violation(
                at / "size_gib", f"{GP3_MOST_GIB} is the largest; keep more in a bucket, or on Lustre", detail=f"got {disk.size_gib} GiB"
            )
        iops, mib_s = disk.iops or GP3_FREE_IOPS, disk.throughput_mib_s or 0
        most_iops = max(GP3_FREE_IOPS, min(GP3_MOST_IOPS, GP3_IOPS_PER_GIB * disk.size_gib))
        if not GP3_FREE_IOPS <= iops <= most_iops:
            yield Violation(at / "iops", f"between {GP3_FREE_IOPS} and {most_iops}", detail=f"got {iops} on {disk.size_gib} GiB")
        if mib_s > min(GP3_MOST_MIB_S, iops / GP3_IOPS_PER_MIB_S):
            fix = f"take {min(GP3_MOST_MIB_S, iops // GP3_IOPS_PER_MIB_S)}, or raise iops to {mib_s * GP3_IOPS_PER_MIB_S}"
            yield Violation(at / "throughput_mib_s", fix, detail=f"{mib_s} MiB/s with {iops} IOPS")


@rule("V-42", Level.WARNING, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html", on=AWS)
def disks_can_be_decrypted(plan: StackPlan) -> Iterator[Violation]:
    """Machines of an Auto Scaling group die with Client.InternalError unless its service role may use the key of their disks."""
    if not plan.pools:
        return
    if plan.key.existing_arn:
        fix = "let AWSServiceRoleForAutoScaling use it and make grants, then acknowledge this"
        yield Violation(At() / "key" / "existing_arn", fix, detail="the policy of a key that exists is not seen here")
    elif "disks" not in plan.key.serves:
        yield Violation(At() / "key" / "serves", "add disks", detail="the key serves no disks", level=Level.ERROR)


@rule("V-43", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-store-volumes.html", invariant=True)
def local_disks_exist(plan: StackPlan) -> Iterator[Violation]:
    """Local NVMe is joined only on machines that have some."""
    wanted = [(at, p.machine) for at, p in accelerators(plan) if p.local_nvme]
    wanted += [(At() / "box", plan.box.machine)] if plan.box and plan.box.local_nvme else []
    for at, name in wanted:
        machine = Catalog.default().machine_by_name.get(name)
        if machine and machine.local_nvme_bytes == 0:
            yield Violation(at / "local_nvme", "set it to false", detail=f"{name} has none")


@rule("V-58", Level.WARNING, "https://aws.amazon.com/s3/pricing/#Data_transfer")
def checkpoints_are_near(plan: StackPlan) -> Iterator[Violation]:
    """Checkpoints that cross regions are paid for by the byte and come late; an existing bucket's region is known by its name alone."""
    for index, bucket in enumerate(plan.buckets):
        said = _region_said(bucket.existing_name, plan.place.cloud) if bucket.key == "checkpoints" else ""
        if said and said != plan.place.region:
            words = f"{bucket.existing_name} seems to lie in {said}, and the machines are in {plan.place.region}"
            yield Violation(
                At() / "buckets" / index / "existing_name", f"name a bucket in {plan.place.region}, or leave it out", detail=words
            )


@rule("V-57", Level.ERROR, "https://cloud.google.com/storage/docs/hns-overview", invariant=True)
def folders_or_versions(plan: StackPlan) -> Iterator[Violation]:
    """A bucket with a hierarchical namespace keeps no versions."""
    for index, bucket in enumerate(plan.buckets):
        if bucket.hierarchical and bucket.versioned:
            yield Violation(At() / "buckets" / index / "versioned", "choose one of the two", detail=f"bucket {bucket.key}")


@rule("V-75", Level.ERROR, "https://cloud.google.com/compute/docs/disks/local-ssd", invariant=True, on=GCP)
def bundled_ssds_are_all_there(plan: StackPlan) -> Iterator[Violation]:
    """A GCP family that bundles local SSDs comes with a fixed number of them."""
    for at, pool in accelerators(plan):
        machine = Catalog.default().machine_by_name.get(pool.machine)
        if machine is None or not machine.local_nvme_bytes:
            continue
        if pool.local_ssd_count not in (0, machine.local_nvme_count):
            yield Violation(at / "local_ssd_count", f"set it to {machine.local_nvme_count}", detail=f"got {pool.local_ssd_count}")


def _disks(plan: StackPlan) -> Iterator[tuple[At, DiskPlan]]:
    if plan.box:
        yield At() / "box" / "root", plan.box.root
    if plan.box and plan.box.data:
        yield At() / "box" / "data", plan.box.data
    yield from ((at / "disk", pool.disk) for at, pool in pools(plan))


def _region_said(bucket: str, cloud: str) -> str:
    """The region that a bucket's name has as a word of its own; empty where it has none."""
    regions = {row.region for row in Catalog.default().availability if row.cloud == cloud}
    return next((region for region in regions if re.search(rf"(?<![a-z0-9]){region}(?![a-z0-9])", bucket)), "")
