"""Kubernetes objects of a model server on any cloud: workload, service, disruption budget, metrics and autoscaling."""

from rackwright.compile.kubernetes.manifests import obj
from rackwright.compile.serving.model_server import ModelServer, deployment
from rackwright.compile.serving.scaler import scaler
from rackwright.stackplan import ManifestPlan
from rackwright.stackplan.labels import SERVER_PORT
from rackwright.stackplan.operators import MONITORING


def server_objects(server: ModelServer, workload: ManifestPlan | None = None) -> tuple[ManifestPlan, ...]:
    """Objects of a server. workload: runs the replicas in place of a Deployment."""
    runs, name, namespace, selector = workload or deployment(server), server.name, server.namespace, {"matchLabels": server.labels}
    ports = [{"name": "http", "port": SERVER_PORT, "targetPort": "http"}]
    ports += [{"name": "metrics", "port": server.metrics_port, "targetPort": "metrics"}] if server.metrics_port else []
    service = obj("v1", "Service", server.service, namespace, {"selector": server.serving_labels, "ports": ports}, labels=server.labels)
    budget = {"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow", "selector": selector}
    monitor = {"selector": selector, "endpoints": [{"port": [*server.ports][-1], "path": server.metrics_path, "interval": "15s"}]}
    return (
        runs,
        ManifestPlan(server.key("service"), service),
        ManifestPlan(server.key("budget"), obj("policy/v1", "PodDisruptionBudget", name, namespace, budget)),
        ManifestPlan(server.key("monitor"), obj("monitoring.coreos.com/v1", "ServiceMonitor", name, namespace, monitor), (MONITORING,)),
        scaler(server, runs),
    )
