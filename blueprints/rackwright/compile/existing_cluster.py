"""A stack in an existing cluster: it creates no operators, and its names and labels are unique in the cluster."""

import re
from dataclasses import dataclass, replace
from typing import Any

from rackwright.spec.blueprint import ClusterChoice, ExistingCluster
from rackwright.stackplan import LAYERS, ManifestPlan, ReleasePlan, StackPlan
from rackwright.stackplan.labels import ROLE_LABEL
from rackwright.stackplan.operators import STACK_METRICS, MetricsEndpoint

CLUSTER_SCOPED_KINDS = (
    "Topology", "ResourceFlavor", "ClusterQueue", "WorkloadPriorityClass", "PriorityClass", "AdmissionCheck", "ProvisioningRequestConfig",
    "NodePool", "EC2NodeClass", "StorageClass", "DeviceClass", "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding", "GatewayClass",
)  # fmt: skip
"""Cluster-scoped kinds in plans; volumes already contain the stack's name."""
SYSTEM_QUEUE = (
    *("queue.flavor.system", "queue.cluster-queue.system", "queue.local-queue.system"),
    *("queue.policy", "queue.policy.binding"),
)
"""Keys of the queue for jobs without accelerators, and of the policy that refers to it."""
REFERENCE_FIELDS = (
    "topologyName", "clusterQueue", "policyName", "onFlavors", "priorityClassName", "storageClassName", "deviceClassName",
    "gatewayClassName", "kueue.x-k8s.io/priority-class",
)  # fmt: skip
"""Fields that contain the name of such an object"""
QUEUE_MATCHER = re.compile(r'(\bcluster_queue=)"([^"]+)"')
"""Label matcher of a query of Prometheus that names a ClusterQueue"""
NAMED_REFERENCE_FIELDS = ("flavors", "admissionChecks", "parameters", "nodeClassRef", "roleRef")
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
        manifests=with_stack_names(tuple(m for m in plan.manifests if _is_of_tenant(m)), plan.name, spaces),
    )


def _is_of_tenant(manifest: ManifestPlan) -> bool:
    """Whether a stack in an existing cluster has the object: no operators, and no queue of system nodes, which belong to the cluster."""
    return manifest.layer != "operators" and manifest.key not in SYSTEM_QUEUE


def cluster_metrics(chosen: ClusterChoice) -> MetricsEndpoint:
    """Prometheus of an existing cluster by the spec, else the one that stacks install. chosen: `blueprint.cluster`."""
    named = chosen.prometheus if isinstance(chosen, ExistingCluster) else None
    return MetricsEndpoint(named.namespace, named.service, named.port) if named else STACK_METRICS


def role_label_value(stack: str) -> str:
    """Value of the role label on the stack's nodes, so that queues and pods of other stacks do not select them."""
    return f"{stack}.accelerator"


def with_stack_names(manifests: tuple[ManifestPlan, ...], stack: str, spaces: dict[str, str]) -> tuple[ManifestPlan, ...]:
    """Prefixes cluster-scoped objects and namespaces with the stack's name, in references and queries too."""
    names = StackNames(stack, cluster_scoped(manifests), spaces)
    return tuple(replace(plan, body=names.body(plan.body)) for plan in manifests)


def with_stack_references(
    releases: tuple[ReleasePlan, ...], manifests: tuple[ManifestPlan, ...], stack: str, spaces: dict[str, str]
) -> tuple[ReleasePlan, ...]:
    """Releases whose values have the names that `with_stack_names` gives to the same manifests."""
    names = StackNames(stack, cluster_scoped(manifests), spaces)
    return tuple(replace(plan, values=names.walk(plan.values)) for plan in releases)


def cluster_scoped(manifests: tuple[ManifestPlan, ...]) -> frozenset[str]:
    """Names of the cluster-scoped objects."""
    return frozenset(plan.body["metadata"]["name"] for plan in manifests if plan.body["kind"] in CLUSTER_SCOPED_KINDS)


@dataclass(frozen=True)
class StackNames:
    """Names in the cluster. scoped: names of cluster-scoped objects, which get the stack's as prefix. spaces: namespace -> its new name."""

    stack: str
    scoped: frozenset[str]
    spaces: dict[str, str]

    def name(self, old: Any) -> Any:
        return f"{self.stack}-{old}" if old in self.scoped else old

    def body(self, body: dict[str, Any]) -> dict[str, Any]:
        """An object with its own new name, and with those of the objects that it references."""
        walked = self.walk(body)
        named = body["kind"] in CLUSTER_SCOPED_KINDS
        return {**walked, "metadata": {**walked["metadata"], "name": self.name(body["metadata"]["name"])}} if named else walked

    def walk(self, value: Any, key: str = "") -> Any:
        """A value with new names in the fields that reference objects. key: the field that holds it."""
        if isinstance(value, dict):
            return {k: self.name(v) if k == "name" and key in NAMED_REFERENCE_FIELDS else self.walk(v, k) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.walk(item, key) for item in value]
        if key == ROLE_LABEL and value == "accelerator":
            return role_label_value(self.stack)
        if key in REFERENCE_FIELDS:
            return self.name(value)
        if key == "nodepools":
            return f"{self.stack}-{value}"
        if not isinstance(value, str):
            return value
        value = QUEUE_MATCHER.sub(lambda found: f'{found[1]}"{self.name(found[2])}"', value)
        for old, new in self.spaces.items():
            value = re.sub(rf"(?<![-\w]){re.escape(old)}(?![-\w])", new, value)
        return value
