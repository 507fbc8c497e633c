"""Dependencies for creation and deletion, and replacement of resources with a fixed name."""

import pulumi
from rackwright_pulumi import declare
from rackwright_pulumi.testing import Graph, record

from tests import plans
from tests.components.waits import all_before
from tests.graphs import recorded


def graph() -> Graph:
    def program():
        for key, value in declare(plans.training_plan()).stack_outputs().items():
            pulumi.export(key, value)

    return record(program)


def test_l1_security_groups_are_deleted_after_their_users():
    """A group cannot be deleted while a network interface uses it: members depend on it, so a destroy deletes them first."""
    made = graph()
    groups = {node.id: node.urn for node in made.by_type("aws:ec2/securityGroup:SecurityGroup")}
    users = {"LaunchTemplate", "LustreFileSystem", "VpcEndpoint"}
    holders = [node for node in made.nodes.values() if node.type.rpartition(":")[2] in users]
    members = [(node, group) for node in holders for group in _texts(node.inputs) if group in groups]
    assert {node.type.rpartition(":")[2] for node, _ in members} == users
    assert not [node.label for node, group in members if groups[group] not in all_before(made, node.urn)]


def test_l1_machines_are_deleted_before_the_groups_of_their_template():
    made = graph()
    groups = {node.urn for node in made.by_type("aws:ec2/securityGroup:SecurityGroup") if node.name.endswith("fabric")}
    pool = made.one("aws:eks/nodeGroup:NodeGroup", "llama-70b-sft-pool-gpu-nodes")
    assert groups
    assert groups <= all_before(made, pool.urn)


def test_u1_resources_with_fixed_names_are_deleted_before_replacement():
    """AWS refuses a second resource with the name, and the update stops half done."""
    types = ("aws:eks/cluster:Cluster", "aws:cloudwatch/logGroup:LogGroup", "aws:kms/alias:Alias", "aws:eks/accessEntry:AccessEntry")
    fixed = [node for node in graph().nodes.values() if node.type in types and (node.inputs.get("name") or node.inputs.get("principalArn"))]
    assert {node.type for node in fixed} >= set(types[:3])
    assert not [node.label for node in fixed if not node.options.get("deleteBeforeReplace")]


def test_v51_a_file_system_on_efa_waits_for_the_groups_rules():
    """FSx refuses a group whose rules do not exist yet; in an existing network, no other resource delays the file system."""
    case = plans.training_case(blueprint={"ttl": "14d", "storage": {"lustre": {"efa": True}}})
    made = recorded(plans.compiled(case))
    found = {made.nodes[urn].name for urn in all_before(made, made.one("aws:fsx/lustreFileSystem:LustreFileSystem").urn)}
    assert {"llama-70b-sft-network-fabric-self-in", "llama-70b-sft-network-fabric-self-out"} <= found


def _texts(value) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []
