"""Metrics of model servers by which fleets scale and alert."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EngineMetrics:
    """Names of metrics. waiting: requests in the queue. running: requests in the batch; empty where the server has none.

    first_token: histogram of the time to first token. queue_time: histogram of the wait in the queue. Empty: not published.
    """

    waiting: str
    running: str = ""
    first_token: str = ""
    queue_time: str = ""


VLLM_METRICS = EngineMetrics(
    "vllm:num_requests_waiting", "vllm:num_requests_running", "vllm:time_to_first_token_seconds", "vllm:request_queue_time_seconds"
)
"""vllm-project/vllm vllm/v1/metrics/loggers.py; catalog/data/exporter_metrics.csv."""
SGLANG_METRICS = EngineMetrics(
    "sglang:num_queue_reqs", "sglang:num_running_reqs", "sglang:time_to_first_token_seconds", "sglang:queue_time_seconds"
)
"""With --enable-metrics (sgl-project/sglang python/sglang/srt/metrics/collector.py)."""
