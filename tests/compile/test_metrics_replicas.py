"""Prometheus and Alertmanager survive the drain of a node: autoscalers and alerts depend on them."""

import pytest

from tests import own_plans, plans
from tests.compile.contracts import chart_values, merged, needs_contracts
from tests.compile.found import release

PLANS = {"training": plans.ALL["training"], "fleet-eks": plans.FLEETS["fleet-eks"], "own-training": own_plans.OWN["own-training"]}
CHART = "kube-prometheus-stack"


@pytest.mark.parametrize("name", PLANS)
def test_one_of_two_replicas_stays(name):
    values = release(PLANS[name](), CHART).values
    for part, spec in (("prometheus", "prometheusSpec"), ("alertmanager", "alertmanagerSpec")):
        assert values[part][spec]["replicas"] == 2
        assert values[part]["podDisruptionBudget"] == {"enabled": True, "minAvailable": 1}


def test_each_replica_has_a_disk_that_is_billed():
    found = release(PLANS["fleet-eks"](), CHART)
    assert len(found.claims) == found.values["prometheus"]["prometheusSpec"]["replicas"]


@needs_contracts
def test_replicas_prefer_different_nodes():
    found = release(PLANS["fleet-eks"](), CHART)
    values = merged(chart_values(CHART, found.chart_version), found.values)
    assert values["prometheus"]["prometheusSpec"]["podAntiAffinity"] == "soft"
    assert values["prometheus"]["podDisruptionBudget"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
