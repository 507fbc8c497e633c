"""Autoscaling of model servers with KEDA, by metrics of Prometheus."""

from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.compile.serving.model_server import NODE_START_S, ModelServer
from rackwright.stackplan import ManifestPlan

BUSY_SHARE = 0.8
"""Part of the sized concurrency at which another replica starts."""
WAITING_PER_REPLICA = 4
"""Queued requests per replica at which another replica starts."""
GOAL_SHARE = 0.8
"""Part of the goal for the time to first token at which replicas are added: a new one needs minutes to load its weights."""
COOLDOWN_S = 300
NEVER_REACHED = "1000000"
"""Threshold of the trigger that only starts the first replica; the others decide about more."""
WINDOW_MINUTES = 2
"""Window of the percentile of the time to first token."""


def scaler(server: ModelServer, runs: ManifestPlan) -> ManifestPlan:
    """Scales by the largest of its signals: queued requests, requests in flight relative to the sized concurrency, and the time to first
    token relative to its goal."""
    spec = {
        "scaleTargetRef": {"apiVersion": runs.body["apiVersion"], "kind": runs.body["kind"], "name": server.name},
        "minReplicaCount": server.min_replicas,
        "maxReplicaCount": server.max_replicas,
        "pollingInterval": 15,
        "cooldownPeriod": _cooldown_s(server),
        "fallback": {"failureThreshold": 3, "replicas": server.default_replicas},
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 300}}}},
        "triggers": _triggers(server),
    }
    body = obj("keda.sh/v1alpha1", "ScaledObject", server.name, server.namespace, spec)
    return ManifestPlan(server.key("scaler"), body, ("keda", runs.key))


def quantile(histogram: str, share: float, minutes: int, server: ModelServer) -> str:
    """A percentile of a histogram over all replicas. share: 0.95 for p95."""
    rates = f"sum by (le) (rate({histogram}_bucket{_of(server)}[{minutes}m]))"
    return f"histogram_quantile({share:g}, {rates})"


def _cooldown_s(server: ModelServer) -> int:
    """Time without requests after which the last replica stops: at least that of its start, so that it does not stop while it starts."""
    return COOLDOWN_S if server.min_replicas else max(COOLDOWN_S, NODE_START_S + server.load_s)


def _triggers(server: ModelServer) -> list[Body]:
    metrics = server.engine_metrics
    waiting = _sum(metrics.waiting, server)
    found = [_trigger(waiting, f"{WAITING_PER_REPLICA}", server)]
    if metrics.running:
        busy = max(1, int(server.concurrency * BUSY_SHARE))
        found.append(_trigger(f"{waiting} + {_sum(metrics.running, server)}", f"{busy}", server))
    if server.first_token and metrics.first_token:
        goal_s, percentile = server.first_token
        observed = quantile(metrics.first_token, percentile / 100, WINDOW_MINUTES, server)
        # Without requests the percentile is NaN, which the comparison drops.
        found.append(_trigger(f"({observed} >= 0) or vector(0)", f"{goal_s * GOAL_SHARE:g}", server, "Value"))
    if server.wake_query:
        wake = _trigger(server.wake_query, NEVER_REACHED, server, "Value")
        found.append(wake | {"metadata": wake["metadata"] | {"activationThreshold": "0"}})
    return found


def _of(server: ModelServer, own: str = "") -> str:
    """Label matchers of a server. own: a further one."""
    return f'{{namespace="{server.namespace}",service="{server.service}"{f",{own}" if own else ""}}}'


def _sum(metric: str, server: ModelServer) -> str:
    """metric: a name, or a name with a label matcher."""
    name, _, own = metric.rstrip("}").partition("{")
    return f"sum({name}{_of(server, own)})"


def _trigger(query: str, threshold: str, server: ModelServer, kind: str = "AverageValue") -> Body:
    """kind: `AverageValue` for sums, which are divided by the replicas; `Value` for figures that are equal on all of them."""
    return {
        "type": "prometheus",
        "metricType": kind,
        "metadata": {"serverAddress": server.metrics.url, "query": query, "threshold": threshold},
    }
