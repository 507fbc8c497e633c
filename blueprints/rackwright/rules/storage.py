"""Disks, file systems and buckets: sizes and speeds that are sold."""

from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.compile.wants import DiskWant, StackPlan
from rackwright.problems import At, Level
from rackwright.rules.registry import Broken, accelerators, pools, rule
from rackwright.units import GIB

LUSTRE_GUIDE = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/ssd-storage.html"
PERSISTENT_TIERS = (125, 250, 500, 1000)
GP3_LEAST_IOPS, GP3_MOST_IOPS, GP3_MOST_MIB_S, GP3_IOPS_PER_MIB_S, GP3_IOPS_PER_GIB = 3000, 80000, 2000, 4, 500
GP3_MOST_GIB = 64 * 1024
"""gp3, AWS EBS documentation of 2025-09."""


@rule("V-41", Level.ERROR, "https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html")
def disks_are_sold_so(plan: StackPlan) -> Iterator[Broken]:
    """A gp3 disk has 64 TiB at most, 3,000 to 80,000 IOPS, 500 per GiB at most, and a MiB/s for every four IOPS, 2,000 at most."""
    if plan.place.cloud != "aws":
        return
    for at, disk in _disks(plan):
        if disk.size_gib > GP3_MOST_GIB:
            yield Broken(at / "size_gib", "keep the data in a bucket, or on Lustre", f"got {disk.size_gib} GiB")
        iops, mib_s = disk.iops or GP3_LEAST_IOPS, disk.throughput_mib_s or 0
        most_iops = max(GP3_LEAST_IOPS, min(GP3_MOST_IOPS, GP3_IOPS_PER_GIB * disk.size_gib))
        if not GP3_LEAST_IOPS <= iops <= most_iops:
            yield Broken(at / "iops", f"between {GP3_LEAST_IOPS} and {most_iops}", f"got {iops} on {disk.size_gib} GiB")
        if mib_s > min(GP3_MOST_MIB_S, iops / GP3_IOPS_PER_MIB_S):
            yield Broken(at / "throughput_mib_s", "raise iops, or ask for less", f"{mib_s} MiB/s with {iops} IOPS")


@rule("V-43", Level.ERROR)
def local_disks_exist(plan: StackPlan) -> Iterator[Broken]:
    """Local NVMe is joined only on machines that have some."""
    wanted = [(at, p.machine) for at, p in accelerators(plan) if p.local_nvme]
    wanted += [(At() / "box", plan.box.machine)] if plan.box and plan.box.local_nvme else []
    for at, name in wanted:
        machine = Catalog.default().machine_by_name.get(name)
        if machine and machine.local_nvme_bytes == 0:
            yield Broken(at / "local_nvme", "set it to false", f"{name} has none")


@rule("V-49", Level.ERROR, LUSTRE_GUIDE)
def lustre_tier_is_sold(plan: StackPlan) -> Iterator[Broken]:
    """A persistent Lustre file system on SSD comes with 125, 250, 500 or 1,000 MB/s per TiB."""
    if plan.lustre and plan.place.cloud == "aws" and plan.lustre.throughput_mb_s_per_tib not in PERSISTENT_TIERS:
        at = At() / "lustre" / "throughput_mb_s_per_tib"
        yield Broken(at, "choose one of them", f"got {plan.lustre.throughput_mb_s_per_tib}")


@rule("V-50", Level.ERROR, LUSTRE_GUIDE)
def lustre_size_is_sold(plan: StackPlan) -> Iterator[Broken]:
    """A Lustre file system on SSD has 1,200 GiB, 2,400 GiB or a multiple of 2,400 GiB."""
    if plan.lustre is None or plan.place.cloud != "aws" or plan.lustre.rdma:
        return
    size = plan.lustre.capacity_gib
    if size != 1200 and (size <= 0 or size % 2400):
        yield Broken(At() / "lustre" / "capacity_gib", f"take {max(1, -(-size // 2400)) * 2400}", f"got {size}")


@rule("V-51", Level.ERROR, "https://docs.aws.amazon.com/fsx/latest/LustreGuide/efa-file-systems.html")
def lustre_over_efa(plan: StackPlan) -> Iterator[Broken]:
    """A file system on EFA needs clients with EFA, and grows in steps of one server."""
    if plan.lustre is None or not plan.lustre.rdma:
        return
    if not any(pool.nics for _, pool in accelerators(plan)):
        yield Broken(At() / "lustre" / "rdma", "set it to false", "no pool has EFA")
    tier = Catalog.default().volume_by_name.get(f"fsx-lustre-persistent2-{plan.lustre.throughput_mb_s_per_tib}-efa")
    if tier and tier.allowed_bytes(plan.lustre.capacity_gib * GIB) != plan.lustre.capacity_gib * GIB:
        words = f"{plan.lustre.capacity_gib} GiB is no multiple of {(tier.step_bytes or 0) // GIB}"
        yield Broken(At() / "lustre" / "capacity_gib", "round it up", words)


@rule("V-52", Level.ERROR, "https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html")
def lustre_is_where_the_machines_are(plan: StackPlan) -> Iterator[Broken]:
    """The file system is in the accelerators' zone; crossing zones costs money and time on every read."""
    for at, pool in accelerators(plan):
        if plan.lustre and plan.lustre.zone not in pool.zones:
            yield Broken(At() / "lustre" / "zone", f"use {pool.zones[0]}", f"{plan.lustre.zone}, while {at} is in {', '.join(pool.zones)}")


@rule("V-57", Level.ERROR, "https://cloud.google.com/storage/docs/hns-overview")
def folders_or_versions(plan: StackPlan) -> Iterator[Broken]:
    """A bucket with a hierarchical namespace keeps no versions."""
    for index, bucket in enumerate(plan.buckets):
        if bucket.hierarchical and bucket.versioned:
            yield Broken(At() / "buckets" / index / "versioned", "choose one of the two", f"bucket {bucket.key}")


@rule("V-75", Level.ERROR, "https://cloud.google.com/compute/docs/disks/local-ssd")
def bundled_ssds_are_all_there(plan: StackPlan) -> Iterator[Broken]:
    """A GCP family that bundles local SSDs comes with a fixed number of them."""
    for at, pool in accelerators(plan):
        machine = Catalog.default().machine_by_name.get(pool.machine)
        if plan.place.cloud != "gcp" or machine is None or not machine.local_nvme_bytes:
            continue
        if pool.local_ssd_count not in (0, machine.local_nvme_count):
            yield Broken(at / "local_ssd_count", f"set it to {machine.local_nvme_count}", f"got {pool.local_ssd_count}")


def _disks(plan: StackPlan) -> Iterator[tuple[At, DiskWant]]:
    if plan.box:
        yield At() / "box" / "root", plan.box.root
    if plan.box and plan.box.data:
        yield At() / "box" / "data", plan.box.data
    yield from ((at / "disk", pool.disk) for at, pool in pools(plan))
