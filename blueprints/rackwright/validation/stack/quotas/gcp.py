"""Google Cloud quotas for all GPUs of a project, local SSDs, disks and networks.

Metrics: https://docs.cloud.google.com/compute/resource-usage. Values are of the project's region, or of the project (`global`).
"""

from collections import Counter
from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.stackplan import DiskPlan, StackPlan

ALL_GPUS = "GPUS_ALL_REGIONS"
NETWORKS, SUBNETWORKS, FIREWALLS, ROUTERS = "NETWORKS", "SUBNETWORKS", "FIREWALLS", "ROUTERS"
DISK_METRICS = {"balanced": "SSD_TOTAL_GB", "hyperdisk-balanced": "HDB_TOTAL_GB"}
"""Kind of a disk -> metric. Balanced persistent disks count as SSDs: https://docs.cloud.google.com/compute/resource-usage#disk_quota"""
LOCAL_SSD, SPOT_LOCAL_SSD, LOCAL_SSD_GB = "LOCAL_SSD_TOTAL_GB", "PREEMPTIBLE_LOCAL_SSD_GB", 375
PREEMPTIBLE = ("spot", "flex-start")
"""Modes of the `PREEMPTIBLE_` metrics: https://docs.cloud.google.com/ai-hypercomputer/docs/consumption-models"""
CLUSTER_FIREWALLS = 4
"""Rules that GKE creates for a private cluster: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/firewall-rules"""
Need = tuple[str, float, str, str]
"""(metric, amount, unit, part of the stack)."""


def gcp_needs(plan: StackPlan, catalog: Catalog) -> Iterator[Need]:
    """Quotas of resources that this stack creates, at the maximum size of every pool; existing resources are not counted."""
    machines = [(pool.machine, pool.nodes_max, pool.capacity.mode, pool.local_ssd_count) for pool in plan.pools]
    machines += [(plan.box.machine, 1, plan.box.capacity.mode, 0)] if plan.box else []
    gpus, local_gb = Counter[str](), Counter[str]()
    for name, count, mode, local_ssds in machines:
        machine = catalog.machine_by_name.get(name)
        if machine and machine.kind == "gpu":
            gpus[name] += count * machine.whole_accelerators
        local_gb[SPOT_LOCAL_SSD if mode in PREEMPTIBLE else LOCAL_SSD] += count * local_ssds * LOCAL_SSD_GB
    yield ALL_GPUS, gpus.total(), "accelerators", ", ".join(gpus)
    for metric, amount in local_gb.items():
        yield metric, amount, "GB", "local SSDs"
    disks = Counter[str]()
    for disk, count in _disks(plan):
        disks[DISK_METRICS.get(disk.kind, "")] += disk.size_gib * count
    for metric, amount in disks.items():
        yield from [(metric, amount, "GB", "disks")] if metric else []
    if "base" in plan.layers:
        yield from _network(plan)
        # 20 instances per project: https://docs.cloud.google.com/managed-lustre/docs/quotas
        yield "", int(plan.lustre is not None), "instance", "Managed Lustre"


def _disks(plan: StackPlan) -> Iterator[tuple[DiskPlan, int]]:
    yield from ((pool.disk, pool.nodes_max) for pool in plan.pools)
    yield from ((disk, 1) for disk in (plan.box.root, plan.box.data) if disk) if plan.box else ()
    if "operators" in plan.layers:
        yield from ((disk, 1) for release in plan.releases for disk in release.claims)


def _network(plan: StackPlan) -> Iterator[Need]:
    network = plan.network
    if network.existing_id:
        return
    further = len(network.accelerator_networks)
    rules = 1 + further + bool(network.private_services_cidr) + (CLUSTER_FIREWALLS if plan.cluster else 0)
    yield NETWORKS, 1 + further, "networks", "the network"
    yield SUBNETWORKS, len(network.subnets) + further, "subnets", "the network"
    yield FIREWALLS, rules, "firewall rules", "the network"
    yield ROUTERS, int(network.nat), "routers", "the network"
