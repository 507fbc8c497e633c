"""A stack in a cluster that exists: it makes nothing of the cluster's own, and its names and labels are no other stack's there."""

import re
from dataclasses import replace
from typing import Any

from rackwright.stackplan import LAYERS, ManifestPlan, PoolPlan, StackPlan
from rackwright.stackplan.labels import ROLE_LABEL

CLUSTER_WIDE = (
    "Topology", "ResourceFlavor", "ClusterQueue", "WorkloadPriorityClass", "PriorityClass", "AdmissionCheck", "NodePool", "EC2NodeClass",
    "StorageClass", "DeviceClass", "ClusterRole", "ClusterRoleBinding",
)  # fmt: skip
"""Kinds without a namespace that plans have; volumes carry the stack's name anyway."""
REFERENCES = (
    "topologyName", "clusterQueue", "priorityClassName", "storageClassName", "deviceClassName", "kueue.x-k8s.io/priority-class",
)  # fmt: skip
"""Fields that hold the name of such an object"""
NAMED = ("flavors", "nodeClassRef")
"""Fields that hold references with a `name`"""


def as_tenant_stack(plan: StackPlan) -> StackPlan:
    """The plan for a cluster that somebody else owns, who keeps its add-ons, its system machines and its operators."""
    operators = {release.namespace for release in plan.releases}
    spaces = {name: f"{plan.name}-{name}" for name, _ in plan.namespaces if name not in operators}
    return replace(
        plan,
        layers=tuple(layer for layer in LAYERS if layer != "operators"),
        key=replace(plan.key, serves=tuple(service for service in plan.key.serves if service != "cluster")),
        addons=(),
        pools=tuple(_pool(pool, plan.name) for pool in plan.pools if pool.role != "system"),
        identities=tuple(replace(want, namespace=spaces.get(want.namespace, want.namespace)) for want in plan.identities),
        namespaces=tuple((spaces.get(name, name), level) for name, level in plan.namespaces),
        manifests=_renamed(plan.manifests, plan.name, spaces),
    )


def role_of(stack: str) -> str:
    """Value of the role label on the stack's own machines: queues and pods of other stacks never find them by it."""
    return f"{stack}.accelerator"


def _pool(pool: PoolPlan, stack: str) -> PoolPlan:
    labels = ((key, role_of(stack) if key == ROLE_LABEL else value) for key, value in pool.labels)
    return replace(pool, labels=tuple(labels))


def _renamed(manifests: tuple[ManifestPlan, ...], stack: str, spaces: dict[str, str]) -> tuple[ManifestPlan, ...]:
    """Objects without a namespace, and namespaces, take the stack's name before their own, wherever they are named, queries included."""
    within = [(re.compile(rf"(?<![-\w]){re.escape(old)}(?![-\w])"), new) for old, new in spaces.items()]
    wide = {plan.body["metadata"]["name"] for plan in manifests if plan.body["kind"] in CLUSTER_WIDE}

    def name(old: Any) -> Any:
        return f"{stack}-{old}" if old in wide else old

    def walk(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {k: name(v) if k == "name" and key in NAMED else walk(v, k) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [walk(item, key) for item in value]
        if key == ROLE_LABEL and value == "accelerator":
            return role_of(stack)
        if key in REFERENCES or not isinstance(value, str):
            return name(value)
        for old, new in within:
            value = old.sub(new, value)
        return value

    def own(body: dict[str, Any]) -> dict[str, Any]:
        named = body["kind"] in CLUSTER_WIDE
        return {**body, "metadata": {**body["metadata"], "name": name(body["metadata"]["name"])}} if named else body

    return tuple(replace(plan, body=own(walk(plan.body))) for plan in manifests)
