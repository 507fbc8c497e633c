"""A stack in an existing cluster: it creates no operators, and its names and labels are unique in the cluster."""

import re
from dataclasses import replace
from typing import Any

from rackwright.stackplan import LAYERS, ManifestPlan, StackPlan
from rackwright.stackplan.labels import ROLE_LABEL

CLUSTER_SCOPED_KINDS = (
    "Topology", "ResourceFlavor", "ClusterQueue", "WorkloadPriorityClass", "PriorityClass", "AdmissionCheck", "ProvisioningRequestConfig",
    "NodePool", "EC2NodeClass", "StorageClass", "DeviceClass", "ClusterRole", "ClusterRoleBinding",
)  # fmt: skip
"""Cluster-scoped kinds in plans; volumes already contain the stack's name."""
REFERENCE_FIELDS = (
    "topologyName", "clusterQueue", "onFlavors", "priorityClassName", "storageClassName", "deviceClassName",
    "kueue.x-k8s.io/priority-class",
)  # fmt: skip
"""Fields that contain the name of such an object"""
NAMED_REFERENCE_FIELDS = ("flavors", "admissionChecks", "parameters", "nodeClassRef")
"""Fields that contain references with a `name`"""


def as_tenant_stack(plan: StackPlan) -> StackPlan:
    """The plan without add-ons, system pool and operators, which the existing cluster has, and with names that contain the stack's."""
    operators = {release.namespace for release in plan.releases}
    spaces = {name: f"{plan.name}-{name}" for name, _ in plan.namespaces if name not in operators}
    return replace(
        plan,
        layers=tuple(layer for layer in LAYERS if layer != "operators"),
        key=replace(plan.key, serves=tuple(service for service in plan.key.serves if service != "cluster")),
        addons=(),
        pools=tuple(
            replace(pool, labels=tuple((k, role_label_value(plan.name) if k == ROLE_LABEL else v) for k, v in pool.labels))
            for pool in plan.pools
            if pool.role != "system"
        ),
        identities=tuple(replace(identity, namespace=spaces.get(identity.namespace, identity.namespace)) for identity in plan.identities),
        namespaces=tuple((spaces.get(name, name), level) for name, level in plan.namespaces),
        manifests=with_stack_names(tuple(m for m in plan.manifests if m.layer != "operators"), plan.name, spaces),
    )


def role_label_value(stack: str) -> str:
    """Value of the role label on the stack's nodes, so that queues and pods of other stacks do not select them."""
    return f"{stack}.accelerator"


def with_stack_names(manifests: tuple[ManifestPlan, ...], stack: str, spaces: dict[str, str]) -> tuple[ManifestPlan, ...]:
    """Prefixes cluster-scoped objects and namespaces with the stack's name, in references and queries too."""
    within = [(re.compile(rf"(?<![-\w]){re.escape(old)}(?![-\w])"), new) for old, new in spaces.items()]
    scoped = {plan.body["metadata"]["name"] for plan in manifests if plan.body["kind"] in CLUSTER_SCOPED_KINDS}

    def name(old: Any) -> Any:
        return f"{stack}-{old}" if old in scoped else old

    def walk(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {k: name(v) if k == "name" and key in NAMED_REFERENCE_FIELDS else walk(v, k) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [walk(item, key) for item in value]
        if key == ROLE_LABEL and value == "accelerator":
            return role_label_value(stack)
        if key in REFERENCE_FIELDS or not isinstance(value, str):
            return name(value)
        for old, new in within:
            value = old.sub(new, value)
        return value

    def own(body: dict[str, Any]) -> dict[str, Any]:
        named = body["kind"] in CLUSTER_SCOPED_KINDS
        return {**body, "metadata": {**body["metadata"], "name": name(body["metadata"]["name"])}} if named else body

    return tuple(replace(plan, body=own(walk(plan.body))) for plan in manifests)
