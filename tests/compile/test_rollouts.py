"""Updates and placement of model servers: room for a new replica, time until it answers, and the preferred pool."""

import math

import pytest
from rackwright.stackplan.labels import POOL_LABEL

from tests import plans
from tests.compile.found import manifest

RUNS = {"fleet-eks": "serving.deployment", "fleet-managed": "serving.deployment", "fleet-wide": "serving.group"}
PLANS = {name: plans.FLEETS[name]() for name in (*RUNS, "fleet-neuron", "fleet-fallback")} | {"fleet": plans.fleet_plan()}


def rolling(plan, key: str) -> dict:
    spec = manifest(plan, key)["spec"]
    return spec["strategy"]["rollingUpdate"] if key == "serving.deployment" else spec["rolloutStrategy"]["rollingUpdateConfiguration"]


def most_unavailable(plan, key: str, replicas: int) -> int:
    """Kubernetes rounds a percentage of maxUnavailable down."""
    given = rolling(plan, key)["maxUnavailable"]
    return replicas * int(given.removesuffix("%")) // 100 if isinstance(given, str) else given


@pytest.mark.parametrize("name", RUNS)
def test_a_full_fleet_gives_up_one_replica_and_a_single_one_none(name):
    """Pools end at the nodes of `max_replicas`, so the surplus replica of an update would wait for a machine forever."""
    plan, key = PLANS[name], RUNS[name]
    most = manifest(plan, "serving.scaler")["spec"]["maxReplicaCount"]
    assert rolling(plan, key)["maxSurge"] == 1
    assert (most_unavailable(plan, key, most), most_unavailable(plan, key, 1)) == (1, 0)


@pytest.mark.parametrize("most", range(2, 65))
def test_one_replica_is_given_up_at_every_maximum(most):
    spec, sizing, fit = plans.eks_fleet_case({"max_replicas": most})
    plan = plans.compiled((spec, sizing, plans.with_replicas(fit, 1, most)))
    assert most_unavailable(plan, "serving.deployment", most) == 1
    assert most_unavailable(plan, "serving.deployment", math.ceil(most / 2) - 1) == 0


@pytest.mark.parametrize("name", ["fleet", "fleet-eks", "fleet-managed", "fleet-neuron"])
def test_a_deployment_fails_after_its_node_and_its_start_up_probe(name):
    """Kubernetes' default is 600 s; a Neuron server may compile for an hour."""
    spec = manifest(PLANS[name], "serving.deployment")["spec"]
    probe = spec["template"]["spec"]["containers"][0]["startupProbe"]
    assert spec["progressDeadlineSeconds"] == 600 + probe["periodSeconds"] * probe["failureThreshold"]


def test_downloaded_weights_reserve_disk():
    """Without a request the scheduler places a server on a node whose disk is full, and the kubelet evicts it."""
    plan = plans.compiled(plans.eks_fleet_case({"model": {"base": "llama-3.1-8b", "weights": {"uri": "hf://meta-llama/Llama-3.1-8B"}}}))
    (server,) = manifest(plan, "serving.deployment")["spec"]["template"]["spec"]["containers"]
    assert server["resources"]["requests"]["ephemeral-storage"] == "17Gi"
    assert "ephemeral-storage" not in server["resources"]["limits"]
    (mounted,) = manifest(PLANS["fleet-eks"], "serving.deployment")["spec"]["template"]["spec"]["containers"]
    assert "ephemeral-storage" not in mounted["resources"]["requests"]


def test_servers_prefer_the_pool_that_is_filled_first():
    plan = PLANS["fleet-fallback"]
    affinity = manifest(plan, "serving.deployment")["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    terms = affinity["preferredDuringSchedulingIgnoredDuringExecution"]
    pools = sorted((pool for pool in plan.pools if pool.does_the_work), key=lambda pool: pool.preference)
    expected = [[{"key": POOL_LABEL, "operator": "In", "values": [pool.name]}] for pool in pools]
    assert [term["preference"]["matchExpressions"] for term in terms] == expected
    weights = [term["weight"] for term in terms]
    assert weights == sorted(weights, reverse=True)
    assert len({*weights}) == len(pools) == 3
    assert "affinity" not in manifest(PLANS["fleet-eks"], "serving.deployment")["spec"]["template"]["spec"]
