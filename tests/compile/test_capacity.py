"""Capacity from the spec to the graph: reservations, blocks, fallbacks, extra pools."""

from datetime import UTC, date, datetime

import pytest
from rackwright.catalog import Catalog
from rackwright.compile.compile import compile_plan
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.nodes.capacity import capacity_plan
from rackwright.diagnostics.errors import UserError
from rackwright.sizing.size import size
from rackwright.spec.spec import Spec
from rackwright.validation.stack import check
from rackwright.wording.rejections import rejection_text

from tests import plans
from tests.components.sdk import misfits
from tests.graphs import recorded

NODES, TEMPLATE, SUBNET = "aws:eks/nodeGroup:NodeGroup", "aws:ec2/launchTemplate:LaunchTemplate", "aws:ec2/subnet:Subnet"
PLACEMENT, SCHEDULE = "aws:ec2/placementGroup:PlacementGroup", "aws:autoscaling/schedule:Schedule"
CR, OTHER = "cr-0123456789abcdef0", "cr-0123456789abcdef1"
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"
BLOCK = {
    "capacity_block": {
        "id": CR,
        "instance": "p5.48xlarge",
        "count": 4,
        "zone": "us-east-1d",
        "start": datetime(2026, 12, 1, 11, 30, tzinfo=UTC),
        "end": datetime(2026, 12, 8, 11, 0, tzinfo=UTC),
    }
}
BY_ID = {"reservation": {"id": OTHER, "instance": "p5.48xlarge", "zone": "us-east-1d", "count": 2}}
BY_GROUP = {"reservation": {"group": GROUP, "instance": "p5.48xlarge", "zone": "us-east-1d"}}
SHAPE = {"ttl": "30d", "api_access": {"cidrs": ["203.0.113.0/24"]}}


def case(key: str, *entries, mode: str, name: str = "", shape: dict | None = None):
    place = plans.AWS | {"capacity": {key: list(entries)}}
    return plans.training_case(place=place, blueprint=SHAPE | (shape or {}), capacity=mode, capacity_id=name)


def plan_of(*entries, key: str = "ordered", mode: str = "on-demand", name: str = "", shape: dict | None = None):
    return plans.compiled(case(key, *entries, mode=mode, name=name, shape=shape))


def block_plan(now: datetime, shape: dict | None = None):
    return compile_plan(*case("ordered", BLOCK, mode="capacity-block", name=CR, shape=shape), today=now.date(), now=now)


def edited(spec: Spec, place: dict, blueprint: dict) -> Spec:
    data = spec.model_dump(mode="json", exclude_unset=True, exclude={"goals"}) | {"blueprint": blueprint}
    data["infra"]["any_of"][0] |= place
    return Spec.model_validate(data)


def graph_of(plan):
    graph = recorded(plan)
    assert not misfits(graph)
    return graph


@pytest.mark.parametrize(("machine", "drains"), [("p5.48xlarge", "10:20"), ("p6e-gb200.36xlarge", "09:50"), ("trn2u.48xlarge", "09:50")])
def test_nodes_drain_before_ec2_reclaims_them(machine, drains):
    """EC2 terminates machines 30 minutes before the end of a block, those of an UltraServer 60 minutes (recipes F32)."""
    spec, sizing, fit = case("ordered", {"capacity_block": BLOCK["capacity_block"] | {"instance": machine}}, mode="capacity-block", name=CR)
    want = capacity_plan(CompileContext(spec, sizing, fit, date(2026, 11, 21), catalog=Catalog.default()))
    assert want.drains_at == f"2026-12-08T{drains}:00+00:00"


def pool_inputs(graph, type_: str, pool: str = "gpu") -> dict:
    (found,) = [node.inputs for node in graph.by_type(type_) if f"-pool-{pool}-" in node.name]
    return found


def test_machines_of_a_reservation_use_no_placement_group():
    graph = graph_of(plan_of(BY_ID, mode="reservation", name=OTHER))
    template = pool_inputs(graph, TEMPLATE)
    assert template["capacityReservationSpecification"] == {"capacityReservationTarget": {"capacityReservationId": OTHER}}
    assert "instanceMarketOptions" not in template
    assert "placement" not in template
    assert pool_inputs(graph, NODES)["capacityType"] == "ON_DEMAND"
    assert not graph.by_type(PLACEMENT)


