"""Capacity modes of GPU machines on GKE: queued provisioning, and a fallback in the order of a ComputeClass."""

import pytest
from rackwright.spec.infra import Capacity
from rackwright.stackplan.labels import COMPUTE_CLASS_LABEL, QUEUED_LABEL
from rackwright.validation.stack import check

from tests import gke_plans, plans

CLASS = "accelerator-llama-70b-gke"


def bodies(plan, kind):
    return [manifest.body for manifest in plan.manifests if manifest.body["kind"] == kind]


def fleet(*modes: object, capacity: str = "spot"):
    given, sized, chosen = plans.fleet_case(capacity=capacity)
    place = given.infra.any_of[0].model_copy(update={"capacity": Capacity.model_validate({"fallback": list(modes)})})
    infra = given.infra.model_copy(update={"any_of": (place,)})
    return plans.compiled((given.model_copy(update={"infra": infra}), sized, chosen))


def test_kueue_requests_flex_start_machines_together():
    plan = gke_plans.GKE_OPTIONS["gke-queued"]()
    pool, (config,) = plan.pool("gpu"), bodies(plan, "ProvisioningRequestConfig")
    assert (pool.nodes_min, pool.nodes_start, pool.nodes_max) == (0, 0, 4)
    assert pool.capacity.queued
    assert dict(pool.labels)[QUEUED_LABEL] == "true"
    assert config["spec"]["provisioningClassName"] == "queued-provisioning.gke.io"
    assert "topologyName" not in bodies(plan, "ResourceFlavor")[0]["spec"]  # Kueue places by topology on existing nodes only
    assert {"key": QUEUED_LABEL, "operator": "Equal", "value": "true", "effect": "NoSchedule"} in pool.tolerations


@pytest.mark.parametrize("machine", ["a3-highgpu-8g", "a3-megagpu-8g", "a2-highgpu-8g"])
def test_queued_provisioning_needs_no_acknowledgement(machine):
    assert check(plans.compiled(gke_plans.queued_case(machine))) == []


def test_growth_of_claimed_interfaces_from_no_nodes_is_a_warning():
    assert {each.code for each in check(plans.compiled(gke_plans.queued_case("a3-ultragpu-8g")))} == {"V-271"}


def test_a_fallback_is_a_compute_class_over_pools_that_start_empty():
    plan = gke_plans.GKE_OPTIONS["gke-fallback"]()
    spot, on_demand = plan.fallback_pools
    assert (spot.capacity.mode, on_demand.capacity.mode) == ("spot", "on-demand")
    (order,) = bodies(plan, "ComputeClass")
    assert order["metadata"]["name"] == CLASS
    assert order["spec"] == {"priorities": [{"nodepools": ["gpu"]}, {"nodepools": ["gpu-on-demand"]}], "whenUnsatisfiable": "DoNotScaleUp"}
    for pool in (spot, on_demand):
        assert (pool.nodes_min, pool.nodes_start, pool.nodes_max) == (0, 0, 4)
        assert (COMPUTE_CLASS_LABEL, CLASS) in [(taint.key, taint.value) for taint in pool.taints]
    assert check(plan) == []


def test_jobs_of_a_fallback_select_its_class_and_wait_for_no_other_autoscaler():
    plan = gke_plans.GKE_OPTIONS["gke-fallback"]()
    flavor, queue = bodies(plan, "ResourceFlavor")[0], bodies(plan, "ClusterQueue")[0]
    assert flavor["spec"]["nodeLabels"][COMPUTE_CLASS_LABEL] == CLASS
    assert "admissionChecksStrategy" not in queue["spec"]
    assert not bodies(plan, "ProvisioningRequestConfig")


def test_replicas_of_a_fallback_select_its_class():
    plan = fleet("spot", "on-demand")
    (server,) = bodies(plan, "Deployment")
    pod = server["spec"]["template"]["spec"]
    assert pod["nodeSelector"][COMPUTE_CLASS_LABEL] == "accelerator-chat-serve"
    assert COMPUTE_CLASS_LABEL in [each["key"] for each in pod["tolerations"]]
    assert check(plan) == []


def test_a_reservation_comes_first_with_its_nodes():
    held = {"reservation": {"id": "team", "instance": "a3-megagpu-8g", "count": 2, "zone": "us-central1-b"}}
    place = plans.GCP | {"capacity": {"fallback": [held, "spot"]}}
    case = gke_plans.gke_training_case(place=place, capacity="reservation", capacity_id="team")
    plan = plans.compiled(case)
    first, second = plan.fallback_pools
    assert (first.capacity.mode, first.nodes_start, first.nodes_max) == ("reservation", 2, 2)
    assert (second.capacity.mode, second.nodes_start, second.nodes_max) == ("spot", 0, 4)


def test_additional_pools_have_queues_of_their_own():
    plan = gke_plans.GKE_OPTIONS["gke-extra"]()
    assert [pool.name for pool in plan.pools] == ["system", "gpu", "debug", "prepare"]
    assert {body["metadata"]["name"] for body in bodies(plan, "LocalQueue")} >= {"default", "debug", "prepare"}
    assert plan.pool("prepare").capacity.mode == "spot"
