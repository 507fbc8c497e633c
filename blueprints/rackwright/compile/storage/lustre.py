"""Lustre of a training cluster: the file system, its bucket links, its Kubernetes volume, and the pools that read it over EFA."""

import math
from collections.abc import Sequence
from dataclasses import replace

from rackwright.catalog.read import Catalog
from rackwright.clouds import FSX, MANAGED_LUSTRE, profile
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.manifests import static_volume
from rackwright.sizing.node.file_system import lustre_size, reads_over_efa
from rackwright.sizing.node.lustre_throughput import LustreSize
from rackwright.sizing.node.managed_lustre import DYNAMIC_MB_S
from rackwright.stackplan import BucketPlan, LustrePlan, ManifestPlan, PoolPlan, ref

CLAIM = "lustre"
MOUNT_NAME = "lustre"
"""Name of a Managed Lustre file system for its clients: 8 letters and digits at most."""
DRIVERS = {
    FSX: ("fsx.csi.aws.com", "dnsname", "mountname", ("flock", "noatime")),
    MANAGED_LUSTRE: ("lustre.csi.storage.gke.io", "ip", "filesystem", ()),
}
"""Service -> CSI driver, its attributes for address and mount name, and mount options.

https://docs.cloud.google.com/managed-lustre/docs/lustre-csi-driver-existing-instance
"""


def lustre_plan(context: CompileContext, zone: str, buckets: tuple[BucketPlan, ...]) -> LustrePlan | None:
    """The file system in the size that the SizingPlan shows, or that a decision records. None where the spec disables it.

    An SSD file system of FSx imports the data bucket, and exports checkpoints to a bucket that this stack creates. Intelligent-Tiering
    cannot be linked to buckets: https://docs.aws.amazon.com/fsx/latest/LustreGuide/fsx-data-repositories.html
    """
    recorded = context.running.file_system
    size = lustre_size(context.spec, context.sizing, context.candidate, context.machine, context.catalog, recorded)
    if size is None or _has_run_without(context):
        return None
    required = math.ceil(context.sizing.storage.throughput_bytes_per_s / 1e6)
    nodes = context.candidate.nodes
    plan = LustrePlan(size.capacity_gib, size.ssd_tier, zone, rdma=size.efa, clients=nodes, required_mb_s=required, volume=size.volume)
    if profile(context.candidate.cloud).lustre_service == MANAGED_LUSTRE:
        return replace(plan, backup_days=0, kind="dynamic" if size.ssd_tier == DYNAMIC_MB_S else "ssd", mount_name=MOUNT_NAME)
    if not size.ssd_tier:
        iops = context.catalog.storage_limit(size.volume, "metadata_iops")
        return replace(
            plan, backup_days=0, kind="tiered", throughput_mb_s=size.throughput_mb_s, metadata_iops=iops, cache_gib=size.cache_gib
        )
    return replace(
        plan,
        imports=tuple((f"/{b.key}", b.key) for b in buckets if b.key == "data"),
        exports=tuple((f"/{b.key}", b.key) for b in buckets if b.key == "checkpoints" and not b.existing_name),
    )


def _has_run_without(context: CompileContext) -> bool:
    """Whether a running stack of an earlier release has no file system, and the spec leaves the choice: they built none here."""
    running, cloud = context.running, profile(context.candidate.cloud)
    is_recorded = running.place is not None and running.file_system is None
    return is_recorded and cloud.lustre_service != FSX and context.spec.blueprint.storage == "auto"


def file_system_of(plan: LustrePlan | None) -> LustreSize | None:
    """What a decision records of the file system of a stack."""
    if plan is None:
        return None
    return LustreSize(plan.capacity_gib, plan.volume, plan.throughput_mb_s_per_tib, plan.rdma, plan.throughput_mb_s, plan.cache_gib)


def with_lustre_interfaces(catalog: Catalog, plan: LustrePlan | None, pools: Sequence[PoolPlan]) -> tuple[PoolPlan, ...]:
    """The pools with the number of EFA interfaces that read the file system, reduced where all nodes would exceed the connection limit."""
    if plan is None or not plan.rdma:
        return tuple(pools)
    interfaces: dict[str, int] = {}  # the number that FSx's own client set-up uses, limited to the interfaces of the pool
    for pool in pools:
        machine = catalog.machine(pool.machine)
        readers = machine.lustre_interfaces if reads_over_efa(machine, pool.image) else 0
        interfaces[pool.name] = min(pool.fabric_interfaces, readers)
    nodes = sum(pool.nodes_max for pool in pools if interfaces[pool.name])
    limit = catalog.storage_limit("fsx-lustre", "client_interfaces") // max(1, nodes)
    return tuple(replace(pool, lustre_interfaces=min(limit, interfaces[pool.name])) for pool in pools)


def lustre_volume(plan: LustrePlan, cloud: str, name: str, namespace: str) -> tuple[ManifestPlan, ...]:
    """A static persistent volume and the claim bound to it; deleting the claim keeps the data."""
    driver, address, mount_name, options = DRIVERS[profile(cloud).lustre_service]
    attributes = {address: ref("lustre.dns_name"), mount_name: ref("lustre.mount_name")}
    csi = {"driver": driver, "volumeHandle": ref("lustre.id"), "volumeAttributes": attributes}
    size = f"{plan.capacity_gib}Gi"
    volume, claim = static_volume(name, CLAIM, namespace, size, "ReadWriteMany", list(options), {"csi": csi})
    key = "storage.lustre.volume"
    return (ManifestPlan(key, volume, data=True), ManifestPlan("storage.lustre.claim", claim, (key,), data=True))
