"""A stack in a cluster that exists: it makes nothing of the cluster's own, and its names and labels are no other stack's there."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rackwright.compile.pools import ROLE_LABEL
from rackwright.compile.wants import LAYERS, ManifestWant, PoolWant, StackPlan

CLUSTER_WIDE = (
    "Topology", "ResourceFlavor", "ClusterQueue", "WorkloadPriorityClass", "PriorityClass", "AdmissionCheck", "NodePool", "EC2NodeClass",
    "StorageClass", "DeviceClass", "ClusterRole", "ClusterRoleBinding",
)  # fmt: skip
"""Kinds without a namespace that plans have; volumes carry the stack's name anyway."""
REFERENCES = ("topologyName", "clusterQueue", "priorityClassName", "storageClassName", "deviceClassName")
"""Fields that name an object of such a kind by its name alone"""
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"


def guest(plan: StackPlan) -> StackPlan:
    """The plan for a cluster that somebody else owns, who keeps its add-ons, its system machines and its operators."""
    return replace(
        plan,
        layers=tuple(layer for layer in LAYERS if layer != "operators"),
        key=replace(plan.key, serves=tuple(service for service in plan.key.serves if service != "cluster")),
        addons=(),
        pools=tuple(_pool(pool, plan.name) for pool in plan.pools if pool.role != "system"),
        manifests=_renamed(plan.manifests, plan.name),
    )


def role_of(stack: str) -> str:
    """Value of the role label on the stack's own machines: queues and pods of other stacks never find them by it."""
    return f"{stack}.accelerator"


def _pool(pool: PoolWant, stack: str) -> PoolWant:
    labels = ((key, role_of(stack) if key == ROLE_LABEL else value) for key, value in pool.labels)
    return replace(pool, labels=tuple(labels))


def _renamed(manifests: tuple[ManifestWant, ...], stack: str) -> tuple[ManifestWant, ...]:
    """Objects without a namespace take the stack's name before their own, wherever they are named."""
    names = {want.body["metadata"]["name"] for want in manifests if want.body["kind"] in CLUSTER_WIDE}

    def name(old: Any) -> Any:
        return f"{stack}-{old}" if old in names else old

    return tuple(replace(want, body=_own(_walk(want.body, stack, name), name)) for want in manifests)


def _own(body: dict[str, Any], name: Callable[[Any], Any]) -> dict[str, Any]:
    if body["kind"] not in CLUSTER_WIDE:
        return body
    return {**body, "metadata": {**body["metadata"], "name": name(body["metadata"]["name"])}}


def _walk(value: Any, stack: str, name: Callable[[Any], Any], key: str = "") -> Any:
    """`value` with every reference renamed and the role label of this stack's machines."""
    if isinstance(value, dict):
        known = {"flavors": ("name",), "nodeClassRef": ("name",)}.get(key, ())
        return {k: name(v) if k in known else _walk(v, stack, name, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_walk(item, stack, name, key) for item in value]
    if key == ROLE_LABEL and value == "accelerator":
        return role_of(stack)
    return name(value) if key in (*REFERENCES, PRIORITY_LABEL) else value
