"""Tags, protection and safety switches on AWS; each switch changes a resource."""

from functools import cache

import pytest
from rackwright.spec.blueprint import Safety
from rackwright.stackplan import StackPlan
from rackwright.validation.stack import check
from rackwright_pulumi.simulator.schema import facts
from rackwright_pulumi.testing import Graph

from tests import plans
from tests.graphs import recorded

CASES = {
    "box": plans.box_case,
    "training": plans.training_case,
    "fleet": plans.eks_fleet_case,
    "managed-fleet": plans.managed_fleet_case,
}
DATA = {
    "aws:ebs/volume:Volume",
    "aws:eks/cluster:Cluster",
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "aws:kms/key:Key",
    "aws:s3/bucket:Bucket",
}
"""What cannot be made again from the spec alone: data, the key that reads it, and the cluster whose objects are nowhere else."""
WANTED = {"owner", "cost-centre", "rackwright-stack", "expires-on", "Name"}
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


def plan_of(name: str, **safety: bool) -> StackPlan:
    """A plan with the switches and an expiry date, and with new buckets where its spec names existing ones."""
    spec, sizing, fit = CASES[name]()
    workload = spec.workload
    if spec.is_training:
        data, checkpoint = (part.model_copy(update={"uri": None}) for part in (workload.data, workload.checkpoint))
        workload = workload.model_copy(update={"data": data, "checkpoint": checkpoint})
    shape = spec.blueprint.model_copy(update={"safety": Safety(**safety), "ttl": 14 * 86400.0})
    return plans.compiled((spec.model_copy(update={"blueprint": shape, "workloads": (workload,)}), sizing, fit))


@cache
def graph_of(name: str, teardown: bool = False, off: str = "") -> Graph:
    plan = plan_of(name, **({off: False} if off else {}))
    return recorded(plan, teardown=teardown)


def taggable(graph: Graph):
    return [n for n in graph.nodes.values() if n.type.startswith("aws:") and "tags" in facts.facts(n.type).inputs]


@pytest.mark.parametrize("name", CASES)
def test_taggable_resources_have_owner_cost_centre_and_expiry(name):
    graph = graph_of(name)
    assert len(taggable(graph)) > 20
    assert [n.label for n in taggable(graph) if not set(n.inputs.get("tags", {})) >= WANTED] == []


@pytest.mark.parametrize("name", CASES)
def test_machines_disks_and_interfaces_are_tagged_at_creation(name):
    """AWS creates these resources itself; the request for them contains the tags."""
    graph = graph_of(name)
    for template in graph.by_type(TEMPLATE):
        kinds = {spec["resourceType"]: spec["tags"] for spec in template.inputs["tagSpecifications"]}
        assert set(kinds) == {"instance", "volume", "network-interface"}
        assert all(set(tags) >= WANTED - {"Name"} for tags in kinds.values())
    for made in (n for n in graph.nodes.values() if n.type.endswith(":EC2NodeClass")):
        assert set(made.inputs["spec"]["tags"]) >= WANTED - {"Name"}
    for machine in graph.by_type("aws:ec2/instance:Instance"):
        assert set(machine.inputs["rootBlockDevice"]["tags"]) >= WANTED


@pytest.mark.parametrize("name", CASES)
def test_resources_with_data_are_protected_until_a_teardown(name):
    graph, torn = graph_of(name), graph_of(name, teardown=True)
    held = {n.urn for n in graph.nodes.values() if n.type in DATA}
    assert held
    assert held <= {n.urn for n in graph.nodes.values() if n.protect}
    kept = {n.urn for n in graph.nodes.values() if n.options.get("retainOnDelete")}
    assert held - {n.urn for n in graph.by_type("aws:eks/cluster:Cluster")} <= kept
    assert not [n.label for n in torn.nodes.values() if n.protect or n.options.get("retainOnDelete")]


def test_kubernetes_objects_with_data_are_protected():
    graph = graph_of("training")
    claims = [n for n in graph.nodes.values() if n.type.endswith((":PersistentVolume", ":PersistentVolumeClaim"))]
    assert {n.protect for n in claims} == {True}


OF_UPDATES = {"require_api_key", "require_tls"}
"""Switches that decide whether a fleet is updated, not what is in its graph: tests/validation/test_context_rules.py."""


@pytest.mark.parametrize("switch", sorted(Safety.model_fields.keys() - OF_UPDATES))
def test_each_switch_changes_the_graph_and_has_a_warning(switch):
    """A switch that is accepted must change the graph."""
    assert graph_of("training", off=switch).as_json() != graph_of("training").as_json()
    (warning,) = check(plan_of("training", **{switch: False}))
    assert warning.fix == f"remove {switch} from blueprint.safety"
    assert check(plan_of("training", **{switch: False}), acknowledged=[warning.code]) == []


@pytest.mark.parametrize("switch", ["flow_logs", "private_endpoints", "deletion_protection", "idle_alarm"])
def test_switches_of_a_box_change_its_graph(switch):
    assert graph_of("box", off=switch).as_json() != graph_of("box").as_json()
    assert len(check(plan_of("box", **{switch: False}))) == 1


def test_disabled_protection_deletes_no_data():
    graph = graph_of("training", off="deletion_protection")
    assert not [n.label for n in graph.nodes.values() if n.protect]
    assert {n.inputs["forceDestroy"] for n in graph.by_type("aws:s3/bucket:Bucket")} == {False}
