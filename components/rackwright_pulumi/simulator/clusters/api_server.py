"""Simulated Kubernetes clusters: the cluster of a kubeconfig, and the errors of its API server."""

import json
from collections.abc import Mapping
from typing import Any

import yaml

from rackwright_pulumi.naming import chart_name
from rackwright_pulumi.simulator.computed import ResourceRequest
from rackwright_pulumi.simulator.computed.kubernetes import CLUSTER_SCOPED
from rackwright_pulumi.simulator.provider.values import unwrap_secrets
from rackwright_pulumi.simulator.schema import facts
from rackwright_pulumi.simulator.schema.references import EKS, GKE, cluster_place
from rackwright_pulumi.simulator.store import Record, Store

EXTERNAL = "cluster outside"
"""Place of objects in an existing cluster outside of the simulated clouds."""
DEFAULT_NAMESPACES = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
"""Namespaces of every new cluster."""
CRD_CHARTS = {
    "kueue.x-k8s.io": ("kueue",),
    "jobset.x-k8s.io": ("jobset",),
    "leaderworkerset.x-k8s.io": ("lws",),
    "keda.sh": ("keda",),
    "karpenter.sh": ("karpenter-crd", "karpenter"),
    "karpenter.k8s.aws": ("karpenter-crd", "karpenter"),
    "monitoring.coreos.com": ("kube-prometheus-stack", "prometheus-operator-crds"),
    "mellanox.com": ("network-operator",),
    "nv-ipam.nvidia.com": ("network-operator",),
    "sriovnetwork.openshift.io": ("network-operator",),
    "nvidia.com": ("gpu-operator",),
    "cert-manager.io": ("cert-manager",),
    "gateway.envoyproxy.io": ("gateway-helm",),
    "gateway.networking.k8s.io": ("gateway-helm",),
    "trainer.kubeflow.org": ("kubeflow-trainer",),
    "ray.io": ("kuberay-operator",),
}
"""API group to the charts that install its definitions; other groups need a CustomResourceDefinition."""
GKE_GROUPS = ("gke.io", "cloud.google.com", "monitoring.googleapis.com", "gateway.networking.k8s.io", "inference.networking.k8s.io")
"""Groups whose definitions GKE installs."""


def cluster_of(store: Store, config: Mapping[str, Any]) -> tuple[str | None, str]:
    """Place of the cluster in a Kubernetes provider's kubeconfig, or None with the reason why it is unreachable."""
    address = server_address(config.get("kubeconfig"))
    if address is None:
        return EXTERNAL, ""
    host = address.removeprefix("https://").partition(":")[0].partition("/")[0]
    for record in (r for type_ in (EKS, GKE) for r in store.all(type_)):
        reason = _unreachable(record, host, store.setting("runner", "inside"))
        if reason is not None:
            return (None, f"dial tcp {host}:443: {reason}") if reason else (cluster_place(record), "")
    if host.endswith((".eks.amazonaws.com", ".gke.goog")):
        return None, f"dial tcp: lookup {host}: no such host"
    return f"{EXTERNAL} {host}", ""


def _unreachable(cluster: Record, host: str, runner: str) -> str | None:
    """None if the cluster has another host, "" if it is reachable, else the reason why not."""
    state = unwrap_secrets(cluster.state)
    if cluster.type == EKS:
        if f"https://{host}" != state.get("endpoint"):
            return None
        public = state.get("vpcConfig", {}).get("endpointPublicAccess", True)
        return "" if public or runner == "inside" else "i/o timeout (the endpoint is private, and the runner is outside the network)"
    endpoints = state.get("controlPlaneEndpointsConfig", {})
    dns = endpoints.get("dnsEndpointConfig", {})
    if host == dns.get("endpoint"):
        return "" if dns.get("allowExternalTraffic") or runner == "inside" else "403 (the DNS endpoint does not allow external traffic)"
    if host != state.get("endpoint"):
        return None
    if endpoints.get("ipEndpointsConfig", {}).get("enabled") is False:
        return "i/o timeout (the IP endpoint is disabled)"
    public = not state.get("privateClusterConfig", {}).get("enablePrivateEndpoint")
    return "" if public or runner == "inside" else "i/o timeout (the endpoint is private, and the runner is outside the network)"


def server_address(kubeconfig: Any) -> str | None:
    """The API server's address in a kubeconfig (JSON or YAML text); None without one."""
    if not isinstance(kubeconfig, str) or not kubeconfig.strip():
        return None
    try:
        config = json.loads(kubeconfig) if kubeconfig.lstrip().startswith("{") else yaml.safe_load(kubeconfig)
        return config["clusters"][0]["cluster"]["server"]
    except (ValueError, KeyError, IndexError, TypeError, yaml.YAMLError):
        return None


def object_error(store: Store, request: ResourceRequest, cluster: str) -> str | None:
    """The API server's error when an object is created, None without one."""
    kind = request.token.rpartition(":")[2]
    namespace = request.get("metadata.namespace") or request.get("namespace") or "default"
    creates_namespace = request.token.endswith(":Release") and request.get("createNamespace")
    has_namespace = namespace in DEFAULT_NAMESPACES or creates_namespace or cluster.startswith(EXTERNAL)
    if kind not in CLUSTER_SCOPED and not has_namespace and store.find("kubernetes:core/v1:Namespace", namespace, cluster) is None:
        return f'namespaces "{namespace}" not found'
    if request.token.endswith(":Release"):
        chart = str(request.get("chart", ""))
        is_pinned = chart.startswith((".", "/")) or chart.endswith(".tgz") or request.get("version")
        return None if is_pinned else f"chart {chart!r} has no version; the simulator requires a pinned version"
    if facts.custom(request.token) and not _is_defined(store, request.token, cluster):
        version = request.token.split(":")[1]
        charts = CRD_CHARTS.get(version.partition("/")[0])
        source = f"the chart {' or '.join(charts)}" if charts else "a CustomResourceDefinition"
        return f'no matches for kind "{kind}" in version "{version}": its definition is installed by {source}'
    return None


def _is_defined(store: Store, token: str, cluster: str) -> bool:
    group = token.split(":")[1].partition("/")[0]
    if cluster.startswith(EXTERNAL) or (" projects/" in cluster and group.endswith(GKE_GROUPS)):
        return True
    charts = [unwrap_secrets(r.inputs).get("chart", "") for r in store.all("kubernetes:helm.sh/v3:Release") if r.place == cluster]
    if any(chart_name(chart) in CRD_CHARTS.get(group, ()) for chart in charts):
        return True
    definitions = store.all("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition")
    return any(r.place == cluster and unwrap_secrets(r.inputs).get("spec", {}).get("group") == group for r in definitions)
