"""Alerts, receivers, dashboards and cost per team of a compiled stack."""

import json
from dataclasses import replace

import pytest
import yaml
from rackwright import check
from rackwright.catalog.release.alert_rows import alert_rows, exporter_metrics
from rackwright.compile.compile import compile_plan
from rackwright.compile.observability.checkpoint_age import METRIC
from rackwright.compile.observability.dashboards import FOLDER
from rackwright.compile.observability.team_cost import COST, PRICE
from rackwright.spec.spec import Spec
from rackwright.stackplan.operators import MONITORING
from rackwright.validation.stack.registry import RULES as STACK_RULES
from rackwright.validation.stack.registry import StackContext

from tests import own_plans, plans
from tests.compile.contracts import errors_of, needs_contracts, unknown_values
from tests.compile.promql import base_name, metrics_of

OWN = {METRIC, COST, PRICE}
"""Metrics that rules of the stack store, and the one that the user's program publishes."""
STACKS = {
    "training": plans.training_plan,
    "fleet": lambda: plans.compiled(plans.eks_fleet_case()),
    "gke": lambda: plans.compiled(plans.fleet_case()),
    "own": own_plans.own_training_plan,
    "own-fleet": lambda: plans.compiled(own_plans.own_fleet_case()),
}
PROMETHEUS = {"name": MONITORING, "namespace": "observability", "version": "80.0.0"}
RECEIVERS = {
    "notify": ["team@example.com", {"slack": {"secret": "slack"}, "channel": "#ml"}, {"webhook": {"secret": "hook"}}],
    "smtp": {"host": "smtp.example.com:587", "sender": "rack@example.com", "user": "rack", "password": {"secret": "smtp"}},
    "monitoring": {"grafana": {"password": {"secret": "grafana"}}},
}
SECRETS = {name: {"config": name} for name in ("slack", "hook", "smtp", "grafana")}


def compiled(case, blueprint: dict):
    spec, sizing, fit = case
    data = spec.model_dump(mode="json", exclude_unset=True)
    data["blueprint"] = data.get("blueprint", {}) | blueprint
    data["secrets"] = SECRETS
    spec = Spec.model_validate(plans._units(data))
    return spec, compile_plan(spec, sizing, fit, today=plans.TODAY)


def rules_of(plan) -> list[dict]:
    specs = [spec for release in plan.releases for spec in release.values.get("additionalPrometheusRulesMap", {}).values()]
    specs += [manifest.body["spec"] for manifest in plan.manifests if manifest.body["kind"] == "PrometheusRule"]
    return [rule for spec in specs for group in spec["groups"] for rule in group["rules"]]


def names_of(plan) -> set[str]:
    return {rule.get("alert") or rule["record"] for rule in rules_of(plan)}


def expressions(plan) -> list[str]:
    queries = [t["metadata"]["query"] for m in plan.manifests if m.body["kind"] == "ScaledObject" for t in m.body["spec"]["triggers"]]
    return [rule["expr"] for rule in rules_of(plan)] + queries


def known_metrics() -> set[str]:
    return {row.metric for row in exporter_metrics()} | OWN


@pytest.mark.parametrize("name", STACKS)
def test_expressions_use_published_metrics(name):
    for expression in expressions(STACKS[name]()):
        assert {base_name(metric) for metric in metrics_of(expression)} <= known_metrics(), expression


def test_dashboards_use_published_metrics():
    files = sorted(FOLDER.glob("*.json"))
    assert [file.stem for file in files] == ["gpus", "queues", "serving"]
    for file in files:
        board = json.loads(file.read_text())
        for target in (target for panel in board["panels"] for target in panel["targets"]):
            assert {base_name(metric) for metric in metrics_of(target["expr"])} <= known_metrics(), target["expr"]


def test_an_expression_with_a_mistake_is_found():
    assert metrics_of('sum by (le) (rate(x_bucket{a="b)"}[5m])) > 3') == {"x_bucket"}
    for wrong in ("sum(x", "rates(x[5m])", "rate(x[5])"):
        with pytest.raises(ValueError):
            metrics_of(wrong)


def test_a_training_cluster_has_every_alert_on_gpus_and_queues():
    names = names_of(plans.training_plan())
    assert {"GpuXidError", "GpuEccError", "GpuRowRemapFailed", "GpuNvLinkError", "GpuThermalThrottling", "GpuIdle"} <= names
    assert {"QueueWaitLong", "JobsNeverStart", COST, PRICE} <= names


def test_the_exporter_collects_every_metric_of_the_alerts():
    plan = plans.training_plan()
    exporter = next(release for release in plan.releases if release.name == "dcgm-exporter")
    collected = {line.split(",")[0] for line in exporter.values["customMetrics"].splitlines()}
    used = {metric for expression in expressions(plan) for metric in metrics_of(expression) if metric.startswith("DCGM")}
    assert used <= collected


def test_every_row_of_a_threshold_is_used():
    spec, sizing, fit = plans.training_case()
    sizing = replace(sizing, facts=replace(sizing.facts, checkpoint_interval_s=1800.0))
    names = names_of(compile_plan(spec, sizing, fit, today=plans.TODAY))
    goal = plans.eks_fleet_case({"ttft": {"target": "2 s"}})
    names |= names_of(compile_plan(*goal, today=plans.TODAY))
    assert names >= alert_rows().keys()


def test_the_cost_of_a_team_is_its_quota_in_use_times_the_price_of_the_bill():
    rule = next(rule for rule in rules_of(plans.training_plan()) if rule.get("record") == COST)
    assert rule["expr"] == 'max(kueue_cluster_queue_resource_usage{cluster_queue="accelerators",resource="nvidia.com/gpu"}) * 6.88'
    assert rule["labels"] == {"team": "nlp", "namespace": "team-nlp", "workload": "sft"}


