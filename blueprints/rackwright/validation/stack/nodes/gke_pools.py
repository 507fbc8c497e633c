"""Node pools of GKE: ranges of their pods, reservations with local SSDs, growth from no nodes, and the order of a fallback."""

import math
from collections.abc import Iterator
from ipaddress import ip_network

from rackwright.clouds import GCP
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import PoolPlan, StackPlan
from rackwright.stackplan.labels import COMPUTE_CLASS_LABEL
from rackwright.stackplan.operators import COMPUTE_CLASS
from rackwright.validation.stack.registry import accelerators, manifests, pools, rule

POD_RANGES = "https://cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr"
RESERVATIONS = "https://cloud.google.com/kubernetes-engine/docs/how-to/consuming-reservations"
DRANET = "https://cloud.google.com/kubernetes-engine/docs/how-to/config-auto-net-for-accelerators"
COMPUTE_CLASSES = "https://cloud.google.com/kubernetes-engine/docs/concepts/about-custom-compute-classes"
QUEUED = "https://cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest"
SHARED_VPC = "https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-shared-vpc"
DEFAULT_MAX_PODS, SMALLEST_RANGE = 110, 16
"""Pods of a node without a limit, and addresses of the smallest range of a node; a node has at least twice as many as pods (POD_RANGES)."""


@rule("V-270", Level.ERROR, POD_RANGES, on=GCP)
def pod_range_holds_every_node(plan: StackPlan) -> Iterator[Violation]:
    """The range of the pods has a part for every node of all pools: twice the node's maximum of pods, rounded up to a power of two."""
    need = sum(pool.nodes_max * node_range(pool) for _, pool in pools(plan))
    for index, subnet in enumerate(plan.network.subnets):
        cidr = dict(subnet.secondary).get("pods", "")
        if not cidr or ip_network(cidr).num_addresses >= need:
            continue
        nodes = sum(pool.nodes_max for _, pool in pools(plan))
        message = f"The pod range {cidr} has {ip_network(cidr).num_addresses} addresses, but {nodes} nodes reserve {need}"
        fix = f"use a /{32 - math.ceil(math.log2(need))} or larger, or fewer nodes"
        yield Violation(At() / "network" / "subnets" / index / "secondary", fix, message)


def node_range(pool: PoolPlan) -> int:
    """Addresses that GKE reserves for the pods of each node."""
    return max(SMALLEST_RANGE, 2 ** math.ceil(math.log2(2 * (pool.max_pods or DEFAULT_MAX_PODS))))


@rule("V-68", Level.ERROR, RESERVATIONS, on=GCP)
def reservation_has_the_local_ssds(plan: StackPlan) -> Iterator[Violation]:
    """Machines that use a reservation have its number of local SSDs; R-11 compares type, zone and count."""
    for at, pool in accelerators(plan):
        held, name = pool.capacity.local_ssds, pool.capacity.reservation_id
        if held is not None and held != pool.local_ssd_count:
            message = f"Reservation {name} holds {pool.machine} with {held} local SSDs, but pool {pool.name} has {pool.local_ssd_count}"
            fix = f"use a reservation of {pool.machine} with {pool.local_ssd_count} local SSDs"
            yield Violation(at / "capacity" / "local_ssds", fix, message)


@rule("V-271", Level.WARNING, DRANET, Stage.BUILD, on=GCP)
def claimed_interfaces_grow_from_zero(plan: StackPlan) -> Iterator[Violation]:
    """Google documents no growth from 0 nodes for pools whose pods claim their interfaces (DRANET)."""
    for at, pool in accelerators(plan):
        if pool.devices == "dra" and pool.nodes_min == 0:
            message = (
                f"Pool {pool.name} starts with 0 nodes, and its pods claim interfaces; Google does not document that such a pool grows"
            )
            fix = "check it with one job, then acknowledge V-271; a reservation or on-demand capacity has fixed nodes"
            yield Violation(at / "nodes_min", fix, message, blocks_update=False)


