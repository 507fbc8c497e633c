"""Fallbacks over pools: pools that grow from 0, reservations first and capped, and jobs that wait for machines without an end."""

import json
from dataclasses import replace

import pytest
import yaml
from rackwright.catalog import Catalog
from rackwright.cost.bill import bill
from rackwright.report.plan_json import bill_json
from rackwright.report.terminal.bill import fallback_text
from rackwright.stackplan.operators import MONITORING
from rackwright.validation.stack import StackContext, check, stack_problems

from tests import plans
from tests.compile.contracts import errors_of, needs_contracts
from tests.graphs import recorded

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
def test_pools_without_bought_capacity_start_empty_and_grow_whichever_is_sized(capacity):
    """A pool at its minimum keeps the nodes that it lost as expected ones, and a new one fails without capacity."""
    plan = plans.compiled(plans.fallback_case("spot", "on-demand", capacity=capacity))
    assert [*sizes(plan).values()] == [(0, 0, 4, True), (0, 0, 4, True)]
    graph = recorded(plan)
    groups = {n.name: n for n in graph.by_type(NODES)}
    for name in sizes(plan):
        group = groups[f"llama-70b-sft-pool-{name}-nodes"]
        assert group.inputs["scalingConfig"] == {"minSize": 0, "desiredSize": 0, "maxSize": 4}
        assert group.options["ignoreChanges"] == ["scalingConfig.desiredSize"]
    (autoscaler,) = graph.by_type("rackwright:index:AwsAutoscaler")
    tagged = {n.name for n in graph.by_type("aws:autoscaling/tag:Tag")}
    assert all(any(f"-{name}" in tag for tag in tagged) for name in sizes(plan)), (autoscaler.name, tagged)
    assert [*yaml.safe_load(release(plan, "cluster-autoscaler").values["expanderPriorities"])] == [100, 99]
    assert [problem.code for problem in check(plan)] == []


def test_a_reservation_is_warm_and_holds_no_more_than_its_count():
    assert sizes(plans.compiled(plans.fallback_case())) == {
        "gpu-reservation": (0, 2, 2, True),
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
            "gpu": (0, 1, 2),
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
    assert sizes(plan) == {"gpu": (0, 0, 4, True), "gpu-capacity-block": (0, 4, 4, False)}


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
    later = {"capacity_block": BLOCK["capacity_block"] | {"id": "cr-0123456789abcdef2"}}
    plan = plans.compiled(plans.fallback_case(BLOCK, later, capacity="capacity-block", capacity_id="cr-0123456789abcdef1"))
    assert not [pool for pool in plan.pools if pool.autoscaled]
    config = manifests(plan)["queue.provisioning-request-config"]["spec"]
    assert config["provisioningClassName"] == "check-capacity.autoscaling.x-k8s.io"
    assert config["parameters"] == {"noRetry": "true"}
    assert release(plan, "cluster-autoscaler").values["extraArgs"]["enable-provisioning-requests"] is True
    assert [n.name for n in recorded(plan).by_type("rackwright:index:AwsAutoscaler")] == ["llama-70b-sft-autoscaler"]


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


def test_a_preferred_pool_that_is_not_sized_is_billed_in_place_of_the_sized_one():
    lines = billed(plans.fallback_case("spot", "on-demand"))
    assert lines["pool gpu-spot, p5.48xlarge, spot"][0] == 4
    assert "p5.48xlarge, on-demand" not in lines


def test_the_bill_has_the_total_on_each_later_pool():
    """Spot is billed; on demand the four machines cost 55.04 USD an hour. A reservation is paid for in addition."""
    case = plans.fallback_case("spot", "on-demand")
    found = bill(plans.compiled(case), case[2], case[0], Catalog.default())
    (later,) = found.fallback
    spot = next(line.total_usd for line in found.lines if line.pool == "gpu-spot")
    assert (later.pool, later.nodes) == ("gpu", 4)
    assert later.total_usd == pytest.approx(found.total_usd - spot + 4 * 55.04 * 20)
    assert fallback_text(found) == f"on pool gpu: {later.total_usd:,.2f} USD for a run of 20.0 h"
    assert bill_json(found)["fallback"] == [{"pool": "gpu", "capacity": "on-demand", "machines": 4, "total_usd": later.total_usd}]
    held = plans.fallback_case(HELD, "on-demand")
    found = bill(plans.compiled(held), held[2], held[0], Catalog.default())
    on_demand = next(line.total_usd for line in found.lines if line.pool == "gpu")
    assert [cost.total_usd for cost in found.fallback] == [pytest.approx(found.total_usd - on_demand + 4 * 55.04 * 20)]


def test_a_later_pool_without_a_price_is_named():
    spec, sizing, fit = plans.fallback_case("spot", "on-demand")
    unpriced = replace(fit, candidate=replace(fit.candidate, price_usd_per_hour=None))
    found = bill(plans.compiled((spec, sizing, unpriced)), unpriced, spec, Catalog.default())
    assert fallback_text(found) == "on pool gpu: no published price of p5.48xlarge, on-demand for a run of 20.0 h"


def test_one_pool_has_no_fallback_in_its_bill():
    case = plans.training_case()
    assert bill(plans.compiled(case), case[2], case[0], Catalog.default()).fallback == ()


def test_a_later_pool_over_the_goal_is_a_warning():
    """The bill by spot is within the goal; the same run on demand is not."""
    spec, sizing, fit = plans.fallback_case("spot", "on-demand")
    stack = plans.compiled((spec, sizing, fit))
    costs = bill(stack, fit, spec, Catalog.default())
    for goal, expected in ((costs.total_usd + 1, True), (costs.fallback[0].total_usd + 1, False)):
        limited = spec.model_copy(update={"goals": spec.goals.model_copy(update={"max_cost": goal})})
        found = [p for p in stack_problems(StackContext(stack, Catalog.default(), costs, fit, limited)) if p.code == "V-111"]
        assert [str(p.level) for p in found] == ["warning"] * expected
        assert not expected or found[0].reason.startswith("a run of 20.0 h on pool gpu of the fallback costs ")


def test_jobs_that_never_start_raise_an_alert():
    """Kueue queues them again without a limit, and each retry pays for machines."""
    plan = plans.training_plan()
    rules = release(plan, MONITORING).values["additionalPrometheusRulesMap"]["queues"]["groups"][0]["rules"]
    assert [(rule["alert"], rule["expr"]) for rule in rules] == [
        ("JobsNeverStart", 'sum by (cluster_queue) (increase(kueue_evicted_workloads_total{reason="PodsReadyTimeout"}[2h])) >= 2')
    ]
    assert release(plan, "kueue").values["enablePrometheus"] is True
    assert MONITORING in release(plan, "kueue").after, "the chart's ServiceMonitor needs the CRD of the monitoring release"
    assert "enablePrometheus" not in release(plans.tpu_plan(), "kueue").values


def test_machines_in_an_existing_cluster_are_billed_once():
    case = plans.training_case(blueprint={"ttl": "14d", "cluster": {"name": "shared"}, "api_access": {"runner": "inside"}})
    assert [what for what in billed(case) if "p5.48xlarge" in what] == ["p5.48xlarge, on-demand"]


def test_a_fallback_without_its_check_is_a_bug_of_the_compiler():
    plan = plans.compiled(plans.fallback_case())
    bare = replace(plan, manifests=tuple(m for m in plan.manifests if m.key != "queue.admission-check"))
    assert [problem.code for problem in check(bare)] == ["V-124"]
