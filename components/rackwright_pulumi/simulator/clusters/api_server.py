"""Simulated Kubernetes clusters: which one a kubeconfig reaches, and what its API server refuses."""

import json
from collections.abc import Mapping
from typing import Any

import yaml

from rackwright_pulumi.simulator.computed import ResourceRequest
from rackwright_pulumi.simulator.computed.kubernetes import CLUSTER_SCOPED
from rackwright_pulumi.simulator.provider.values import opened
from rackwright_pulumi.simulator.schema import facts
from rackwright_pulumi.simulator.schema.references import EKS, GKE, cluster_place
from rackwright_pulumi.simulator.store import Record, Store

OUTSIDE = "cluster outside"
"""The place of objects in a cluster that no simulated cloud made: an existing one."""
BORN = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
"""Namespaces every cluster starts with."""
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
}
"""API group to the charts that bring its definitions (recipes section 5E, 6); other groups need a CustomResourceDefinition."""
GKE_GROUPS = ("gke.io", "cloud.google.com", "monitoring.googleapis.com", "gateway.networking.k8s.io", "inference.networking.k8s.io")
"""Groups whose definitions GKE installs by itself."""


def cluster_of(store: Store, config: Mapping[str, Any]) -> tuple[str | None, str]:
    """The place of the cluster a Kubernetes provider's kubeconfig points at, or None with the reason it cannot be reached."""
    address = server(config.get("kubeconfig"))
    if address is None:
        return OUTSIDE, ""
    host = address.removeprefix("https://").partition(":")[0].partition("/")[0]
    for record in (r for type_ in (EKS, GKE) for r in store.all(type_)):
        reason = _unreachable(record, host, store.knob("runner", "inside"))
        if reason is not None:
            return (None, f"dial tcp {host}:443: {reason}") if reason else (cluster_place(record), "")
    if host.endswith((".eks.amazonaws.com", ".gke.goog")):
        return None, f"dial tcp: lookup {host}: no such host"
    return f"{OUTSIDE} {host}", ""


def _unreachable(cluster: Record, host: str, runner: str) -> str | None:
    """None when this is not the host's cluster, "" when it answers, else why it does not."""
    state = opened(cluster.state)
    if cluster.type == EKS:
        if f"https://{host}" != state.get("endpoint"):
            return None
        public = state.get("vpcConfig", {}).get("endpointPublicAccess", True)
        return "" if public or runner == "inside" else "i/o timeout (the endpoint is private and the runner outside)"
    endpoints = state.get("controlPlaneEndpointsConfig", {})
    dns = endpoints.get("dnsEndpointConfig", {})
    if host == dns.get("endpoint"):
        return "" if dns.get("allowExternalTraffic") or runner == "inside" else "403 (the DNS endpoint takes no external traffic)"
    if host != state.get("endpoint"):
        return None
    return "i/o timeout (the IP endpoint is switched off)" if endpoints.get("ipEndpointsConfig", {}).get("enabled") is False else ""


def server(kubeconfig: Any) -> str | None:
    """The API server's address in a kubeconfig (text of JSON or YAML); None where there is none."""
    if not isinstance(kubeconfig, str) or not kubeconfig.strip():
        return None
    try:
        read = json.loads(kubeconfig) if kubeconfig.lstrip().startswith("{") else yaml.safe_load(kubeconfig)
        return read["clusters"][0]["cluster"]["server"]
    except (ValueError, KeyError, IndexError, TypeError, yaml.YAMLError):
        return None


def refuse_object(store: Store, asked: ResourceRequest, where: str) -> str | None:
    """The API server's refusal to make an object, None when it agrees. ``where`` is the cluster's place."""
    kind = asked.token.rpartition(":")[2]
    namespace = asked.get("metadata.namespace") or asked.get("namespace") or "default"
    made = asked.token.endswith(":Release") and asked.get("createNamespace")
    known = namespace in BORN or made or where.startswith(OUTSIDE)
    if kind not in CLUSTER_SCOPED and not known and store.find("kubernetes:core/v1:Namespace", namespace, where) is None:
        return f'namespaces "{namespace}" not found'
    if asked.token.endswith(":Release"):
        return _release(asked)
    if facts.custom(asked.token) and not _defined(store, asked.token, where):
        version = asked.token.split(":")[1]
        return f'no matches for kind "{kind}" in version "{version}": its definition comes with {_brings(asked.token)}'
    return None


def _release(asked: ResourceRequest) -> str | None:
    chart = str(asked.get("chart", ""))
    if chart.startswith((".", "/")) or chart.endswith(".tgz") or asked.get("version"):
        return None
    return f"chart {chart!r} has no version: a floating chart is refused here, pin it"


def _defined(store: Store, token: str, where: str) -> bool:
    group = token.split(":")[1].partition("/")[0]
    if where.startswith(OUTSIDE) or (" projects/" in where and group.endswith(GKE_GROUPS)):
        return True
    charts = [opened(r.inputs).get("chart", "") for r in store.all("kubernetes:helm.sh/v3:Release") if r.place == where]
    if any(str(chart).rpartition("/")[2] in CRD_CHARTS.get(group, ()) for chart in charts):
        return True
    definitions = store.all("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition")
    return any(r.place == where and opened(r.inputs).get("spec", {}).get("group") == group for r in definitions)


def _brings(token: str) -> str:
    charts = CRD_CHARTS.get(token.split(":")[1].partition("/")[0])
    return f"the chart {' or '.join(charts)}" if charts else "a CustomResourceDefinition"
