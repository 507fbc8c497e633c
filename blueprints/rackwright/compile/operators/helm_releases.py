"""Helm releases in order of installation, with values that differ from the chart's defaults."""

from dataclasses import replace
from typing import Any

from rackwright.catalog.read import Catalog
from rackwright.compile.kubernetes.manifests import priority_class
from rackwright.compile.operators.capacity_check import READY_MINUTES, WAIT_MAX_SECONDS, WAIT_SECONDS
from rackwright.compile.operators.versions import CHARTS
from rackwright.stackplan import DiskPlan, ManifestPlan, ReleasePlan
from rackwright.stackplan.labels import QUEUES_LABEL, ROLE_LABEL
from rackwright.stackplan.namespaces import JOBSET_NAMESPACE, KEDA_NAMESPACE, KUEUE_NAMESPACE, MONITORING_NAMESPACE
from rackwright.stackplan.operators import KUBERAY, MONITORING, STACK_METRICS, TRAINER

TOLERATE_ALL = [{"operator": "Exists"}]
PROMETHEUS = "prometheus"
"""Its rows in `catalog/data/storage_limits.csv`."""
METRICS_PRIORITY = "metrics"
METRICS_REPLICAS = 2
"""Of Prometheus and Alertmanager: a drain of one node, or its failure, stops neither autoscaling nor alerts."""
ONE_STAYS = {"enabled": True, "minAvailable": 1}
"""Disruption budget with which a drain waits until the other replica runs."""
PROMETHEUS_REQUESTS = {"cpu": "500m", "memory": "2Gi"}
"""Assumed, so that the scheduler keeps room for Prometheus on a system node."""
SYSTEM_NODE_SELECTOR = {ROLE_LABEL: "system"}
JOBS = "batch/job"
FRAMEWORKS = {
    "jobset": ("jobset.x-k8s.io/jobset",),
    "lws": ("leaderworkerset.x-k8s.io/leaderworkerset", "pod"),
    TRAINER: ("trainer.kubeflow.org/trainjob",),
    KUBERAY: ("ray.io/rayjob", "ray.io/raycluster"),
}
"""Operator -> kinds of jobs that Kueue manages where it is installed (kueue.sigs.k8s.io/docs/reference/kueue-config.v1beta2/#Integrations).
Pods alone are not managed: one without accelerators would wait in the queue `default` for an accelerator node."""
ALERTMANAGER = {
    "podDisruptionBudget": ONE_STAYS,
    "alertmanagerSpec": {"replicas": METRICS_REPLICAS, "nodeSelector": SYSTEM_NODE_SELECTOR},
}


def release(name: str, namespace: str, values: dict[str, Any], after: tuple[str, ...] = ()) -> ReleasePlan:
    chart = CHARTS[name]
    return ReleasePlan(name, namespace, chart.chart, chart.version, chart.repository, values, after)


def monitoring(catalog: Catalog, storage: ManifestPlan | str, rules: dict[str, Any] | None = None) -> ReleasePlan:
    """Prometheus for monitors of all namespaces and releases. Control-plane targets are off, because the cloud does not expose them.

    Two replicas read the same targets; the service of Prometheus answers from one of them. The chart prefers different nodes for them.
    Metrics of each are on a disk of the class `storage`, so that a restart and another node keep them. Their size is limited below that
    of the disk. A teardown removes Prometheus and its disks while the driver of the disks still runs; Helm keeps claims of a StatefulSet.
    Units of Prometheus are powers of 1024: https://prometheus.io/docs/prometheus/latest/storage/
    storage: the class, the name of one that exists, or empty: metrics are lost with the pod. rules: PrometheusRules of the chart, by name.
    """
    name = storage if isinstance(storage, str) else storage.body["metadata"]["name"]
    hidden = ("kubeControllerManager", "kubeScheduler", "kubeEtcd", "kubeProxy", "coreDns")
    values = {name: {"enabled": False} for name in hidden} | {
        "prometheus": {"podDisruptionBudget": ONE_STAYS, "prometheusSpec": _prometheus(catalog, name)},
        "alertmanager": ALERTMANAGER,
        "prometheusOperator": {"nodeSelector": SYSTEM_NODE_SELECTOR},
        "grafana": {"enabled": False},
        "fullnameOverride": STACK_METRICS.service.removesuffix("-prometheus"),
    }
    values |= {"additionalPrometheusRulesMap": rules} if rules else {}
    after = () if isinstance(storage, str) else (storage.key,)
    plan = release(MONITORING, MONITORING_NAMESPACE, values, (*after, metrics_priority().key))
    claims = (DiskPlan(catalog.storage_limit(PROMETHEUS, "disk_gib")),) * METRICS_REPLICAS if after else ()
    return replace(plan, claims=claims, teardown_values={"prometheus": {"enabled": False}})