@rule("V-272", Level.WARNING, SHARED_VPC, Stage.BUILD, on=GCP)
def accelerator_networks_with_a_shared_vpc(plan: StackPlan) -> Iterator[Violation]:
    """Google documents no cluster in a Shared VPC whose accelerator networks belong to the project of the cluster."""
    network = plan.network
    if network.accelerator_networks and isinstance(network.existing_id, str) and _is_of_another_project(network.existing_id, plan):
        count = len(network.accelerator_networks)
        message = f"The cluster is in the Shared VPC {network.existing_id}, its {count} accelerator networks in {plan.place.account}"
        fix = "create one pool first; if GKE refuses it, use machines whose networks GKE makes"
        yield Violation(At() / "network" / "accelerator_networks", fix, message, blocks_update=False)


def _is_of_another_project(network: str, plan: StackPlan) -> bool:
    return network.startswith("projects/") and network.split("/")[1] != plan.place.account


@rule("V-273", Level.ERROR, COMPUTE_CLASSES, invariant=True, on=GCP)
def compute_class_lists_its_pools(plan: StackPlan) -> Iterator[Violation]:
    """A ComputeClass lists the pools of a fallback in their order, and each has the label and the taint with its name."""
    classes = {manifest.body["metadata"]["name"]: (at, manifest) for at, manifest in manifests(plan, "ComputeClass")}
    ordered = [pool for pool in plan.fallback_pools if pool.provisioner == COMPUTE_CLASS]
    for pool in ordered:
        name = dict(pool.labels).get(COMPUTE_CLASS_LABEL, "")
        if name not in classes or (COMPUTE_CLASS_LABEL, name) not in [(taint.key, taint.value) for taint in pool.taints]:
            message = f"Pool {pool.name} is not in a ComputeClass: it has the label {name or 'of none'}"
            yield Violation(At() / "pools", f"add the label and the taint {COMPUTE_CLASS_LABEL}, and the ComputeClass", message)
    for name, (at, manifest) in classes.items():
        listed = [pool for entry in manifest.body["spec"]["priorities"] for pool in entry["nodepools"]]
        names = [plan.node_pool_name(pool) for pool in ordered if dict(pool.labels).get(COMPUTE_CLASS_LABEL) == name]
        if listed != names:
            message = f"ComputeClass {name} lists {', '.join(listed)}; the pools in their order are {', '.join(names)}"
            yield Violation(at / "spec" / "priorities", "list them in this order", message)


@rule("V-274", Level.ERROR, QUEUED, on=GCP)
def queued_pools_are_alone(plan: StackPlan) -> Iterator[Violation]:
    """Machines of queued provisioning have no alternatives: they start for requests of Kueue, not in the order of a fallback."""
    for at, pool in accelerators(plan):
        if pool.capacity.queued and pool in plan.fallback_pools:
            message = f"Pool {pool.name} uses queued provisioning, and capacity.fallback lists {len(plan.fallback_pools)} capacity modes"
            yield Violation(at / "capacity" / "queued", "remove `queued`, or use flex-start alone in `ordered`", message)


@rule("V-76", Level.ERROR, "https://cloud.google.com/kubernetes-engine/docs/how-to/gpu-bandwidth-gpudirect-tcpx", invariant=True, on=GCP)
def nodes_run_container_optimized_os(plan: StackPlan) -> Iterator[Violation]:
    """Node images are Container-Optimized OS, which has gVNIC and Google's signed GPU driver under secure boot."""
    for at, pool in pools(plan):
        if pool.image not in ("", "cos"):
            yield Violation(at / "image", "set it to cos", f"Pool {pool.name} has the image {pool.image!r}")


@rule("V-275", Level.ERROR, "https://cloud.google.com/kubernetes-engine/docs/how-to/gpu-bandwidth-gpudirect-tcpx", on=GCP)
def existing_cluster_has_no_new_networks(plan: StackPlan) -> Iterator[Violation]:
    """A stack in an existing cluster creates no accelerator networks, whose Kubernetes objects belong to the cluster."""
    count = len(plan.network.accelerator_networks)
    if plan.cluster and plan.cluster.existing and count:
        message = f"The stack would add {count} accelerator networks to the existing cluster {plan.cluster.existing}"
        fix = "set blueprint.cluster to new, or use machines whose networks GKE makes"
        yield Violation(At() / "network" / "accelerator_networks", fix, message)
