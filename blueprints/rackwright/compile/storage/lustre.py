"""FSx for Lustre of a training cluster: the file system, its bucket links, its Kubernetes volume, and the pools that read it over EFA."""

import math
from collections.abc import Sequence
from dataclasses import replace

from rackwright.catalog.read import Catalog
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.manifests import static_volume
from rackwright.sizing.node.file_system import LustreSize, lustre_size, reads_over_efa
from rackwright.stackplan import BucketPlan, LustrePlan, ManifestPlan, PoolPlan, ref

CLAIM = "lustre"


def lustre_plan(context: CompileContext, zone: str, buckets: tuple[BucketPlan, ...]) -> LustrePlan | None:
    """The file system in the size that the SizingPlan shows, or that a decision records. None where the spec disables it.

    An SSD file system imports the data bucket, and exports checkpoints to a bucket that this stack creates. Intelligent-Tiering cannot be
    linked to buckets: https://docs.aws.amazon.com/fsx/latest/LustreGuide/fsx-data-repositories.html
    """
    recorded = context.running.file_system
    size = lustre_size(context.spec, context.sizing, context.candidate, context.machine, context.catalog, recorded)
    if size is None:
        return None
    required = math.ceil(context.sizing.storage.throughput_bytes_per_s / 1e6)
    nodes = context.candidate.nodes
    plan = LustrePlan(size.capacity_gib, size.ssd_tier, zone, rdma=size.efa, clients=nodes, required_mb_s=required, volume=size.volume)
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


def lustre_volume(plan: LustrePlan, name: str, namespace: str) -> tuple[ManifestPlan, ...]:
    """A static persistent volume and the claim bound to it; deleting the claim keeps the data."""
    attributes = {"dnsname": ref("lustre.dns_name"), "mountname": ref("lustre.mount_name")}
    csi = {"driver": "fsx.csi.aws.com", "volumeHandle": ref("lustre.id"), "volumeAttributes": attributes}
    size = f"{plan.capacity_gib}Gi"
    volume, claim = static_volume(name, CLAIM, namespace, size, "ReadWriteMany", ["flock", "noatime"], {"csi": csi})
    key = "storage.lustre.volume"
    return (ManifestPlan(key, volume, data=True), ManifestPlan("storage.lustre.claim", claim, (key,), data=True))
