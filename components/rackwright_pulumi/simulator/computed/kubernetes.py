"""Outputs a Kubernetes API server computes: uid, resourceVersion, status. Custom resources get the same metadata."""

from typing import Any

from rackwright_pulumi.simulator.computed.context import ResourceRequest, autoname, slug

Outputs = dict[str, Any]

CLUSTER_SCOPED = frozenset(
    {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "DeviceClass", "Namespace", "PersistentVolume", "PriorityClass"}
    | {"StorageClass", "RuntimeClass", "GatewayClass"}  # Kubernetes and the Gateway API
    | {"ClusterQueue", "ResourceFlavor", "Topology", "WorkloadPriorityClass", "AdmissionCheck", "ProvisioningRequestConfig"}  # kueue
    | {"ComputeClass", "GKENetworkParamSet", "Network"}  # GKE
    | {"EC2NodeClass", "NodePool", "ClusterPolicy", "NicClusterPolicy"}  # karpenter, NVIDIA's operators
)
"""Kinds without a namespace, custom ones included (recipes sections 5 and 6)."""


def release(asked: ResourceRequest) -> tuple[str, Outputs]:
    """A Helm release: ``namespace/name`` and the status Helm reports."""
    name, namespace = object_name(asked), asked.get("namespace") or "default"
    status = {
        "name": name,
        "namespace": namespace,
        "chart": str(asked.get("chart", "")).rpartition("/")[2],
        "version": asked.get("version", ""),
        "appVersion": asked.get("version", ""),
        "revision": asked.context.revision,
        "status": "deployed",
    }
    return f"{namespace}/{name}", {"name": name, "namespace": namespace, "status": status, "resourceNames": {}}


def object_name(asked: ResourceRequest) -> str:
    """The object's name: given, or the logical name with eight random-looking digits as the provider makes them."""
    given = asked.get("metadata.name") or (asked.get("name") if asked.token.endswith(":Release") else None)
    return str(given or autoname(slug(asked.name), asked.urn, 53 if asked.token.endswith(":Release") else 63, suffix=asked.hex(8, "name")))


def manifest(asked: ResourceRequest) -> tuple[str, Outputs]:
    """Any other object: ``namespace/name``, or the name alone where the kind has no namespace."""
    if asked.token.endswith(":Release"):
        return release(asked)
    _, version, kind = asked.token.split(":")
    name, namespaced = object_name(asked), kind not in CLUSTER_SCOPED
    namespace = asked.get("metadata.namespace") or "default"
    server = {
        "uid": asked.uuid(),
        "resourceVersion": str(1000 + asked.context.revision),
        "creationTimestamp": asked.context.now,
        "generation": asked.context.revision,
    }
    meta = {**asked.get("metadata", {}), "name": name, **({"namespace": namespace} if namespaced else {}), **server}
    given = {"apiVersion": version.removeprefix("core/"), "kind": kind}
    status = STATUS.get(kind)
    outputs = {**given, "metadata": meta, **({"status": status(asked)} if status else {})}
    return (f"{namespace}/{name}" if namespaced else name), outputs


def _rolled_out(asked: ResourceRequest) -> Outputs:
    replicas = asked.get("spec.replicas", 1)
    return {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas, "updatedReplicas": replicas}


def _service(asked: ResourceRequest) -> Outputs:
    if asked.get("spec.type") != "LoadBalancer":
        return {"loadBalancer": {}}
    return {"loadBalancer": {"ingress": [{"ip": f"198.51.100.{int(asked.hex(4), 16) % 254 + 1}"}]}}


STATUS = {
    "Deployment": _rolled_out,
    "StatefulSet": _rolled_out,
    "DaemonSet": lambda asked: {"desiredNumberScheduled": 0, "numberReady": 0, "currentNumberScheduled": 0, "numberMisscheduled": 0},
    "Job": lambda asked: {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]},
    "Namespace": lambda asked: {"phase": "Active"},
    "PersistentVolume": lambda asked: {"phase": "Bound"},
    "PersistentVolumeClaim": lambda asked: {"phase": "Bound"},
    "Pod": lambda asked: {"phase": "Running"},
    "Service": _service,
}
