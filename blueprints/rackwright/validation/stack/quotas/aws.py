"""AWS quotas for addresses, interfaces, clusters, file systems and disks."""

from collections.abc import Iterator

from rackwright.stackplan import StackPlan

VPCS, ADDRESSES, NAT_GATEWAYS, ENDPOINTS, INTERFACES = "L-F678F1CE", "L-0263D0A3", "L-FE5A380F", "L-29B6F2EB", "L-DF5E4CA3"
CLUSTERS, GROUPS, GROUP_NODES = "L-1194D53C", "L-6D54EA21", "L-BD136A63"
FILE_SYSTEMS, SSD_GIB, TIERED_MB_S, TIERED_CACHE_GIB, GP3_TIB = "L-FD6F2F22", "L-8F1B9C74", "L-0CD18A5D", "L-B7391FCE", "L-7A658B76"
"""Codes of AWS service quotas; the catalog has their names and defaults."""
INTERFACE_SERVICES = {"registry": 2, "machine-access": 3, "object-store": 0}
"""Neutral service -> number of interface endpoints, where it is not one; the object store uses a gateway endpoint."""
Need = tuple[str, float, str, str]
"""(code, amount, unit, part of the stack)."""


def aws_needs(plan: StackPlan) -> Iterator[Need]:
    """Quotas of resources that this stack creates; existing resources and upstream layers are not counted."""
    if "base" in plan.layers:
        yield from _network(plan)
        yield from _file_system(plan)
    yield INTERFACES, sum(pool.nodes_max * max(1, len(pool.nics)) for pool in plan.pools) + bool(plan.box), "interfaces", "machines"
    disks_gib = sum(pool.disk.size_gib * pool.nodes_max for pool in plan.pools)
    disks_gib += sum(disk.size_gib for disk in (plan.box.root, plan.box.data) if disk) if plan.box else 0
    if "operators" in plan.layers:
        disks_gib += sum(disk.size_gib for release in plan.releases for disk in release.claims)
    yield GP3_TIB, round(disks_gib / 1024, 2), "TiB", "disks"
    if plan.cluster and not plan.cluster.existing and "cluster" in plan.layers:
        managed = [pool for pool in plan.pools if pool.provisioner == "managed"]
        yield CLUSTERS, 1, "clusters", "the cluster"
        yield GROUPS, len(managed), "node groups", "pools"
        yield GROUP_NODES, max((pool.nodes_max for pool in managed), default=0), "nodes", "the largest pool"


def _network(plan: StackPlan) -> Iterator[Need]:
    network = plan.network
    if network.existing_id:
        return
    endpoints = sum(INTERFACE_SERVICES.get(name, 1) for name in network.private_endpoints)
    yield VPCS, 1, "VPCs", "the network"
    yield ENDPOINTS, endpoints, "endpoints", "private endpoints"
    yield INTERFACES, endpoints * len(network.endpoint_zones), "interfaces", "private endpoints"
    if network.nat:
        yield ADDRESSES, 1, "addresses", "the NAT gateway"
        yield NAT_GATEWAYS, 1, "NAT gateways", "the network"


def _file_system(plan: StackPlan) -> Iterator[Need]:
    lustre = plan.lustre
    if lustre is None:
        return
    yield FILE_SYSTEMS, 1, "file systems", "the file system"
    if lustre.kind == "tiered":
        yield TIERED_MB_S, lustre.throughput_mb_s or 0, "MB/s", "the file system"
        yield TIERED_CACHE_GIB, lustre.cache_gib, "GiB", "the file system"
    else:
        yield SSD_GIB, lustre.capacity_gib, "GiB", "the file system"
