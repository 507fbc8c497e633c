"""The deployer's policy allows all actions that its stack needs, limited as far as AWS permits."""

import json
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from rackwright_pulumi.deployer import Unknown, policies
from rackwright_pulumi.deployer.tables import actions, calls, kinds
from rackwright_pulumi.resource_graph import Graph, Node

from tests.graphs import PLANS, graph_of, recorded

pytestmark = pytest.mark.xdist_group("deployer")  # graphs are recorded once
ACCOUNT, REGION = "123456789012", "us-east-1"


def graph(plan):
    return recorded(plan, stack="test")


def documents(name, **more):
    return policies(graph_of(name), account=ACCOUNT, region=REGION, **more)


def statements(found, effect="Allow"):
    return [statement for document in found for statement in document["Statement"] if statement["Effect"] == effect]


def allows(found, action, arn):
    return any(action in s["Action"] and any(fnmatchcase(arn, pattern) for pattern in s["Resource"]) for s in statements(found))


def test_actions_are_limited_to_names_of_the_stack():
    found = documents("training")
    assert allows(found, "eks:DeleteCluster", f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/llama-70b-sft")
    assert not allows(found, "eks:DeleteCluster", f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/another")
    assert allows(found, "iam:DeleteRole", f"arn:aws:iam::{ACCOUNT}:role/llama-70b-sft-cluster-nodes-1a2b3c4")
    assert not allows(found, "iam:DeleteRole", f"arn:aws:iam::{ACCOUNT}:role/administrator")
    assert not allows(found, "ec2:DeleteVpc", f"arn:aws:ec2:eu-west-1:{ACCOUNT}:vpc/vpc-0abc")
    assert allows(found, "s3:ListBucket", "arn:aws:s3:::team")


def test_the_deployer_reads_its_own_role_and_passes_no_administrator():
    allowed = statements(documents("training"))
    assert [s["Resource"] for s in allowed if s["Action"] == ["iam:GetRole"]] == [[f"arn:aws:iam::{ACCOUNT}:role/*"]]
    assert not [s for s in allowed if "iam:PassRole" in s["Action"] and any(arn.endswith("role/deployer") for arn in s["Resource"])]


def test_roles_are_passed_to_the_services_they_are_for():
    passing = [s for s in statements(documents("training")) if "iam:PassRole" in s["Action"]]
    assert [s["Action"] for s in passing] == [["iam:PassRole"]]
    services = passing[0]["Condition"]["StringEquals"]["iam:PassedToService"]
    assert {"eks.amazonaws.com", "ec2.amazonaws.com", "pods.eks.amazonaws.com", "vpc-flow-logs.amazonaws.com"} <= set(services)
    assert all(arn.startswith(f"arn:aws:iam::{ACCOUNT}:role/llama-70b-sft-") for arn in passing[0]["Resource"])


def test_existing_roles_are_passed_to_eks():
    """A stack on an existing cluster creates no role for EKS itself; it passes the node role to EKS."""
    node = Node("urn", "aws:eks/nodeGroup:NodeGroup", "nodes", "", True, {"nodeRoleArn": f"arn:aws:iam::{ACCOUNT}:role/theirs"})
    passing = [s for s in statements(policies(Graph({"urn": node}, {}), account=ACCOUNT, region=REGION)) if "iam:PassRole" in s["Action"]]
    assert passing[0]["Resource"] == [f"arn:aws:iam::{ACCOUNT}:role/theirs"]
    assert passing[0]["Condition"]["StringEquals"]["iam:PassedToService"] == ["eks.amazonaws.com"]


@pytest.mark.parametrize(("name", "stopped"), [("box", True), ("training", False)])
def test_the_role_of_an_alarm_that_stops_a_machine_can_be_created(name, stopped):
    made = [
        s["Condition"]["StringEquals"]["iam:AWSServiceName"]
        for s in statements(documents(name))
        if s["Action"] == ["iam:CreateServiceLinkedRole"]
    ]
    assert any("events.amazonaws.com" in services for services in made) is stopped


def test_fsx_can_describe_the_groups_with_the_permissions_of_the_caller():
    assert allows(documents("training"), "ec2:GetSecurityGroupsForVpc", "*")


def test_only_the_stacks_policies_are_attached():
    attach = next(s for s in statements(documents("training")) if s["Action"] == ["iam:AttachRolePolicy"])
    assert "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy" in attach["Condition"]["ArnEquals"]["iam:PolicyARN"]
    assert "arn:aws:iam::aws:policy/AdministratorAccess" not in attach["Condition"]["ArnEquals"]["iam:PolicyARN"]


def test_the_denials_are_in_every_update_policy():
    denied = {action for s in statements(documents("box"), "Deny") for action in s["Action"]}
    assert {"iam:CreateUser", "iam:CreateAccessKey", "ec2:RunInstances"} <= denied


BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/boundary"


def bounded():
    plan = PLANS["training"]()
    return policies(graph(replace(plan, place=replace(plan.place, boundary_arn=BOUNDARY))), account=ACCOUNT, region=REGION)


GRANTING = ("CreateRole", "PutRolePolicy", "AttachRolePolicy", "UpdateAssumeRolePolicy", "PutRolePermissionsBoundary")


@pytest.mark.parametrize("action", GRANTING)
def test_with_a_boundary_only_roles_of_the_stack_with_the_boundary_can_be_changed(action):
    granting = [s for s in statements(bounded()) if f"iam:{action}" in s["Action"] and "aws-service-role" not in s["Resource"][0]]
    assert granting
    for statement in granting:
        assert statement["Condition"]["StringEquals"]["iam:PermissionsBoundary"] == [BOUNDARY]
        assert all(arn.startswith(f"arn:aws:iam::{ACCOUNT}:role/llama-70b-sft-") for arn in statement["Resource"])


def test_the_boundary_cannot_be_removed_or_edited():
    found = bounded()
    allowed = {action for s in statements(found) for action in s["Action"]}
    denied = {action: s for s in statements(found, "Deny") for action in s["Action"]}
    assert "iam:DeleteRolePermissionsBoundary" not in allowed
    assert fnmatchcase(f"arn:aws:iam::{ACCOUNT}:role/any", denied["iam:DeleteRolePermissionsBoundary"]["Resource"][0])
    assert denied["iam:CreatePolicyVersion"]["Resource"] == [BOUNDARY]
    assert denied["iam:CreateRole"]["Condition"] == {"StringNotEquals": {"iam:PermissionsBoundary": [BOUNDARY]}}


def test_without_a_boundary_the_command_states_that_the_deployer_can_become_administrator(capsys):
    from rackwright.cli.main import run

    spec = Path(__file__).parents[2] / "stacks" / "llama-70b-sft.yaml"
    assert run(["policy", str(spec), "--today", "2026-11-21"]) == 0
    printed = capsys.readouterr()
    assert "can become administrator" in printed.err
    assert "permissions_boundary" in printed.err
    assert json.loads(printed.out)


DESTRUCTIVE = (
    *("ec2:DeleteVpc", "ec2:DeleteSubnet", "ec2:DeleteTags", "ec2:DeleteLaunchTemplate", "ec2:DeleteNatGateway", "ec2:CreateRoute"),
    *("ec2:RevokeSecurityGroupIngress", "ec2:AuthorizeSecurityGroupIngress", "ec2:ReleaseAddress", "ec2:DeleteVpcEndpoints"),
    *("fsx:DeleteFileSystem", "fsx:UpdateFileSystem", "fsx:UntagResource", "fsx:DeleteDataRepositoryAssociation"),
    *("kms:ScheduleKeyDeletion", "kms:PutKeyPolicy", "kms:CreateGrant", "kms:UntagResource"),
)
OF_CLUSTER = {"StringEquals": {"aws:ResourceTag/aws:eks:cluster-name": ["llama-70b-sft"]}}
OWN = {"StringEquals": {"aws:ResourceTag/rackwright-stack": ["llama-70b-sft"]}}


@pytest.mark.parametrize("action", DESTRUCTIVE)
def test_destructive_actions_are_on_resources_with_the_stacks_tag(action):
    granting = [s for s in statements(documents("training")) if action in s["Action"]]
    assert granting
    for statement in granting:
        created_by_the_call = all("security-group-rule" in arn for arn in statement["Resource"])
        of_cluster = statement.get("Condition") == OF_CLUSTER and all("security-group" in arn for arn in statement["Resource"])
        assert statement.get("Condition") == OWN or created_by_the_call or of_cluster


def test_a_machine_is_terminated_and_its_volume_changed_with_the_stacks_tag_only():
    for action in ("ec2:TerminateInstances", "ec2:ModifyVolume", "ec2:DetachVolume", "ec2:DeleteVolume"):
        conditions = [s.get("Condition") for s in statements(documents("box")) if action in s["Action"]]
        assert conditions == [{"StringEquals": {"aws:ResourceTag/rackwright-stack": ["mistral-7b-qlora"]}}]


def test_the_stacks_tag_is_set_by_the_call_that_creates_a_resource():
    tagging = [s["Condition"] for s in statements(documents("training")) if "ec2:CreateTags" in s["Action"]]
    assert OWN in tagging
    creating = [c["StringEquals"].get("ec2:CreateAction", []) for c in tagging]
    assert {"CreateVpc", "RunInstances"} <= set(max(creating, key=len))
    claimed = [s for s in statements(documents("training")) if "Null" in s.get("Condition", {})]
    assert {action for s in claimed for action in s["Action"]} == {"ec2:CreateTags", "fsx:TagResource", "kms:TagResource"}
    assert all(s["Condition"]["Null"] == {"aws:ResourceTag/rackwright-stack": "true"} for s in claimed)
    (group,) = [s for s in claimed if s["Action"] == ["ec2:CreateTags"]]
    assert group["Resource"] == [f"arn:aws:ec2:{REGION}:{ACCOUNT}:security-group/*"]


def test_the_security_group_that_eks_creates_gets_the_rules_of_the_file_system():
    conditions = [s.get("Condition") for s in statements(documents("training")) if "ec2:AuthorizeSecurityGroupIngress" in s["Action"]]
    assert OF_CLUSTER in conditions


def test_scaling_groups_are_those_of_the_cluster():
    tagging = [s["Condition"] for s in statements(documents("fleet-managed")) if "autoscaling:CreateOrUpdateTags" in s["Action"]]
    assert tagging == [{"StringEquals": {"aws:ResourceTag/eks:cluster-name": ["chat-eks"]}}]


def test_a_preview_needs_only_to_read():
    found = documents("training", preview=True)
    assert {actions()[a].access for s in statements(found) for a in s["Action"]} == {"Read", "List"}
    assert allows(found, "eks:DescribeCluster", f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/llama-70b-sft")


def test_an_unknown_resource_type_raises():
    token = "aws:sqs/queueRedrivePolicy:QueueRedrivePolicy"
    found = Graph({"urn": Node("urn", token, "extra", "", True, {})}, {})
    with pytest.raises(Unknown, match="queueRedrivePolicy"):
        policies(found, account=ACCOUNT, region=REGION)


def test_the_tables_agree():
    named = {action for rows in calls().values() for _, names in rows for action in names}
    assert named == set(actions())
    assert {kind for action in actions().values() for kind in action.kinds} <= set(kinds())
    assert {kind.token for rows in kinds().values() for kind in rows} - {""} <= set(calls())
