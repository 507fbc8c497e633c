"""Alerts on queues: jobs that never start are queued again without a limit and hold machines each time."""

from typing import Any

from rackwright.compile.operators.capacity_check import READY_MINUTES

EVICTIONS, WINDOW_HOURS = 2, 2
"""Evictions of a queue in this time that raise the alert. A job that never starts is evicted every 25 minutes at most."""


def queue_alerts() -> dict[str, Any]:
    """PrometheusRules by name. Metric and labels: kubernetes-sigs/kueue pkg/metrics/metrics.go, EvictedWorkloadsTotal. Only the leader of
    the replicas counts."""
    evicted = f'increase(kueue_evicted_workloads_total{{reason="PodsReadyTimeout"}}[{WINDOW_HOURS}h])'
    summary = f"Jobs of queue {{{{ $labels.cluster_queue }}}} were evicted {EVICTIONS} times or more in {WINDOW_HOURS} hours"
    description = (
        f"Their pods were not ready {READY_MINUTES} minutes after admission. Each retry starts and pays for machines. "
        "Find the cause with `kubectl get workloads -A` and `kubectl describe pod`; stop a job with `kubectl delete job`."
    )
    alert = {
        "alert": "JobsNeverStart",
        "expr": f"sum by (cluster_queue) ({evicted}) >= {EVICTIONS}",
        "labels": {"severity": "warning"},
        "annotations": {"summary": summary, "description": description},
    }
    return {"queues": {"groups": [{"name": "queues", "rules": [alert]}]}}
