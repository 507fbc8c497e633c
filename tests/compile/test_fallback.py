"""Fallbacks over pools: one warm pool, reservations first and capped, and jobs that wait for machines without an end."""

import json
from dataclasses import replace

import pytest
import yaml
from rackwright.catalog import Catalog
from rackwright.cost.bill import bill
from rackwright.validation.stack import check
from rackwright_pulumi import record
from rackwright_pulumi.program.build import declare

from tests import plans
from tests.compile.contracts import errors_of, needs_contracts

NODES = "aws:eks/nodeGroup:NodeGroup"
HELD = {"reservation": {"id": "cr-0123456789abcdef0", "instance": "p5.48xlarge", "count": 2, "zone": "us-east-1a"}}
BLOCK = {
    "capacity_block": {
        "id": "cr-0123456789abcdef1",
        "instance": "p5.48xlarge",
        "count": 4,
        "zone": "us-east-1a",
        "start": "2026-11-01T11:30:00Z",
        "end": "2026-12-27T11:00:00Z",
    }
}


def sizes(plan) -> dict[str, tuple[int, int, int, bool]]:
    return {p.name: (p.nodes_min, p.nodes_start, p.nodes_max, p.autoscaled) for p in plan.pools if p.role == "accelerator"}


def manifests(plan) -> dict[str, dict]:
    return {manifest.key: manifest.body for manifest in plan.manifests}


def release(plan, name: str):
    return next(each for each in plan.releases if each.name == name)


def kueue_config(plan) -> dict:
    return yaml.safe_load(release(plan, "kueue").values["managerConfig"]["controllerManagerConfigYaml"])


@pytest.mark.parametrize("capacity", ["spot", "on-demand"])
def test_only_the_preferred_pool_is_warm_whichever_is_sized(capacity):
    plan = plans.compiled(plans.fallback_case("spot", "on-demand", capacity=capacity))
    first, second = sizes(plan).values()
    assert (first, second) == ((4, 4, 4, False), (0, 0, 4, True))
    groups = {n.name: n.inputs["scalingConfig"] for n in record(lambda: declare(plan)).by_type(NODES)}
    for name, (low, start, high, _) in sizes(plan).items():
        assert groups[f"llama-70b-sft-pool-{name}-nodes"] == {"minSize": low, "desiredSize": start, "maxSize": high}


def test_a_reservation_is_warm_and_holds_no_more_than_its_count():
    assert sizes(plans.compiled(plans.fallback_case())) == {
        "gpu-reservation": (2, 2, 2, False),
        "gpu": (0, 0, 4, True),
        "gpu-spot": (0, 0, 4, True),
    }


def test_a_sized_reservation_of_a_fleet_is_capped_and_others_are_not():
    """The reservation of two is sized; eight replicas need eight machines."""
    chosen = {"capacity": "reservation", "capacity_id": "cr-0123456789abcdef0"}
    for provisioner in ("karpenter", "managed"):
        shape = {"nodes": {"provisioner": provisioner}}
        plan = plans.compiled(plans.eks_fleet_case(place=plans.AWS | {"capacity": {"fallback": plans.FALLBACK}}, blueprint=shape, **chosen))
        assert {name: size[:3] for name, size in sizes(plan).items()} == {
            "gpu": (1, 1, 2),
            "gpu-on-demand": (0, 0, 8),
            "gpu-spot": (0, 0, 8),
        }
        assert check(plan) == []
    assert yaml.safe_load(release(plan, "cluster-autoscaler").values["expanderPriorities"]) == {
        100: [".*-pool-gpu-nodes-.*"],
        99: [".*-pool-gpu-on-demand-nodes-.*"],
        98: [".*-pool-gpu-spot-nodes-.*"],
    }


def test_a_block_is_filled_by_its_hours_wherever_it_is_listed():
    plan = plans.compiled(plans.fallback_case("on-demand", BLOCK))
    assert sizes(plan) == {"gpu": (4, 4, 4, False), "gpu-capacity-block": (0, 4, 4, False)}


def test_jobs_of_a_fallback_are_admitted_after_the_autoscaler_answered():
    found = manifests(plans.compiled(plans.fallback_case()))
    (check_,) = found["queue.cluster-queue"]["spec"]["admissionChecksStrategy"]["admissionChecks"]
    assert check_ == {"name": found["queue.admission-check"]["metadata"]["name"], "onFlavors": ["accelerator"]}
    assert found["queue.admission-check"]["spec"] == {
        "controllerName": "kueue.x-k8s.io/provisioning-request",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "capacity"},
    }
    config = found["queue.provisioning-request-config"]["spec"]
    assert config["provisioningClassName"] == "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
    assert config["managedResources"] == ["nvidia.com/gpu"]


def test_pools_of_a_fixed_size_are_only_checked():
    """Kueue repeats a failed request; without noRetry the request holds the quota until the autoscaler finds machines."""
    plan = plans.compiled(plans.fallback_case(HELD, BLOCK, capacity="capacity-block", capacity_id="cr-0123456789abcdef1"))
    assert not [pool for pool in plan.pools if pool.autoscaled]
    config = manifests(plan)["queue.provisioning-request-config"]["spec"]
    assert config["provisioningClassName"] == "check-capacity.autoscaling.x-k8s.io"
    assert config["parameters"] == {"noRetry": "true"}
    assert release(plan, "cluster-autoscaler").values["extraArgs"]["enable-provisioning-requests"] is True
    assert [n.name for n in record(lambda: declare(plan)).by_type("rackwright:index:AwsAutoscaler")] == ["llama-70b-sft-autoscaler"]


