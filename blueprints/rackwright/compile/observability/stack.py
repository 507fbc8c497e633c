"""Adds alerts, receivers, dashboards and the cost per team to a compiled stack with Prometheus."""

from dataclasses import replace
from typing import Any

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.manifests import Body
from rackwright.compile.observability.alert import Rule, groups, rule_object
from rackwright.compile.observability.checkpoint_age import checkpoint_age, job_metrics
from rackwright.compile.observability.dashboards import ADMIN_KEY, dashboard_objects, grafana_secret, grafana_values
from rackwright.compile.observability.gpu_alerts import collected_metrics, gpu_alerts
from rackwright.compile.observability.queue_wait import queue_wait
from rackwright.compile.observability.receivers import SECRET_KEY, alertmanager_values, receiver_secret
from rackwright.compile.observability.team_cost import cost_rules
from rackwright.stackplan import ManifestPlan, ReleasePlan, StackPlan
from rackwright.stackplan.operators import GPU_OPERATOR, MONITORING

EXPORTER = "dcgm-exporter"
RULES = "additionalPrometheusRulesMap"
PLACEMENT = ("nodeSelector", "tolerations")


def with_observability(context: CompileContext, plan: StackPlan) -> StackPlan:
    """The plan with the alerts, dashboards and receivers of its spec; unchanged without Prometheus.

    Rules of the whole cluster are values of the release, or an object where the cluster has Prometheus already. Rules of the stack are
    objects in the namespace of its team. A stack in a cluster of another one has only those.
    """
    releases = {release.name: release for release in plan.releases}
    if plan.cluster is None or not ({MONITORING} & {*releases, *plan.installed}):
        return plan
    settings = context.spec.blueprint.monitoring
    shared = _cluster_rules(plan, {*releases, *plan.installed}) if settings.alerts else {}
    changed = tuple(_collecting(release) if settings.alerts else release for release in plan.releases)
    changed = tuple(_monitoring(context, release, shared) if release.name == MONITORING else release for release in changed)
    manifests = (*plan.manifests, *_secrets(context, MONITORING in releases), *_team_objects(context, plan))
    if MONITORING in plan.installed:
        rules = [rule for spec in shared.values() for group in spec["groups"] for rule in group["rules"]]
        manifests += (replace(rule_object("alerts.cluster", "cluster", context.namespace, rules), after=()),) if rules else ()
        manifests = tuple(replace(each, after=tuple(key for key in each.after if key != MONITORING)) for each in manifests)
    return replace(plan, releases=changed, manifests=manifests)


def _cluster_rules(plan: StackPlan, names: set[str]) -> dict[str, Body]:
    """PrometheusRules of GPUs and queues, by name."""
    found = {"gpus": groups("gpus", gpu_alerts(plan.kind))} if names & {EXPORTER, GPU_OPERATOR} else {}
    return found | ({"queue-wait": groups("queue-wait", [queue_wait()])} if "kueue" in names else {})


def _collecting(release: ReleasePlan) -> ReleasePlan:
    """The release whose GPU exporter collects the metrics of the alerts too."""
    if release.name == EXPORTER:
        return replace(release, values=release.values | {"customMetrics": collected_metrics()})
    if release.name == GPU_OPERATOR:
        config = {"config": {"name": "gpu-metrics", "create": True, "data": collected_metrics()}}
        return replace(release, values=release.values | {"dcgmExporter": release.values["dcgmExporter"] | config})
    return release


def _monitoring(context: CompileContext, release: ReleasePlan, rules: dict[str, Body]) -> ReleasePlan:
    blueprint, values = context.spec.blueprint, dict[str, Any](release.values)
    after = list(release.after)
    if rules:
        values[RULES] = values.get(RULES, {}) | rules
    if blueprint.has_cluster_receivers:
        ours, spec = alertmanager_values(blueprint), values["alertmanager"]["alertmanagerSpec"]
        values["alertmanager"] = values["alertmanager"] | ours | {"alertmanagerSpec": spec | ours["alertmanagerSpec"]}
        after.append(SECRET_KEY)
    if blueprint.monitoring.grafana:
        operator = values["prometheusOperator"]
        values["grafana"] = grafana_values({key: operator[key] for key in PLACEMENT if key in operator})
        after.append(ADMIN_KEY)
    return replace(release, values=values, after=tuple(after))


def _secrets(context: CompileContext, installs: bool) -> tuple[ManifestPlan, ...]:
    """Secrets of Alertmanager and Grafana, where the stack installs them."""
    blueprint = context.spec.blueprint
    alerts = (receiver_secret(blueprint),) if installs and blueprint.has_cluster_receivers else ()
    grafana = blueprint.monitoring.grafana
    return (*alerts, *((grafana_secret(grafana),) if installs and grafana else ()))


def _team_objects(context: CompileContext, plan: StackPlan) -> tuple[ManifestPlan, ...]:
    """Rules of each workload in the namespace of its team, and the dashboards in that of the first."""
    settings, found = context.spec.blueprint.monitoring, []
    if settings.alerts:
        for each in context.each_workload:
            if rules := cost_rules(each, plan, each.namespace):
                found.append(rule_object(each.named("cost"), each.named("cost"), each.namespace, rules))
        found += _checkpoint_objects(context) if plan.runs_jobs else []
    boards = dashboard_objects(_dashboards(plan), context.namespace) if settings.has_dashboards else ()
    return (*found, *boards)


def _checkpoint_objects(context: CompileContext) -> list[ManifestPlan]:
    interval_s = context.sizing.facts.checkpoint_interval_s
    rules: list[Rule] = [checkpoint_age(interval_s)] if interval_s else []
    return [rule_object("alerts.checkpoints", "checkpoints", context.namespace, rules), job_metrics(context.namespace)] if rules else []


def _dashboards(plan: StackPlan) -> tuple[str, ...]:
    serves = any(manifest.body["kind"] == "ScaledObject" for manifest in plan.manifests)
    queues = any(manifest.body["kind"] == "ClusterQueue" for manifest in plan.manifests)
    gpus = {release.name for release in plan.releases} | {*plan.installed}
    return (*(["gpus"] if gpus & {EXPORTER, GPU_OPERATOR} else []), *(["queues"] if queues else []), *(["serving"] if serves else []))
