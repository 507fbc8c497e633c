"""Kueue objects of API v1beta2: topology, flavors, cluster queues with quotas, and a queue per team."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.compile.kubernetes.manifests import Body, obj, priority_class
from rackwright.compile.nodes.allocatable import cpus_for_jobs, memory_gib_for_jobs
from rackwright.compile.operators.capacity_check import AFTER_KUEUE, API, CAPACITY_CHECK, CHECK_KEY, capacity_check
from rackwright.stackplan import ManifestPlan, PoolPlan
from rackwright.stackplan.labels import (
    COMPUTE_CLASS_LABEL,
    EFA_RESOURCE,
    HUGE_PAGES,
    HUGE_PAGES_MIB,
    PASSED,
    POOL_LABEL,
    PREFLIGHT_LABEL,
    ROLE_LABEL,
    TPU_LABEL,
    TPU_TOPOLOGY_LABEL,
)
from rackwright.stackplan.operators import COMPUTE_CLASS

LAYER_LABEL, HOST_LABEL = "topology.k8s.aws/network-node-layer-{}", "kubernetes.io/hostname"
"""Layer 1 is the spine, the last one the leaf (labels of cloud-provider-aws; NVIDIA/topograph docs). The host name is last (V-83)."""
PRIORITIES = (("normal", 100, "Ordinary jobs."), ("urgent", 1000, "Admitted before ordinary jobs."))
CLUSTER_QUEUE, DEFAULT_QUEUE = "accelerators", "default"
DEFAULT_FLAVOR = "accelerator"
"""The flavor of the sized pools; other pools have a flavor with their name."""
PREFLIGHT = "preflight"
"""The queue and the flavor for checks of nodes, with the nodes of the sized pools whether or not they passed."""
SYSTEM = "system"
"""The queue and the flavor for jobs without accelerators, on the nodes of the system pool."""
TOPOLOGY = "fabric"
CHECKED_FLAVOR = "accelerator-passed"
"""The flavor with the gate. Another name, because Kueue does not change the labels of a flavor with a topology."""
DEFAULT_NAMES = (CLUSTER_QUEUE, DEFAULT_QUEUE, DEFAULT_FLAVOR, CHECKED_FLAVOR)


def aws_topology_levels(machine: Machine) -> tuple[str, ...]:
    """The layers that EC2 reports for the machine, then the host name. A queue with a level that nodes lack would wait forever."""
    return (*(LAYER_LABEL.format(layer) for layer in range(1, (machine.network_layers or 0) + 1)), HOST_LABEL)


@dataclass(frozen=True)
class QueueQuota:
    """Resources of one node for jobs: with those of the machine, a job for whole machines is admitted and never placed.
    devices: (resource, amount) of RDMA ports besides EFA."""

    cpu: int
    memory_gib: int
    fabric_interfaces: int = 0
    devices: tuple[tuple[str, int], ...] = ()

    @staticmethod
    def of(machine: Machine, pool: PoolPlan, cloud: str) -> "QueueQuota":
        return QueueQuota(cpus_for_jobs(machine), memory_gib_for_jobs(machine, pool, cloud), pool.fabric_interfaces)


def queues(
    pools: tuple[PoolPlan, ...], quota: QueueQuota, namespace: str, levels: tuple[str, ...] = (), gated: bool = False, recorded: str = ""
) -> tuple[ManifestPlan, ...]:
    """The queue of the sized pools, which share a flavor. Jobs without a queue name use `default`.

    Pools of a fallback are alternatives: the quota is that of the largest, and the autoscaler selects the pool, because Kueue does not try
    another flavor after a failed admission check (https://github.com/kubernetes-sigs/kueue/issues/2560). Their jobs are not placed by
    topology: Kueue evaluates it on existing nodes only (kubernetes-sigs/kueue@ff69552 pkg/scheduler/flavorassigner/tas_flavorassigner.go).
    Queued provisioning starts the machines of an admitted job in the same way.
    gated: jobs start on nodes that passed `rackwright preflight`, and its own jobs use a queue without this condition.
    recorded: identity of the running flavor (`flavor_identity`); empty for a new stack, or where it has no topology.
    """
    grows = len({pool.preference for pool in pools}) > 1 or any(pool.capacity.queued for pool in pools)
    levels, flavor = () if grows else levels, CHECKED_FLAVOR if gated else DEFAULT_FLAVOR
    waits = grows and all(pool.provisioner != COMPUTE_CLASS for pool in pools)  # whose autoscaler answers no requests of Kueue
    checks = capacity_check(pools) if waits else ()
    named = flavor_of_pools(flavor, pools[0], levels)
    suffix = _suffix(_identity(levels, named.body["spec"]), recorded)
    topology = obj(API, "Topology", f"{TOPOLOGY}{suffix}", spec={"levels": [{"nodeLabel": label} for label in levels]})
    return (
        *([ManifestPlan("queue.topology", topology, AFTER_KUEUE)] if levels else []),
        flavor_of_pools(flavor, pools[0], levels, suffix),
        *checks,
        cluster_queue(_nominal_quota(pools, quota), namespace, f"{flavor}{suffix}", has_check=waits),
        local_queue(namespace),
        *(_preflight_queue(pools, quota, namespace) if gated else ()),
        *(
            ManifestPlan(f"queue.priority.{n}", obj(API, "WorkloadPriorityClass", n, value=value, description=text), AFTER_KUEUE)
            for n, value, text in PRIORITIES
        ),
        *(priority_class(f"job-{name}", value, description) for name, value, description in PRIORITIES),
    )


def extra_queues(catalog: Catalog, cloud: str, pools: tuple[PoolPlan, ...], namespace: str) -> tuple[ManifestPlan, ...]:
    """A queue per additional pool, with the pool's name; jobs use it by name only."""
    manifests: list[ManifestPlan] = []
    for pool in pools:
        quota = QueueQuota.of(catalog.machine(pool.machine), pool, cloud)
        manifests += [
            _flavor(pool.name, pool),
            cluster_queue(_nominal_quota((pool,), quota), namespace, pool.name, pool.name),
            local_queue(namespace, pool.name, pool.name),
        ]
    return tuple(manifests)


def _preflight_queue(pools: tuple[PoolPlan, ...], quota: QueueQuota, namespace: str) -> tuple[ManifestPlan, ...]:
    """Its quota is that of the same nodes again: a check beside running jobs waits for free nodes."""
    return (
        _flavor(PREFLIGHT, pools[0]),
        cluster_queue(_nominal_quota(pools, quota), namespace, PREFLIGHT, PREFLIGHT),
        local_queue(namespace, PREFLIGHT, PREFLIGHT),
    )


def flavor_identity(manifests: Sequence[ManifestPlan]) -> str:
    """What Kueue does not change of the flavor of the sized pools: levels of its topology, labels and tolerations, as a digest.

    Empty for a flavor without a topology, which can be changed (kubernetes-sigs/kueue 0.19.2, CRDs of ResourceFlavor and Topology).
    """
    bodies = {plan.key: plan.body["spec"] for plan in manifests if plan.key in ("queue.topology", "queue.flavor")}
    levels = [level["nodeLabel"] for level in bodies.get("queue.topology", {}).get("levels", ())]
    return _identity(levels, bodies["queue.flavor"]) if levels else ""


def _identity(levels: Sequence[str], flavor: Mapping[str, Any]) -> str:
    """The role and the result of the check are not part of it: they have fixed values, and a flavor of another name."""
    labels = {key: value for key, value in flavor["nodeLabels"].items() if key not in (ROLE_LABEL, PREFLIGHT_LABEL)}
    text = json.dumps([list(levels), labels, flavor["tolerations"]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16] if levels else ""


def _suffix(identity: str, recorded: str) -> str:
    """Of the names of a topology and a flavor that differ from the recorded ones, which Kueue would not change; else empty."""
    return f"-{identity[:6] or 'plain'}" if recorded and identity != recorded else ""


def flavor_of_pools(name: str, pool: PoolPlan, levels: Sequence[str], suffix: str = "") -> ManifestPlan:
    """The flavor of the sized pools; with levels it has a topology."""
    return _flavor(name, pool, f"{TOPOLOGY}{suffix}" if levels else "", suffix)


def _flavor(name: str, pool: PoolPlan, topology: str = "", suffix: str = "") -> ManifestPlan:
    """A flavor of the sized pools, or of the pool with its name. topology, suffix: of its name."""
    sized = {ROLE_LABEL: dict(pool.labels).get(ROLE_LABEL, "accelerator")}
    known = {DEFAULT_FLAVOR: sized, PREFLIGHT: sized, CHECKED_FLAVOR: sized | {PREFLIGHT_LABEL: PASSED}}
    labels = dict(known.get(name, {POOL_LABEL: name})) | {k: v for k, v in pool.labels if k == COMPUTE_CLASS_LABEL}
    if pool.topology:
        labels |= {TPU_LABEL: pool.accelerator_label, TPU_TOPOLOGY_LABEL: pool.topology}
    spec: Body = {"nodeLabels": labels, "tolerations": pool.tolerations} | ({"topologyName": topology} if topology else {})
    after = (*AFTER_KUEUE, "queue.topology") if topology else AFTER_KUEUE
    return ManifestPlan(_key("flavor", name), obj(API, "ResourceFlavor", f"{name}{suffix}", spec=spec), after)


def _key(kind: str, name: str) -> str:
    """`queue.cluster-queue` of the sized pools, `queue.cluster-queue.debug` of others."""
    return f"queue.{kind}" if name in DEFAULT_NAMES else f"queue.{kind}.{name}"


def _nominal_quota(pools: tuple[PoolPlan, ...], quota: QueueQuota) -> dict[str, int | str]:
    """Resources of the nodes of pools that are filled together, at the largest preference."""
    together: Counter[int] = Counter()
    for each in pools:
        together[each.preference] += each.nodes_max
    nodes, pool = max(together.values()), pools[0]
    nominal: dict[str, int | str] = {"cpu": quota.cpu * nodes, "memory": f"{quota.memory_gib * nodes}Gi"}
    if pool.resource:
        nominal[pool.resource] = pool.accelerator_count * nodes
    if quota.fabric_interfaces:
        nominal |= {EFA_RESOURCE: quota.fabric_interfaces * nodes, HUGE_PAGES: f"{HUGE_PAGES_MIB * nodes}Mi"}
    return nominal | {resource: amount * nodes for resource, amount in quota.devices}


def cluster_queue(
    nominal: dict[str, int | str], namespace: str, flavor: str, name: str = CLUSTER_QUEUE, has_check: bool = False
) -> ManifestPlan:
    """A queue with one flavor. nominal: resource -> amount of the flavor. has_check: jobs are admitted after the capacity check."""
    resources = [{"name": resource, "nominalQuota": amount} for resource, amount in nominal.items()]
    spec: Body = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": list(nominal), "flavors": [{"name": flavor, "resources": resources}]}],
    }
    if has_check:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": CAPACITY_CHECK, "onFlavors": [flavor]}]}
    after = (*AFTER_KUEUE, _key("flavor", flavor if name != CLUSTER_QUEUE else DEFAULT_FLAVOR), *([CHECK_KEY] if has_check else []))
    return ManifestPlan(_key("cluster-queue", name), obj(API, "ClusterQueue", name, spec=spec), after)


def local_queue(namespace: str, name: str = DEFAULT_QUEUE, queue: str = CLUSTER_QUEUE) -> ManifestPlan:
    """The queue of a namespace. queue: the cluster's queue that it uses."""
    body = obj(API, "LocalQueue", name, namespace, {"clusterQueue": queue})
    return ManifestPlan(_key("local-queue", name), body, (*AFTER_KUEUE, _key("cluster-queue", queue)))
