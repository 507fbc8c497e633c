"""Alert on jobs that wait long for admission. Metrics: Kueue."""

from rackwright.catalog.release.alert_rows import alert_row
from rackwright.compile.observability.alert import Rule, alert


def queue_wait() -> Rule:
    row = alert_row("QueueWaitLong")
    seconds, minutes = (row.threshold or 0) * 60, row.window_minutes or 0
    buckets = f"sum by (cluster_queue, le) (rate(kueue_admission_wait_time_seconds_bucket[{minutes}m]))"
    summary = f"Jobs of queue {{{{ $labels.cluster_queue }}}} wait more than {row.threshold:g} minutes for admission"
    text = f"90th percentile of the last {minutes // 60} hours. Add nodes, or lower the use of other teams."
    return alert(row.alert, f"histogram_quantile(0.9, {buckets}) > {seconds:g}", summary, text)