def test_the_cost_of_a_fleet_is_what_its_running_pods_request():
    rule = next(rule for rule in rules_of(plans.compiled(plans.eks_fleet_case())) if rule.get("record") == COST)
    assert 'resource="nvidia_com_gpu"' in rule["expr"]
    assert rule["expr"].endswith("* 1.861")


def test_the_queue_of_a_stack_in_an_existing_cluster_has_its_name():
    spec, sizing, fit = plans.training_case(blueprint={"cluster": {"name": "shared"}})
    plan = compile_plan(spec, sizing, fit, today=plans.TODAY)
    rule = next(rule for rule in rules_of(plan) if rule.get("record") == COST)
    assert 'cluster_queue="llama-70b-sft-accelerators"' in rule["expr"]
    assert rule["labels"]["namespace"] == "llama-70b-sft-team-nlp"


def test_the_goal_for_the_first_token_scales_and_alerts():
    plan = compile_plan(*plans.eks_fleet_case({"ttft": {"target": "2 s", "percentile": 90}}), today=plans.TODAY)
    scaler = next(m.body for m in plan.manifests if m.body["kind"] == "ScaledObject")
    trigger = scaler["spec"]["triggers"][-1]
    assert trigger["metricType"] == "Value"
    assert trigger["metadata"]["threshold"] == "1.6"
    assert "histogram_quantile(0.9, " in trigger["metadata"]["query"]
    assert "FirstTokenSlow" in names_of(plan)
    without = compile_plan(*plans.eks_fleet_case(), today=plans.TODAY)
    assert "FirstTokenSlow" not in names_of(without)


def test_receivers_are_in_alertmanager_and_their_secrets_are_files():
    _spec, plan = compiled(plans.training_case(), RECEIVERS)
    release = next(release for release in plan.releases if release.name == MONITORING)
    config = release.values["alertmanager"]["config"]
    team = next(receiver for receiver in config["receivers"] if receiver["name"] == "team")
    assert {key for key in team if key.endswith("_configs")} == {"email_configs", "slack_configs", "webhook_configs"}
    assert config["global"]["smtp_auth_password_file"] == "/etc/alertmanager/secrets/alert-receivers/smtp"
    assert "$ref" not in json.dumps(release.values["alertmanager"])
    secret = next(manifest for manifest in plan.manifests if manifest.key == "alerts.receivers")
    named = {"smtp": "smtp", "slack-1": "slack", "webhook-2": "hook"}
    assert secret.body["stringData"] == {key: {"$ref": f"secret.{name}"} for key, name in named.items()}
    assert {"alerts.receivers", "grafana.admin"} <= {*release.after}
    assert plan.guard
    assert plan.guard.emails == ("team@example.com",)


@needs_contracts
def test_values_and_objects_fit_the_chart_and_its_crds():
    _, plan = compiled(plans.training_case(), RECEIVERS)
    release = next(release for release in plan.releases if release.name == MONITORING)
    assert unknown_values(release.values, MONITORING, release.chart_version) == []
    for manifest in plan.manifests:
        if manifest.body["kind"] in ("PrometheusRule", "PodMonitor"):
            assert errors_of(manifest.body) == []


def test_grafana_reads_the_dashboards_of_the_stack():
    _, plan = compiled(plans.training_case(), RECEIVERS)
    boards = {m.key: m.body for m in plan.manifests if m.body["kind"] == "ConfigMap" and m.key.startswith("dashboard.")}
    assert {*boards} == {"dashboard.gpus", "dashboard.queues"}
    assert all(body["metadata"]["labels"] == {"grafana_dashboard": "1"} for body in boards.values())
    _, off = compiled(plans.training_case(), {"monitoring": {"alerts": False}})
    assert not names_of(off) - {"JobsNeverStart"}
    assert not [m for m in off.manifests if m.key.startswith("dashboard.")]


def test_checkpoints_older_than_three_intervals_raise_an_alert():
    spec, sizing, fit = plans.training_case()
    sizing = replace(sizing, facts=replace(sizing.facts, checkpoint_interval_s=1800.0))
    plan = compile_plan(spec, sizing, fit, today=plans.TODAY)
    rule = next(rule for rule in rules_of(plan) if rule.get("alert") == "CheckpointOld")
    assert rule["expr"] == f"time() - max by (namespace) ({METRIC}) > 5400"
    assert any(m.body["kind"] == "PodMonitor" for m in plan.manifests)


def test_a_cluster_with_prometheus_gets_the_alerts_as_an_object():
    plan = own_plans.own_training_plan(own_plans.place(installed=[PROMETHEUS]))
    assert "GpuXidError" in names_of(plan)
    assert all(MONITORING not in manifest.after for manifest in plan.manifests)


def test_receivers_without_an_alertmanager_of_the_stack_are_reported():
    blueprint = RECEIVERS | {"cluster": {"name": "shared"}}
    spec, plan = compiled(plans.training_case(), blueprint)
    found = list(STACK_RULES.rules["R-115"].problems(StackContext(plan, None, spec=spec)))
    assert [str(problem.at) for problem in found] == ["blueprint.monitoring", "blueprint.notify"]
    spec, plan = compiled(plans.training_case(), RECEIVERS)
    assert not [*STACK_RULES.rules["R-115"].problems(StackContext(plan, None, spec=spec))]


def test_stacks_with_receivers_break_no_rule():
    _, plan = compiled(plans.training_case(), RECEIVERS)
    assert [problem for problem in check(plan) if problem.level == "error"] == []
    assert yaml.safe_dump(plan.releases[0].values["alertmanager"]["config"])
