"""Helm releases, in the order they are installed. Values are only those that differ from the chart's own."""

from typing import Any

from rackwright.compile.pools import ROLE_LABEL
from rackwright.compile.versions import CHARTS
from rackwright.compile.wants import ReleaseWant

EVERYWHERE = [{"operator": "Exists"}]
ON_SYSTEM = {ROLE_LABEL: "system"}
MONITORING = "kube-prometheus-stack"
METRICS_SIZE = "30GB"
"""Of the 100 GiB of a system node's disk."""
NAMESPACES = (
    ("monitoring", "privileged"),
    ("jobset-system", "restricted"),
    ("kueue-system", "restricted"),
    ("keda", "restricted"),
    ("lws-system", "restricted"),
)
"""Namespaces of releases and their pod security level; the node exporter of `monitoring` reads the host."""
SYSTEM_NAMESPACES = ("kube-system", "monitoring", "jobset-system", "kueue-system")
"""Namespaces whose jobs Kueue must leave alone: an operator's own hook Job would wait for a queue for ever."""


def release(name: str, namespace: str, values: dict[str, Any], after: tuple[str, ...] = ()) -> ReleaseWant:
    chart = CHARTS[name]
    return ReleaseWant(name, namespace, chart.chart, chart.version, chart.repository, values, after)


def monitoring() -> ReleaseWant:
    """Metrics of everything: monitors of any namespace and release are read. Control-plane scrapes are off: the cloud hides those ports.

    They lie on the node's own disk, so what they may take of it is bounded: a full disk would evict every operator.
    """
    hidden = ("kubeControllerManager", "kubeScheduler", "kubeEtcd", "kubeProxy", "coreDns")
    found = {f"{kind}SelectorNilUsesHelmValues": False for kind in ("serviceMonitor", "podMonitor", "rule")}
    values = {name: {"enabled": False} for name in hidden} | {
        "prometheus": {"prometheusSpec": {**found, "retention": "15d", "retentionSize": METRICS_SIZE, "nodeSelector": ON_SYSTEM}},
        "alertmanager": {"alertmanagerSpec": {"nodeSelector": ON_SYSTEM}},
        "prometheusOperator": {"nodeSelector": ON_SYSTEM},
        "grafana": {"enabled": False},
        "fullnameOverride": "monitoring",
    }
    return release(MONITORING, "monitoring", values)


def efa_plugin(machine: str) -> ReleaseWant:
    """Shows EFA interfaces to pods as vpc.amazonaws.com/efa, on the pool's machines only."""
    values = {"tolerations": EVERYWHERE, "supportedInstanceLabels": {"values": [machine]}}
    return release("aws-efa-k8s-device-plugin", "kube-system", values)


def nvidia_plugin() -> ReleaseWant:
    """Shows GPUs to pods and labels nodes with what they are; its own node feature discovery is the cluster's only one."""
    return release("nvidia-device-plugin", "kube-system", {"gfd": {"enabled": True}, "tolerations": EVERYWHERE})


def jobset() -> ReleaseWant:
    controller = {"replicas": 2, "nodeSelector": ON_SYSTEM, "podDisruptionBudget": {"enabled": True}}
    return release("jobset", "jobset-system", {"controller": controller})


def kueue(after: tuple[str, ...]) -> ReleaseWant:
    """Last of the operators: its webhook sees every Job of every chart and refuses them while it starts."""
    manager = {
        "replicas": 2,
        "nodeSelector": ON_SYSTEM,
        "podDisruptionBudget": {"enabled": True},
        "manager": {"resources": {"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}}},
    }
    values = {"controllerManager": manager, "managerConfig": {"controllerManagerConfigYaml": KUEUE_CONFIG}}
    return release("kueue", "kueue-system", values, after)


def keda() -> ReleaseWant:
    values = {
        "operator": {"replicaCount": 2},
        "metricsServer": {"replicaCount": 2},
        "nodeSelector": ON_SYSTEM,
        "podDisruptionBudget": {"operator": {"maxUnavailable": 1}, "metricServer": {"maxUnavailable": 1}},
    }
    return release("keda", "keda", values, (MONITORING,))


KUEUE_CONFIG = f"""\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health:
  healthProbeBindAddress: :8081
metrics:
  bindAddress: :8443
webhook:
  port: 9443
leaderElection:
  leaderElect: true
  resourceName: c1f6bfd2.kueue.x-k8s.io
managedJobsNamespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values: [{", ".join(SYSTEM_NAMESPACES)}]
waitForPodsReady:
  timeout: 15m
  recoveryTimeout: 5m
  blockAdmission: false
  requeuingStrategy:
    timestamp: Eviction
    backoffLimitCount: 5
resources:
  excludeResourcePrefixes: [ephemeral-storage]
integrations:
  frameworks: [batch/job, jobset.x-k8s.io/jobset, leaderworkerset.x-k8s.io/leaderworkerset, pod]
"""
"""Kueue's own configuration file; a gang whose pods are not all ready in 15 minutes gives its machines back. What has no quota is left out
of the reckoning: a job that reserves disk would otherwise never be admitted."""
