"""Alerts on one model server: slow first tokens, and requests that wait although the fleet may grow."""

from rackwright.catalog.release.alert_rows import alert_row
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.observability.alert import Rule, alert, rule_object
from rackwright.compile.serving.model_server import ModelServer
from rackwright.compile.serving.scaler import quantile
from rackwright.stackplan import ManifestPlan


def serving_alerts(context: CompileContext, server: ModelServer) -> tuple[ManifestPlan, ...]:
    """Rules for the metrics that the server publishes; none where the spec switches alerts off."""
    first = [_first_token(server)] if server.first_token and server.engine_metrics.first_token else []
    rules = [*first, *([_requests_wait(server)] if server.engine_metrics.queue_time else [])]
    if not rules or not context.spec.blueprint.monitoring.alerts:
        return ()
    return (rule_object(server.key("alerts"), server.name, server.namespace, rules),)


def _first_token(server: ModelServer) -> Rule:
    row = alert_row("FirstTokenSlow")
    goal_s, percentile = server.first_token or (0.0, 0)
    observed = quantile(server.engine_metrics.first_token, percentile / 100, row.window_minutes or 0, server)
    summary = f"p{percentile} of the time to first token of {server.name} is above the goal of {goal_s:g} s"
    text = f"The fleet grows to {server.max_replicas} replicas. Raise max_replicas, or size it for a higher rate."
    return alert(row.alert, f"{observed} > {goal_s:g}", summary, text)


def _requests_wait(server: ModelServer) -> Rule:
    row = alert_row("RequestsWait")
    observed = quantile(server.engine_metrics.queue_time, 0.95, row.window_minutes or 0, server)
    summary = f"5 % of the requests to {server.name} wait more than {row.threshold:g} s in the queue"
    text = f"The fleet has at most {server.max_replicas} replicas. See `kubectl get scaledobject,pods -n {server.namespace}`."
    return alert(row.alert, f"{observed} > {row.threshold:g}", summary, text)
