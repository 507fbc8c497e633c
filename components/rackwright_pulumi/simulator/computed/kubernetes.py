"""Outputs of a Kubernetes API server: uid, resourceVersion, status. Custom resources have the same metadata."""

from rackwright_pulumi.naming import chart_name
from rackwright_pulumi.simulator.computed.context import Outputs, ResourceRequest, autoname, lower_case_name

CLUSTER_SCOPED = frozenset(
    {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "DeviceClass", "Namespace", "PersistentVolume", "PriorityClass"}
    | {"StorageClass", "RuntimeClass", "GatewayClass"}  # Kubernetes and the Gateway API
    | {"ClusterQueue", "ResourceFlavor", "Topology", "WorkloadPriorityClass", "AdmissionCheck", "ProvisioningRequestConfig"}  # kueue
    | {"ComputeClass", "GKENetworkParamSet", "Network"}  # GKE
    | {"EC2NodeClass", "NodePool", "ClusterPolicy", "NicClusterPolicy"}  # karpenter, NVIDIA's operators
)
"""Kinds without a namespace, including custom ones."""


def release(request: ResourceRequest) -> tuple[str, Outputs]:
    """A Helm release: id ``namespace/name`` and Helm's status."""
    name, namespace = object_name(request), request.get("namespace") or "default"
    status = {
        "name": name,
        "namespace": namespace,
        "chart": chart_name(request.get("chart", "")),
        "version": request.get("version", ""),
        "appVersion": request.get("version", ""),
        "revision": request.context.revision,
        "status": "deployed",
    }
    return f"{namespace}/{name}", {"name": name, "namespace": namespace, "status": status, "resourceNames": {}}


def object_name(request: ResourceRequest) -> str:
    """The object's name: the input, or the logical name with 8 hexadecimal digits, the provider's form."""
    release = request.token.endswith(":Release")
    given = request.get("metadata.name") or (request.get("name") if release else None)
    return str(given or autoname(lower_case_name(request.name), request.urn, 53 if release else 63, suffix=request.hex(8, "name")))


def manifest(request: ResourceRequest) -> tuple[str, Outputs]:
    """Any object: id ``namespace/name``, or ``name`` for kinds without a namespace."""
    if request.token.endswith(":Release"):
        return release(request)
    _, version, kind = request.token.split(":")
    name, namespaced = object_name(request), kind not in CLUSTER_SCOPED
    namespace = request.get("metadata.namespace") or "default"
    server = {
        "uid": request.uuid(),
        "resourceVersion": str(1000 + request.context.revision),
        "creationTimestamp": request.context.now,
        "generation": request.context.revision,
    }
    meta = {**request.get("metadata", {}), "name": name, **({"namespace": namespace} if namespaced else {}), **server}
    given = {"apiVersion": version.removeprefix("core/"), "kind": kind}
    status = STATUS.get(kind)
    outputs = {**given, "metadata": meta, **({"status": status(request)} if status else {})}
    return (f"{namespace}/{name}" if namespaced else name), outputs


def _rolled_out(request: ResourceRequest) -> Outputs:
    replicas = request.get("spec.replicas", 1)
    return {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas, "updatedReplicas": replicas}


def _service(request: ResourceRequest) -> Outputs:
    if request.get("spec.type") != "LoadBalancer":
        return {"loadBalancer": {}}
    return {"loadBalancer": {"ingress": [{"ip": f"198.51.100.{int(request.hex(4), 16) % 254 + 1}"}]}}


STATUS = {
    "Deployment": _rolled_out,
    "StatefulSet": _rolled_out,
    "DaemonSet": lambda request: {"desiredNumberScheduled": 0, "numberReady": 0, "currentNumberScheduled": 0, "numberMisscheduled": 0},
    "Job": lambda request: {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]},
    "Namespace": lambda request: {"phase": "Active"},
    "PersistentVolume": lambda request: {"phase": "Bound"},
    "PersistentVolumeClaim": lambda request: {"phase": "Bound"},
    "Pod": lambda request: {"phase": "Running"},
    "Service": _service,
}
