"""Alert on old checkpoints, from a gauge that the training program publishes."""

from rackwright.catalog.release.alert_rows import alert_row
from rackwright.compile.kubernetes.manifests import obj
from rackwright.compile.observability.alert import Rule, alert
from rackwright.stackplan import ManifestPlan
from rackwright.stackplan.operators import MONITORING

METRIC = "rackwright_checkpoint_timestamp_seconds"
"""Gauge of the program: Unix time of the newest complete checkpoint. No exporter knows when a checkpoint is complete."""
PORT = "metrics"
"""Name of the container port."""


def checkpoint_age(interval_s: float) -> Rule:
    row = alert_row("CheckpointOld")
    limit_s = (row.threshold or 0) * interval_s
    summary = f"The newest checkpoint in {{{{ $labels.namespace }}}} is older than {limit_s / 60:.0f} minutes"
    text = f"The plan writes one every {interval_s / 60:.0f} minutes. An interruption loses the work since the newest one."
    return alert(row.alert, f"time() - max by (namespace) ({METRIC}) > {limit_s:.0f}", summary, text)


def job_metrics(namespace: str) -> ManifestPlan:
    """Prometheus reads every pod of the namespace that has a container port with the name `metrics`."""
    spec = {"selector": {}, "podMetricsEndpoints": [{"port": PORT, "path": "/metrics", "interval": "30s"}]}
    return ManifestPlan("jobs.metrics", obj("monitoring.coreos.com/v1", "PodMonitor", "jobs", namespace, spec), (MONITORING,))
