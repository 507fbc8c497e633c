"""Networks of the further interfaces of GPU machines on GKE: TCPX, TCPXO and RoCE."""

from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Fabric, FabricLayout
from rackwright.clouds import GCP
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import PoolPlan, StackPlan
from rackwright.validation.stack.registry import accelerators, catalog_rule, manifests, rule

GPUDIRECT = "https://cloud.google.com/kubernetes-engine/docs/how-to/gpu-bandwidth-gpudirect-tcpx"
MULTI_NETWORK = "https://cloud.google.com/kubernetes-engine/docs/how-to/setup-multinetwork-support-for-pods"
MANAGED = "https://cloud.google.com/kubernetes-engine/docs/how-to/config-auto-net-for-accelerators"
NETWORKS = At() / "network" / "accelerator_networks"


def layouts(plan: StackPlan, catalog: Catalog) -> Iterator[tuple[At, PoolPlan, FabricLayout]]:
    """Accelerator pools on a fabric with a published layout, with their paths. Machines of a fleet use no fabric."""
    rows = catalog.layout_by_machine
    yield from ((at, pool, rows[pool.machine]) for at, pool in accelerators(plan) if pool.machine in rows and pool.fabric != Fabric.NONE)


@catalog_rule("V-59", Level.ERROR, GPUDIRECT, on=GCP)
def networks_match_interfaces(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """A3 High has 4 networks besides the first and A3 Mega exactly 8, one per interface; GKE makes those of RoCE machines itself."""
    have = len(plan.network.accelerator_networks)
    for _, pool, layout in layouts(plan, catalog):
        need = 0 if layout.managed_networks_from else layout.gvnic_networks
        if have != need and (pool.nodes_max > 1 or have):
            # A ninth gVNIC of A3 Mega takes a PCI slot that the receive daemon needs (NVIDIA/aicr pull request 1662).
            message = f"{pool.machine} has {need} interfaces for networks of the stack; the plan has {have} networks"
            yield Violation(NETWORKS, f"plan {need} networks for pool {pool.name}", message)


@rule("V-60", Level.ERROR, MULTI_NETWORK, on=GCP)
def cluster_has_multi_networking(plan: StackPlan) -> Iterator[Violation]:
    """A cluster whose nodes have further networks is created with multi-networking, which cannot be turned on later."""
    if plan.network.accelerator_networks and plan.cluster and not plan.cluster.existing and not plan.cluster.multi_network:
        message = f"The nodes have {len(plan.network.accelerator_networks)} further networks, and the cluster has no multi-networking"
        yield Violation(At() / "cluster" / "multi_network", "set it to true", message)


@catalog_rule("V-63", Level.ERROR, GPUDIRECT, on=GCP)
def accelerator_mtu(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Networks of TCPX and TCPXO have an MTU of 8,244 bytes."""
    for _, pool, layout in layouts(plan, catalog):
        for index, network in enumerate(plan.network.accelerator_networks):
            if layout.mtu and network.mtu != layout.mtu:
                message = f"Network {network.name} has an MTU of {network.mtu} bytes; {pool.machine} needs {layout.mtu}"
                yield Violation(NETWORKS / index / "mtu", f"set it to {layout.mtu}", message)


@catalog_rule("V-64", Level.ERROR, MANAGED, on=GCP)
def managed_networks_are_alone(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """A pool whose accelerator networks GKE makes has a machine that supports it, and no networks of the stack."""
    for at, pool in accelerators(plan):
        layout = catalog.layout_by_machine.get(pool.machine)
        if pool.devices != "dra":
            continue
        if layout is None or not layout.managed_networks_from:
            yield Violation(at / "devices", "set it to plugin", f"GKE makes no accelerator networks for {pool.machine}")
        if plan.network.accelerator_networks:
            message = f"GKE makes the networks of pool {pool.name}, and the stack has {len(plan.network.accelerator_networks)} of its own"
            yield Violation(NETWORKS, "remove them", message)


@rule("V-66", Level.ERROR, MULTI_NETWORK, invariant=True, on=GCP)
def networks_have_objects(plan: StackPlan) -> Iterator[Violation]:
    """Each accelerator network of a cluster has a Network and a GKENetworkParamSet of its name, with its device mode."""
    modes = {m.body["metadata"]["name"]: m.body["spec"]["deviceMode"] for _, m in manifests(plan, "GKENetworkParamSet")}
    named = {m.body["metadata"]["name"] for _, m in manifests(plan, "Network")}
    for index, network in enumerate(plan.network.accelerator_networks if plan.cluster and not plan.cluster.existing else ()):
        if network.name not in named or modes.get(network.name) != network.device_mode:
            message = f"Network {network.name} of mode {network.device_mode} has no Kubernetes network with this mode"
            yield Violation(NETWORKS / index, "add its Network and GKENetworkParamSet", message)


@catalog_rule("V-65", Level.ERROR, GPUDIRECT, on=GCP)
def cluster_version_has_the_fabric(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """The cluster's Kubernetes has the fabric of its machines: TCPX and TCPXO, and networks that GKE makes, have a first version."""
    for _, pool, layout in layouts(plan, catalog):
        floors = [layout.managed_networks_from] if pool.devices == "dra" else list(layout.gke_min_versions)
        first = min((_minor(floor) for floor in floors if floor), default=(0, 0))
        if plan.cluster and plan.cluster.version and _minor(plan.cluster.version) < first:
            named = next(floor for floor in floors if floor and _minor(floor) == first)
            message = f"{pool.machine} on {layout.fabric} needs GKE {named} or later; the cluster has Kubernetes {plan.cluster.version}"
            yield Violation(At() / "cluster" / "version", f"use {first[0]}.{first[1]} or later", message)


def _minor(version: str) -> tuple[int, int]:
    major, minor, *_ = version.split(".")
    return int(major), int(minor)
