"""Nodes and daemons of a plan as the cloud would add them: allocatable resources, labels and taints."""

import math
from typing import Any

from rackwright.catalog import Catalog
from rackwright.catalog.rows import Machine
from rackwright.stackplan import PoolPlan, ReleasePlan, StackPlan
from rackwright.stackplan.labels import EFA_RESOURCE, HUGE_PAGES, PASSED, PREFLIGHT_LABEL
from rackwright.units import GIB, MIB

from tests.compile.contracts import chart_values

Body = dict[str, Any]
EKS_DAEMONS = {"aws-node": (50, 0), "kube-proxy": (100, 0), "ebs-csi-node": (30, 120), "fsx-csi-node": (30, 120), "node-monitor": (20, 60)}
"""Name -> CPU millis and MiB that the add-on requests on every node (EKS add-ons of Kubernetes 1.35)."""
CHART_DAEMONS = ("nvidia-device-plugin", "aws-efa-k8s-device-plugin", "aws-dranet", "dcgm-exporter")
"""Charts of which a DaemonSet serves accelerators or interfaces."""
TPU_LABELS = ("cloud.google.com/gke-tpu-accelerator", "cloud.google.com/gke-tpu-topology")
"""Labels that GKE adds to the nodes of a slice."""
MEMORY_REPORTED = 0.97
"""Part of the published memory that Linux reports on a large machine."""


def nodes(plan: StackPlan) -> list[Body]:
    """Every node of every pool at its largest."""
    return [node(plan, pool, number) for pool in plan.pools for number in range(pool.nodes_max)]


def node(plan: StackPlan, pool: PoolPlan, number: int) -> Body:
    machine, name = Catalog.default().machine(pool.machine), f"{plan.name}-{pool.name}-{number}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64" if pool.cpu_arch == "arm64" else "amd64",
        "node.kubernetes.io/instance-type": pool.machine,
        "topology.kubernetes.io/zone": pool.zones[number % len(pool.zones)],
        **dict(pool.labels),
        PREFLIGHT_LABEL: PASSED,
        **({TPU_LABELS[0]: pool.accelerator_label, TPU_LABELS[1]: pool.topology} if pool.topology else {}),
    }
    amounts = {
        "cpu": f"{_cpu_millis(machine.vcpus)}m",
        "memory": f"{_memory_mib(machine.memory_bytes, pool)}Mi",
        "pods": str(pool.max_pods or 110),
        "ephemeral-storage": f"{math.floor(_disk_gib(pool, machine) * 0.9)}Gi",
    }
    amounts |= {pool.pod_resource: str(pool.pod_devices)} if pool.resource else {}
    if pool.nics:
        amounts |= {HUGE_PAGES: "10256Mi"} | ({EFA_RESOURCE: str(pool.fabric_interfaces)} if pool.devices == "plugin" else {})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in pool.taints]},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def _disk_gib(pool: PoolPlan, machine: Machine) -> float:
    """The local disks, which replace the root disk for pods, or the root disk."""
    return (machine.local_nvme_bytes or 0) / GIB if pool.local_nvme else pool.disk.size_gib


def _cpu_millis(vcpus: int) -> int:
    """EKS reserves 6 % of the first CPU, 1 % of the second, 0.5 % of the next two, 0.25 % of the rest."""
    reserved = 60 + 10 * (vcpus > 1) + 5 * min(max(vcpus - 2, 0), 2) + 2.5 * max(vcpus - 4, 0)
    return math.floor(vcpus * 1000 - reserved)


def _memory_mib(memory_bytes: float, pool: PoolPlan) -> int:
    pages_mib = 10256 if pool.nics else 0
    return math.floor(memory_bytes * MEMORY_REPORTED / MIB - 255 - 100 - 11 * (pool.max_pods or 0) - pages_mib)


def daemons(plan: StackPlan) -> list[Body]:
    """DaemonSets of the add-ons, which tolerate every taint, and of the plan's charts with their tolerations and node affinity."""
    every = [_daemon(name, millis, mib, [{"operator": "Exists"}], {}) for name, (millis, mib) in EKS_DAEMONS.items()]
    return [*every, *(_chart_daemon(release) for release in plan.releases if release.name in CHART_DAEMONS)]


def _chart_daemon(release: ReleasePlan) -> Body:
    own = chart_values(release.chart.rpartition("/")[2], release.chart_version)
    given = own | release.values
    requests = own.get("resources", {}).get("requests", {})
    millis, mib = int(str(requests.get("cpu", "0m"))[:-1]), int(requests.get("memory", "0Mi")[:-2])
    types = given.get("supportedInstanceLabels", {}).get("values")
    at = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types}
    terms = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [at]}]}}}
    affinity = terms if types else release.values.get("affinity", {})
    return _daemon(release.name, millis, mib, given["tolerations"], affinity)


def _daemon(name: str, millis: int, mib: int, tolerations: list[Body], affinity: Body) -> Body:
    labels = {"app": name}
    pod = {
        "tolerations": tolerations,
        "affinity": affinity,
        "containers": [container({"cpu": f"{millis}m", "memory": f"{mib}Mi"})],
    }
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": "kube-system"}, "spec": spec}


def container(requests: Body) -> Body:
    return {"name": "main", "image": "registry.example/main:1", "resources": {"requests": requests, "limits": requests}}
