"""Session Manager on machines: rights of the roles that EC2 assumes."""

import json

import pytest
from rackwright_pulumi.resource_graph import Graph

from tests.graphs import graph_of

STACKS = ("box", "training", "fallback", "bottlerocket", "fleet-eks", "fleet-managed")
CHANNELS = {f"ssmmessages:{action}{kind}Channel" for action in ("Create", "Open") for kind in ("Control", "Data")}
NEEDED = {"ssm:UpdateInstanceInformation", *CHANNELS}
CORE = "AmazonSSMManagedInstanceCore"


def machine_roles(graph: Graph) -> dict[str, tuple[set[str], set[str]]]:
    """Role that EC2 assumes -> (actions of its own policies on all resources, names of its managed policies)."""
    found = {}
    for role in graph.by_type("aws:iam/role:Role"):
        if "ec2.amazonaws.com" not in role.inputs["assumeRolePolicy"]:
            continue
        own = [node for node in graph.by_type("aws:iam/rolePolicy:RolePolicy") if node.inputs["role"] == role.id]
        statements = [each for node in own for each in json.loads(node.inputs["policy"])["Statement"] if each["Resource"] == "*"]
        actions = {action for each in statements for action in each["Action"]}
        attached = [node for node in graph.by_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment") if node.inputs["role"] == role.id]
        found[role.name] = actions, {node.inputs["policyArn"].rpartition("/")[2] for node in attached}
    return found


@pytest.mark.parametrize("name", STACKS)
def test_every_role_of_machines_has_the_rights_of_session_manager(name):
    roles = machine_roles(graph_of(name))
    assert roles
    for role, (actions, managed) in roles.items():
        assert CORE in managed or actions >= NEEDED, role


@pytest.mark.parametrize("name", [name for name in STACKS if name != "box"])
def test_roles_of_nodes_read_no_parameters(name):
    """Pods on the host network have the role of their node."""
    for actions, managed in machine_roles(graph_of(name)).values():
        assert CORE not in managed
        assert not [action for action in actions if "Parameter" in action or "*" in action]
