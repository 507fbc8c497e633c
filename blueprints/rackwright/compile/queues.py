"""Kueue objects, API v1beta2 only: topology, flavor, cluster queue with a quota for every resource a job asks for, a queue per team."""

from dataclasses import dataclass

from rackwright.compile.manifests import Body, obj, priority_class
from rackwright.compile.pools import ROLE_LABEL
from rackwright.compile.wants import ManifestWant, PoolWant

API = "kueue.x-k8s.io/v1beta2"
AWS_LEVELS = (*(f"topology.k8s.aws/network-node-layer-{layer}" for layer in (1, 2, 3)), "kubernetes.io/hostname")
"""Spine to leaf, then the node (labels of cloud-provider-aws; NVIDIA/topograph docs). Host name comes last (recipes V-83)."""
AWS_LAYERED = ("p", "trn")
"""Prefixes of machines whose place in the network EC2 tells; on others a queue that wants the layers would wait for ever
(docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-topology.html)."""
HUGE_PAGES_MIB = 5120
"""2 MiB pages an EFA pod asks for (EKS user guide, node-efa)."""
PRIORITIES = (("normal", 100, "Ordinary jobs."), ("urgent", 1000, "Admitted before ordinary jobs."))
CLUSTER_QUEUE = "accelerators"
AFTER = ("kueue",)


def aws_levels(machine: str) -> tuple[str, ...]:
    return AWS_LEVELS if machine.startswith(AWS_LAYERED) else AWS_LEVELS[-1:]


@dataclass(frozen=True)
class Quota:
    """What one node offers jobs."""

    cpu: int
    memory_gib: int
    fabric_interfaces: int = 0


def queues(pool: PoolWant, pools: int, quota: Quota, namespace: str, levels: tuple[str, ...] = ()) -> tuple[ManifestWant, ...]:
    """`pools` alike pools (TPU slices) make one flavor. Jobs without a queue's name go to the team's queue, `default`."""
    nodes = pool.nodes_max * pools
    return (
        *([_topology(levels)] if levels else []),
        _flavor(pool, bool(levels)),
        _cluster_queue(_nominal(pool, nodes, quota), namespace),
        _local_queue(namespace),
        *(_workload_priority(*row) for row in PRIORITIES),
        *(priority_class(f"job-{name}", value, words) for name, value, words in PRIORITIES),
    )


def _topology(levels: tuple[str, ...]) -> ManifestWant:
    spec = {"levels": [{"nodeLabel": label} for label in levels]}
    return ManifestWant("queue.topology", obj(API, "Topology", "fabric", spec=spec), AFTER)


def _flavor(pool: PoolWant, topology: bool) -> ManifestWant:
    labels = {ROLE_LABEL: "accelerator"}
    if pool.topology:
        labels |= {"cloud.google.com/gke-tpu-accelerator": pool.accelerator_label, "cloud.google.com/gke-tpu-topology": pool.topology}
    tolerations = [{"key": t.key, "operator": "Equal", "value": t.value, "effect": t.effect} for t in pool.taints]
    spec: Body = {"nodeLabels": labels, "tolerations": tolerations} | ({"topologyName": "fabric"} if topology else {})
    after = (*AFTER, "queue.topology") if topology else AFTER
    return ManifestWant("queue.flavor", obj(API, "ResourceFlavor", "accelerator", spec=spec), after)


def _nominal(pool: PoolWant, nodes: int, quota: Quota) -> dict[str, int | str]:
    nominal: dict[str, int | str] = {
        "cpu": quota.cpu * nodes,
        "memory": f"{quota.memory_gib * nodes}Gi",
        pool.resource: pool.accelerator_count * nodes,
    }
    if quota.fabric_interfaces:
        nominal |= {"vpc.amazonaws.com/efa": quota.fabric_interfaces * nodes, "hugepages-2Mi": f"{HUGE_PAGES_MIB * nodes}Mi"}
    return nominal


def _cluster_queue(nominal: dict[str, int | str], namespace: str) -> ManifestWant:
    flavor = {"name": "accelerator", "resources": [{"name": name, "nominalQuota": amount} for name, amount in nominal.items()]}
    spec: Body = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": list(nominal), "flavors": [flavor]}],
    }
    return ManifestWant("queue.cluster-queue", obj(API, "ClusterQueue", CLUSTER_QUEUE, spec=spec), (*AFTER, "queue.flavor"))


def _local_queue(namespace: str) -> ManifestWant:
    body = obj(API, "LocalQueue", "default", namespace, {"clusterQueue": CLUSTER_QUEUE})
    return ManifestWant("queue.local-queue", body, (*AFTER, "queue.cluster-queue"))


def _workload_priority(name: str, value: int, words: str) -> ManifestWant:
    return ManifestWant(f"queue.priority.{name}", obj(API, "WorkloadPriorityClass", name, value=value, description=words), AFTER)