def test_a_reservation_group_is_the_target():
    target = pool_inputs(graph_of(plan_of(BY_GROUP, mode="reservation", name=GROUP)), TEMPLATE)["capacityReservationSpecification"]
    assert target == {"capacityReservationTarget": {"capacityReservationResourceGroupArn": GROUP}}


def test_placement_group_never_is_respected():
    assert plan_of("on-demand").pool("gpu").adjacent
    assert not plan_of("on-demand", shape={"nodes": {"placement_group": "never"}}).pool("gpu").adjacent


def test_a_capacity_block_is_in_the_pool():
    """Types that are not sold on demand: the node group has CAPACITY_BLOCK, template and market options have the block."""
    graph = graph_of(block_plan(datetime(2026, 12, 2, tzinfo=UTC)))
    template, nodes = pool_inputs(graph, TEMPLATE), pool_inputs(graph, NODES)
    assert nodes["capacityType"] == "CAPACITY_BLOCK"
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert template["capacityReservationSpecification"] == {"capacityReservationTarget": {"capacityReservationId": CR}}
    assert template["instanceType"] == "p5.48xlarge"
    assert "instanceTypes" not in nodes


def test_nodes_are_replaced_within_the_reserved_machines():
    nodes = pool_inputs(graph_of(plan_of(BY_ID, mode="reservation", name=OTHER)), NODES)
    assert nodes["updateConfig"]["updateStrategy"] == "MINIMAL", "the default starts new machines first, and the reservation has none"
    assert nodes["scalingConfig"]["maxSize"] == nodes["scalingConfig"]["desiredSize"]


@pytest.mark.parametrize(
    ("entry", "mode", "name"), [(BLOCK, "capacity-block", CR), (BY_ID, "reservation", OTHER), (BY_GROUP, "reservation", GROUP)]
)
def test_machines_and_storage_are_in_the_zone_of_the_reservation(entry, mode, name):
    plan = plan_of(entry, mode=mode, name=name)
    assert (plan.place.zone, plan.pool("gpu").zones, plan.lustre.zone) == ("us-east-1d", ("us-east-1d",), "us-east-1d")
    assert not plan.place.zone_assumed
    graph = graph_of(plan)
    (nodes,) = [node for node in graph.by_type(SUBNET) if node.name.endswith("-nodes")]
    assert nodes.inputs["availabilityZone"] == "us-east-1d"


@pytest.mark.parametrize(
    ("now", "start", "schedules"),
    [
        ((2026, 11, 21, 9), 0, {"fill": ("2026-12-01T11:30:00Z", 4), "drain": ("2026-12-08T10:20:00Z", 0)}),
        ((2026, 12, 1, 11), 0, {"fill": ("2026-12-01T11:30:00Z", 4), "drain": ("2026-12-08T10:20:00Z", 0)}),
        ((2026, 12, 1, 12), 4, {"drain": ("2026-12-08T10:20:00Z", 0)}),
        ((2026, 12, 8, 10), 4, {"drain": ("2026-12-08T10:20:00Z", 0)}),
        ((2026, 12, 8, 11), 0, {}),
        ((2027, 1, 8, 11), 0, {}),
    ],
)
def test_a_block_pool_follows_the_schedule_of_the_block(now, start, schedules):
    """AWS refuses a schedule in the past. Updates ignore the size that schedules set."""
    graph = graph_of(block_plan(datetime(*now, tzinfo=UTC)))
    made = {n.name.rpartition("-")[2]: (n.inputs["startTime"], n.inputs["desiredCapacity"]) for n in graph.by_type(SCHEDULE)}
    assert made == schedules
    assert pool_inputs(graph, NODES)["scalingConfig"] == {"minSize": 0, "maxSize": 4, "desiredSize": start}
    (nodes,) = [node for node in graph.by_type(NODES) if "-pool-gpu-" in node.name]
    assert nodes.options["ignoreChanges"] == ["scalingConfig.desiredSize"]


