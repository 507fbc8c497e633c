"""Cost alerts of a cluster on GKE: channels, budget on the stack's label, idle pools."""

from dataclasses import replace

from rackwright.stackplan import CostAlertsPlan
from rackwright.validation.stack import check

from tests.gke_plans import GKE
from tests.graphs import recorded

GUARD = CostAlertsPlan(9000.0, emails=("ml@example.com",), idle_minutes=60, idle_cpu_percent=2.0, billing_account="012345-6789AB-CDEF01")


def plan(**more):
    return replace(GKE["gke-tcpxo"](), guard=replace(GUARD, **more))


def test_a_cluster_has_a_budget_and_an_alert_for_each_accelerator_pool():
    graph = recorded(plan())
    budget, alert = graph.one("gcp:billing/budget:Budget").inputs, graph.one("gcp:monitoring/alertPolicy:AlertPolicy").inputs
    channel = graph.one("gcp:monitoring/notificationChannel:NotificationChannel")
    assert channel.inputs["labels"] == {"email_address": "ml@example.com"}
    assert budget["amount"]["specifiedAmount"] == {"currencyCode": "USD", "units": "9000"}
    assert budget["budgetFilter"]["labels"] == {"rackwright-stack": "llama-70b-gke"}
    assert [rule["thresholdPercent"] for rule in budget["thresholdRules"]] == [0.5, 0.8, 1.0, 1.0]
    (condition,) = alert["conditions"]
    assert '"goog-k8s-node-pool-name" = "gpu"' in condition["conditionThreshold"]["filter"]
    assert (condition["conditionThreshold"]["duration"], condition["conditionThreshold"]["thresholdValue"]) == ("3600s", 0.02)


def test_an_idle_condition_lasts_at_most_23_hours():
    graph = recorded(plan(idle_minutes=1440))
    (condition,) = graph.one("gcp:monitoring/alertPolicy:AlertPolicy").inputs["conditions"]
    assert condition["conditionThreshold"]["duration"] == "82800s"


def test_a_budget_needs_the_billing_account():
    assert not recorded(plan(billing_account="", budget_usd_per_month=None)).by_type("gcp:billing/budget:Budget")
    assert [problem.code for problem in check(plan(billing_account="", budget_usd_per_month=None)) if problem.code == "R-124"]
    assert not [problem for problem in check(plan()) if problem.code == "R-124"]


def test_a_spec_without_recipients_has_no_alerts_and_one_with_them_has():
    assert GKE["gke-tcpxo"]().guard is None
    found = GKE["gke-alerts"]()
    assert found.guard.billing_account == "012345-6789AB-CDEF01"
    assert found.guard.budget_usd_per_month == 9000.0
    assert "budgets" in found.services
    assert found.guard.reminders == ()
