"""Prometheus of an existing EKS cluster: autoscaler, network policies and rule R-22 use the service that the spec names."""

import json

import pytest
from rackwright.compile.existing_cluster import cluster_metrics
from rackwright.spec.blueprint import ExistingCluster
from rackwright.stackplan.operators import STACK_METRICS
from rackwright.validation.stack import check

from tests import plans
from tests.compile.found import objects, one

INSIDE = {"api_access": {"runner": "inside"}, "ttl": "14d"}
OTHER = {"namespace": "observability", "service": "prometheus-operated"}


def fleet(**prometheus):
    return plans.compiled(plans.eks_fleet_case(blueprint=INSIDE | {"cluster": {"name": "shared", **prometheus}}))


@pytest.mark.parametrize(
    ("prometheus", "url", "namespace"),
    [
        ({}, "http://monitoring-prometheus.monitoring:9090", "monitoring"),
        ({"prometheus": OTHER}, "http://prometheus-operated.observability:9090", "observability"),
        ({"prometheus": OTHER | {"port": 80}}, "http://prometheus-operated.observability:80", "observability"),
    ],
)
def test_the_autoscaler_queries_the_prometheus_of_the_cluster(prometheus, url, namespace):
    plan = fleet(**prometheus)
    assert one(plan, "ScaledObject")["spec"]["triggers"][0]["metadata"]["serverAddress"] == url
    scraped = json.dumps([each["spec"].get("ingress") for each in objects(plan, "NetworkPolicy")])
    assert (f'"kubernetes.io/metadata.name": "{namespace}"' in scraped) is True
    assert ('"kubernetes.io/metadata.name": "monitoring"' in scraped) is (namespace == "monitoring")
    (warning,) = [problem for problem in check(plan) if problem.code == "R-22"]
    assert f"Prometheus at {url}" in warning.reason
    assert "blueprint.cluster.prometheus" in warning.fix


def test_a_training_stack_admits_the_prometheus_of_the_cluster():
    blueprint = INSIDE | {"storage": "none", "cluster": {"name": "shared", "prometheus": OTHER}}
    plan = plans.compiled(plans.training_case(blueprint=blueprint))
    (policy,) = [each for each in objects(plan, "NetworkPolicy") if each["metadata"]["name"] == "allow-metrics"]
    assert policy["spec"]["ingress"][0]["from"][0]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "observability"}
    assert "Prometheus at" not in next(problem.reason for problem in check(plan) if problem.code == "R-22")


@pytest.mark.parametrize("chosen", ["new", ExistingCluster(name="shared")])
def test_clusters_of_rackwright_have_the_default_service(chosen):
    assert cluster_metrics(chosen) is STACK_METRICS