def test_the_quota_is_that_of_the_largest_pool():
    """Pools of a fallback are alternatives: the sum would admit jobs for ten machines where four were sized."""
    (group,) = manifests(plans.compiled(plans.fallback_case()))["queue.cluster-queue"]["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    assert {r["name"]: r["nominalQuota"] for r in flavor["resources"]}["nvidia.com/gpu"] == 4 * 8


def test_kueue_and_the_autoscaler_start_after_the_crd_of_provisioning_requests():
    """Kueue looks for it once, when it starts (kubernetes-sigs/kueue@ff69552 cmd/kueue/main.go)."""
    plan = plans.compiled(plans.fallback_case())
    (crd,) = release(plan, "cluster-autoscaler").values["extraObjects"]
    assert (crd["kind"], crd["metadata"]["name"]) == ("CustomResourceDefinition", "provisioningrequests.autoscaling.x-k8s.io")
    assert [version["name"] for version in crd["spec"]["versions"]] == ["v1"]
    assert "{{" not in json.dumps(crd), "the chart evaluates extraObjects as a template"
    assert "cluster-autoscaler" in release(plan, "kueue").after


def test_a_pool_without_capacity_is_skipped_longer_than_a_job_waits_for_its_pods():
    plan = plans.compiled(plans.fallback_case())
    ready = kueue_config(plan)["waitForPodsReady"]
    skipped_min = int(release(plan, "cluster-autoscaler").values["extraArgs"]["initial-node-group-backoff-duration"].removesuffix("m"))
    assert skipped_min > int(ready["timeout"].removesuffix("m")) + ready["requeuingStrategy"]["backoffMaxSeconds"] / 60


@pytest.mark.parametrize(
    "plan", [plans.training_plan(), plans.tpu_plan(), plans.compiled(plans.fallback_case())], ids=lambda plan: plan.name
)
def test_a_waiting_job_is_never_deactivated(plan):
    strategy = kueue_config(plan)["waitForPodsReady"]["requeuingStrategy"]
    assert strategy == {"timestamp": "Eviction", "backoffLimitCount": None, "backoffBaseSeconds": 60, "backoffMaxSeconds": 600}
    config = manifests(plan).get("queue.provisioning-request-config")
    assert config is None or config["spec"]["retryStrategy"]["backoffLimitCount"] == 2**31 - 1


def test_one_pool_needs_no_capacity_check():
    plan = plans.training_plan()
    assert not {"queue.admission-check", "queue.provisioning-request-config"} & manifests(plan).keys()
    assert "cluster-autoscaler" not in [each.name for each in plan.releases]


def test_in_an_existing_cluster_the_check_has_the_name_of_the_stack():
    shape = {"ttl": "14d", "cluster": {"name": "shared"}, "api_access": {"runner": "inside"}}
    found = manifests(plans.compiled(plans.fallback_case(blueprint=shape)))
    name = "llama-70b-sft-capacity"
    assert found["queue.admission-check"]["metadata"]["name"] == name
    assert found["queue.admission-check"]["spec"]["parameters"]["name"] == name
    assert found["queue.provisioning-request-config"]["metadata"]["name"] == name
    strategy = found["queue.cluster-queue"]["spec"]["admissionChecksStrategy"]
    assert strategy == {"admissionChecks": [{"name": name, "onFlavors": ["llama-70b-sft-accelerator"]}]}


@needs_contracts
def test_queue_objects_of_a_fallback_fit_their_crds():
    for key, body in manifests(plans.compiled(plans.fallback_case())).items():
        if "kueue" in body["apiVersion"]:
            assert errors_of(body) == [], key


def billed(case) -> dict[str, tuple[float, float]]:
    spec, _, fit = case
    return {line.what: (line.quantity, line.hourly_usd) for line in bill(plans.compiled(case), fit, spec, Catalog.default()).lines}


def test_machines_of_a_fallback_are_billed_once():
    """Two of the four machines are the warm reservation, at the on-demand price."""
    lines = billed(plans.fallback_case())
    assert lines["p5.48xlarge, on-demand"][0] == 2
    assert lines["pool gpu-reservation, p5.48xlarge, reservation"][0] == 2
    assert lines["detailed metrics of machines"][0] == 7 * (4 + 2)
    assert (lines["disks of gpu"][0], lines["disks of gpu-reservation"][0]) == (400, 400)
    assert not [what for what in lines if "spot" in what]


def test_a_warm_pool_that_is_not_sized_is_billed_in_place_of_the_sized_one():
    lines = billed(plans.fallback_case("spot", "on-demand"))
    assert lines["pool gpu-spot, p5.48xlarge, spot"][0] == 4
    assert "p5.48xlarge, on-demand" not in lines


def test_machines_in_an_existing_cluster_are_billed_once():
    case = plans.training_case(blueprint={"ttl": "14d", "cluster": {"name": "shared"}, "api_access": {"runner": "inside"}})
    assert [what for what in billed(case) if "p5.48xlarge" in what] == ["p5.48xlarge, on-demand"]


def test_a_fallback_without_its_check_is_a_bug_of_the_compiler():
    plan = plans.compiled(plans.fallback_case())
    bare = replace(plan, manifests=tuple(m for m in plan.manifests if m.key != "queue.admission-check"))
    assert [problem.code for problem in check(bare)] == ["V-124"]