def _prometheus(catalog: Catalog, storage_class: str) -> dict[str, Any]:
    """Spec of Prometheus, each replica with a disk of the class. storage_class: empty for no disk."""
    limits = ("disk_gib", "retention_days", "retention_gib")
    disk_gib, days, kept_gib = (catalog.storage_limit(PROMETHEUS, limit) for limit in limits)
    size = {"requests": {"storage": f"{disk_gib}Gi"}}
    claim = {"storageClassName": storage_class, "accessModes": ["ReadWriteOnce"], "resources": size}
    disk = {"storageSpec": {"volumeClaimTemplate": {"spec": claim}}} if storage_class else {}
    selectors = {f"{kind}SelectorNilUsesHelmValues": False for kind in ("serviceMonitor", "podMonitor", "rule")}
    return {
        "replicas": METRICS_REPLICAS,
        **selectors,
        "retention": f"{days}d",
        "retentionSize": f"{kept_gib}GB",
        **disk,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
        "nodeSelector": SYSTEM_NODE_SELECTOR,
        "priorityClassName": METRICS_PRIORITY,
        "resources": {"requests": PROMETHEUS_REQUESTS},
    }


def metrics_priority() -> ManifestPlan:
    """Priority of Prometheus over ordinary pods of the system pool: autoscalers stop without its answers. `system-cluster-critical` is for
    kube-system (cloud.google.com/kubernetes-engine/quotas)."""
    text = "Metrics, which autoscalers depend on."
    return priority_class(METRICS_PRIORITY, 1_000_000, text, preempts=True, layer="operators")


def jobset() -> ReleasePlan:
    controller = {"replicas": 2, "nodeSelector": SYSTEM_NODE_SELECTOR, "podDisruptionBudget": {"enabled": True}}
    return release("jobset", JOBSET_NAMESPACE, {"controller": controller})


def kueue(releases: tuple[ReleasePlan, ...], claims: tuple[str, str] | None = None, kinds: tuple[str, ...] = ()) -> ReleasePlan:
    """Installed after `releases`, because its webhook rejects the jobs of all charts while it starts.

    claims: (resource, device class): claims of the class count towards the quota of the resource; Kueue rejects other classes
    (kubernetes-sigs/kueue@ff69552 site/content/en/docs/tasks/manage/setup_dra.md). Prometheus reads its metrics where it is installed.
    Kueue manages namespaces with QUEUES_LABEL only. The chart gives the selector to its webhooks, so that pods and jobs of other namespaces
    start while Kueue is down (github.com/kubernetes-sigs/kueue/pull/5323). Kinds of jobs are those whose operator is among `releases`, and
    `kinds` of operators without a release.
    """
    manager = {
        "replicas": 2,
        "nodeSelector": SYSTEM_NODE_SELECTOR,
        "podDisruptionBudget": {"enabled": True},
        "manager": {"resources": {"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}}},
    }
    device_claims = KUEUE_CLAIMS.format(*claims) if claims else ""
    frameworks = ", ".join((JOBS, *(kind for plan in releases for kind in FRAMEWORKS.get(plan.name, ())), *kinds))
    config = KUEUE_CONFIG.format(QUEUES_LABEL, READY_MINUTES, WAIT_SECONDS, WAIT_MAX_SECONDS, device_claims, frameworks)
    values: dict[str, Any] = {"controllerManager": manager, "managerConfig": {"controllerManagerConfigYaml": config}}
    values |= {"enablePrometheus": True} if any(r.name == MONITORING for r in releases) else {}
    return release("kueue", KUEUE_NAMESPACE, values, tuple(r.name for r in releases))


def keda() -> ReleasePlan:
    values = {
        "operator": {"replicaCount": 2},
        "metricsServer": {"replicaCount": 2},
        "nodeSelector": SYSTEM_NODE_SELECTOR,
        "podDisruptionBudget": {"operator": {"maxUnavailable": 1}, "metricServer": {"maxUnavailable": 1}},
    }
    return release("keda", KEDA_NAMESPACE, values, (MONITORING,))


KUEUE_CONFIG = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health:
  healthProbeBindAddress: :8081
metrics:
  bindAddress: :8443
  enableClusterQueueResources: true
webhook:
  port: 9443
leaderElection:
  leaderElect: true
  resourceName: c1f6bfd2.kueue.x-k8s.io
managedJobsNamespaceSelector:
  matchLabels:
    {}: "true"
waitForPodsReady:
  timeout: {}m
  recoveryTimeout: 5m
  blockAdmission: false
  requeuingStrategy:
    timestamp: Eviction
    backoffLimitCount: null
    backoffBaseSeconds: {}
    backoffMaxSeconds: {}
resources:
  excludeResourcePrefixes: [ephemeral-storage]
{}integrations:
  frameworks: [{}]
"""
"""Kueue's configuration file. A group of pods that is not ready in time releases its machines and is queued again, without a limit of
retries, after which Kueue would deactivate the job. Disk has no quota, so it is excluded; jobs that request it would never be admitted."""
KUEUE_CLAIMS = """\
  deviceClassMappings:
    - name: {}
      deviceClassNames: [{}]
"""