def test_a_date_without_time_is_noon_utc():
    """AWS starts blocks at 11:30 and ends them at 11:00, UTC."""
    chosen = case("ordered", BLOCK, mode="capacity-block", name=CR)
    sizes = [compile_plan(*chosen, today=date(2026, *day)).pool("gpu").nodes_start for day in ((11, 30), (12, 1), (12, 7), (12, 8))]
    assert sizes == [0, 4, 4, 0]


def test_an_ended_block_violates_its_rule():
    assert [p.code for p in check(block_plan(datetime(2026, 12, 9, tzinfo=UTC))) if p.level == "error"] == ["R-10"]
    assert not [p for p in check(block_plan(datetime(2026, 12, 2, tzinfo=UTC))) if p.level == "error"]


def test_an_ended_block_is_rejected_before_the_search():
    spec, _, _ = case("ordered", BLOCK, mode="capacity-block")
    with pytest.raises(UserError, match=r"R-10 at infra.any_of.0..capacity.ordered.0..capacity_block.end: .* ends after 2026-12-09"):
        size(spec, today=date(2026, 12, 9))


def test_other_entries_are_used_after_a_block_ended():
    plan = size(case("ordered", BLOCK, "on-demand", mode="on-demand")[0], today=date(2026, 12, 9))
    assert {fit.candidate.capacity for fit in plan.fits} == {"on-demand"}
    ended = [miss.rejections for miss in plan.rejected if miss.candidate.capacity == "capacity-block"]
    assert any("R-10" in rejection_text(rejection) for rejections in ended for rejection in rejections)


@pytest.mark.parametrize(("entry", "name"), [(BY_ID, OTHER), (BY_GROUP, GROUP)])
def test_sizing_uses_the_machines_of_a_reservation(entry, name):
    spec, _, _ = case("ordered", entry, mode="reservation")
    plan = size(spec, today=plans.TODAY)
    found = [item.candidate for item in (*plan.fits, *plan.rejected)]
    assert {(c.machine, c.capacity, c.capacity_id, c.region) for c in found} == {("p5.48xlarge", "reservation", name, "us-east-1")}
    assert (entry is not BY_ID) or {c.nodes for c in found} == {2}


FALLBACK = (BY_ID, "on-demand", "spot")


def test_a_fallback_has_a_pool_per_entry_in_order():
    pools = {p.name: p for p in plan_of(*FALLBACK, key="fallback").pools if p.role == "accelerator"}
    assert [(p.name, p.preference, p.capacity.mode) for p in pools.values()] == [
        ("gpu-reservation", 0, "reservation"),
        ("gpu", 1, "on-demand"),
        ("gpu-spot", 2, "spot"),
    ]
    assert {name: (p.nodes_min, p.nodes_max, p.nodes_start, p.autoscaled) for name, p in pools.items()} == {
        "gpu-reservation": (0, 2, 2, True),
        "gpu": (0, 4, 0, True),
        "gpu-spot": (0, 4, 0, True),
    }
    assert {p.machine for p in pools.values()} == {"p5.48xlarge"}
    assert {p.zones for p in pools.values()} == {("us-east-1d",)}
    assert {name: p.adjacent for name, p in pools.items()} == {"gpu-reservation": False, "gpu": True, "gpu-spot": True}


def test_entries_of_one_mode_have_pools_of_different_names():
    third = {"reservation": BY_ID["reservation"] | {"id": "cr-0123456789abcdef2"}}
    names = [p.name for p in plan_of(BY_ID, third, "on-demand", key="fallback").pools]
    assert names == ["system", "gpu-reservation", "gpu-reservation-2", "gpu"]


def test_a_fallback_has_no_topology():
    """Kueue finds a topology only on nodes that are there: with one, a pool that grows when asked would never be asked."""
    manifests = [m.body for m in plan_of(*FALLBACK, key="fallback").manifests]
    assert not [body for body in manifests if body["kind"] == "Topology" or "topologyName" in body.get("spec", {})]
    assert [body for body in (m.body for m in plan_of("on-demand").manifests) if body["kind"] == "Topology"]


