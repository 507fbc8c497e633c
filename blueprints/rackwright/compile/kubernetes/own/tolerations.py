"""Tolerations of the operators' daemons, so that tainted servers get drivers, device plugins, labels and metrics."""

from dataclasses import replace
from typing import Any

from rackwright.compile.operators.helm_releases import TOLERATE_ALL
from rackwright.spec.inventory import ServerGroup
from rackwright.stackplan import ReleasePlan
from rackwright.stackplan.labels import RESOURCES
from rackwright.stackplan.operators import GPU_OPERATOR, MONITORING

Tolerations = tuple[dict[str, str], ...]
GPU_TOLERATION = {"key": RESOURCES["gpu"], "operator": "Exists", "effect": "NoSchedule"}
"""In the charts' own lists, which values replace (NVIDIA/gpu-operator, deployments/gpu-operator/values.yaml)."""
CONTROL_PLANE_TOLERATION = {"key": "node-role.kubernetes.io/control-plane", "operator": "Equal", "value": "", "effect": "NoSchedule"}


def taint_tolerations(group: ServerGroup) -> Tolerations:
    """A toleration for each taint of the group."""
    return tuple({"key": t.key, "operator": "Equal", "value": t.value, "effect": t.effect} for t in group.taints)


def tolerating(plan: ReleasePlan, taints: Tolerations) -> ReleasePlan:
    """The release with daemons that run on servers with these taints; the same release without taints.

    The node exporter tolerates every taint with NoSchedule by default.
    """
    values: dict[str, Any] = {}
    if plan.name == GPU_OPERATOR and taints:
        worker = {"tolerations": [CONTROL_PLANE_TOLERATION, GPU_TOLERATION, *taints]}
        values = {"daemonsets": {"tolerations": [GPU_TOLERATION, *taints]}, "node-feature-discovery": {"worker": worker}}
    if plan.name == MONITORING and any(taint["effect"] == "NoExecute" for taint in taints):
        values = {"prometheus-node-exporter": {"tolerations": TOLERATE_ALL}}
    return replace(plan, values=plan.values | values) if values else plan
