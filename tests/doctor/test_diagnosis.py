"""`rackwright doctor` with the simulated cloud, without the engine."""

import pytest
from rackwright_pulumi.doctor import diagnose, simulated_inventory
from rackwright_pulumi.simulator import SimulatedCloud
from rackwright_pulumi.simulator.computed import Context, ResourceRequest
from rackwright_pulumi.simulator.computed.names import NAMES, physical_name
from rackwright_pulumi.simulator.store import Record

from tests import plans
from tests.graphs import recorded

UNTAGGED = {
    "aws:ec2/route:Route",
    "aws:ec2/routeTableAssociation:RouteTableAssociation",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:kms/alias:Alias",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
}


@pytest.fixture(scope="module")
def graph():
    plan = plans.training_plan()
    return recorded(plan)


def physical(node) -> dict:
    """The name that the provider fills in."""
    request = ResourceRequest(node.type, node.name, node.urn, node.inputs, Context(region="us-east-1"))
    rule = NAMES.get(node.type)
    return {rule.property: physical_name(request)} if rule and rule.property and rule.property not in node.inputs else {}


def cloud_with(graph, path) -> SimulatedCloud:
    """Every AWS resource of the graph, as an update creates it."""
    cloud = SimulatedCloud(path)
    for node in graph.nodes.values():
        if node.type.startswith("aws:"):
            tags = {"tagsAll": node.inputs["tags"]} if "tags" in node.inputs else {}
            state = {**physical(node), **node.state, **node.inputs, **tags}
            cloud.store.add(Record(node.type, node.id, "", "", "", node.inputs, state))
    return cloud


def deployed(graph, lost: set[str]) -> dict:
    """The state without some resources."""
    nodes = [node for node in graph.as_json()["resources"] if node["urn"] not in lost]
    states = {urn: {**node.state, **node.inputs, "id": node.id} for urn, node in graph.nodes.items()}
    return {"resources": [node | {"state": states[node["urn"]]} for node in nodes]}


@pytest.mark.parametrize("kinds", [UNTAGGED, {"aws:"}, {"aws:ec2/"}, {"aws:iam/"}], ids=["untagged", "all", "ec2", "iam"])
def test_every_lost_resource_is_found_with_its_id(graph, tmp_path, kinds):
    lost = {urn: node for urn, node in graph.nodes.items() if node.type.startswith(tuple(kinds))}
    cloud = cloud_with(graph, tmp_path / "cloud.sqlite")
    found = diagnose(graph.as_json(), deployed(graph, set(lost)), simulated_inventory(cloud.path), "llama-70b-sft")
    assert {(each.urn, each.id) for each in found.lost} == {(urn, node.id) for urn, node in lost.items()}
    assert found.undeclared == ()


def test_a_complete_state_has_nothing_to_import(graph, tmp_path):
    cloud = cloud_with(graph, tmp_path / "cloud.sqlite")
    found = diagnose(graph.as_json(), deployed(graph, set()), simulated_inventory(cloud.path), "llama-70b-sft")
    assert (found.lost, found.undeclared) == ((), ())


def test_tagged_resources_outside_of_the_program_are_undeclared(graph, tmp_path):
    cloud = cloud_with(graph, tmp_path / "cloud.sqlite")
    tags = {"rackwright-stack": "llama-70b-sft", "Name": "other"}
    cloud.exists("aws:ec2/vpc:Vpc", "vpc-other", tagsAll=tags)
    cloud.exists("aws:ec2/vpc:Vpc", "vpc-foreign", tagsAll={"rackwright-stack": "foreign"})
    found = diagnose(graph.as_json(), deployed(graph, set()), simulated_inventory(cloud.path), "llama-70b-sft")
    assert [each.id for each in found.undeclared] == ["vpc-other"]


def test_a_second_policy_of_a_role_is_undeclared(graph, tmp_path):
    """An update after a kill creates a policy with another name and leaves the first, which has no tag."""
    cloud = cloud_with(graph, tmp_path / "cloud.sqlite")
    role = graph.by_type("aws:iam/role:Role")[0].id
    for name, owner in ((f"{role}:first", role), ("foreign:first", "foreign")):
        cloud.exists("aws:iam/rolePolicy:RolePolicy", name, role=owner, name="first")
    found = diagnose(graph.as_json(), deployed(graph, set()), simulated_inventory(cloud.path), "llama-70b-sft")
    assert [each.id for each in found.undeclared] == [f"{role}:first"]


def test_the_command_has_parent_and_provider(graph, tmp_path):
    alias = graph.one("aws:kms/alias:Alias")
    cloud = cloud_with(graph, tmp_path / "cloud.sqlite")
    found = diagnose(graph.as_json(), deployed(graph, {alias.urn}), simulated_inventory(cloud.path), "llama-70b-sft").lost[0]
    assert found.command.startswith(f"pulumi import aws:kms/alias:Alias {alias.name} {alias.id} --parent 'parent={alias.parent}'")
    assert "provider=urn:pulumi:test::rackwright::pulumi:providers:aws::aws" in found.command