def test_a_fallback_of_one_entry_is_one_pool():
    assert plan_of("on-demand", key="fallback") == plan_of("on-demand")


def test_a_fallback_is_sized_for_the_machine_of_its_reservation():
    spec, _, _ = case("fallback", *FALLBACK, mode="on-demand")
    fits = size(spec, today=plans.TODAY).fits
    assert fits
    assert {fit.candidate.machine for fit in fits} == {"p5.48xlarge"}


POOLS = [
    {"name": "debug", "instance": "g6e.12xlarge", "nodes": 2},
    {"name": "trainium", "instance": "trn1.32xlarge", "nodes": 2, "at_least": 1, "capacity": "spot"},
    {"name": "cpu", "instance": "m7g.2xlarge", "nodes": 4, "at_least": 1},
]


def test_extra_pools_are_in_the_zone_of_the_sized_pool():
    plan = plan_of("on-demand", shape={"pools": POOLS})
    extra = {p.name: p for p in plan.pools if p.name not in ("system", "gpu")}
    assert {n: (p.machine, p.nodes_min, p.nodes_max, p.nodes_start, p.capacity.mode) for n, p in extra.items()} == {
        "debug": ("g6e.12xlarge", 0, 2, 0, "on-demand"),
        "trainium": ("trn1.32xlarge", 1, 2, 1, "spot"),
        "cpu": ("m7g.2xlarge", 1, 4, 1, "on-demand"),
    }
    assert {p.zones for p in extra.values()} == {plan.pool("gpu").zones}
    assert {n: [t.key for t in p.taints] for n, p in extra.items()} == {
        "debug": ["nvidia.com/gpu"],
        "trainium": ["aws.amazon.com/neuron"],
        "cpu": ["rackwright/pool"],
    }
    assert all(dict(p.labels) == {"rackwright/pool": name} for name, p in extra.items())
    assert [p for p in check(plan) if p.level == "error"] == []


def test_an_extra_pool_has_a_separate_queue():
    with_pools = {m.key: m.body for m in plan_of("on-demand", shape={"pools": POOLS}).manifests}
    without = {m.key: m.body for m in plan_of("on-demand").manifests}
    assert {key: with_pools[key] for key in without if key.startswith("queue.")} == {
        k: b for k, b in without.items() if k.startswith("queue.")
    }
    tolerated = {"key": "rackwright/pool", "operator": "Equal", "value": "cpu", "effect": "NoSchedule"}
    assert with_pools["queue.flavor.cpu"]["spec"]["tolerations"] == [tolerated]
    (flavor,) = with_pools["queue.cluster-queue.debug"]["spec"]["resourceGroups"][0]["flavors"]
    assert {r["name"]: r["nominalQuota"] for r in flavor["resources"]}["nvidia.com/gpu"] == 8
    assert with_pools["queue.local-queue.debug"]["spec"] == {"clusterQueue": "debug"}


def test_extra_pools_are_node_groups():
    graph = graph_of(plan_of("on-demand", shape={"pools": POOLS}))
    assert pool_inputs(graph, NODES, "trainium")["capacityType"] == "SPOT"
    assert pool_inputs(graph, NODES, "trainium")["amiType"] == "AL2023_x86_64_NEURON"
    assert pool_inputs(graph, NODES, "cpu")["amiType"] == "AL2023_ARM_64_STANDARD"
    assert pool_inputs(graph, NODES, "debug")["scalingConfig"] == {"minSize": 0, "maxSize": 2, "desiredSize": 0}


@pytest.mark.parametrize(
    ("place", "blueprint", "code"),
    [
        ({"capacity": {"fallback": ["on-demand", "spot"]}}, {}, "C-fallback"),
        ({}, {"pools": [{"name": "debug", "instance": "g6e.12xlarge", "nodes": 2}]}, "C-pools"),
    ],
)
def test_a_box_rejects_options_of_clusters(place, blueprint, code):
    spec, sizing, fit = plans.box_case()
    with pytest.raises(UserError, match=code):
        compile_plan(edited(spec, place, blueprint), sizing, fit, today=plans.TODAY)
