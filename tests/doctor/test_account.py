"""Resources of an AWS account (moto): tagged ones, and the untagged parts of those."""

import json
from dataclasses import replace

import boto3
import pytest
from rackwright.diagnostics.errors import UserError
from rackwright_pulumi.doctor import account_inventory, command, diagnose
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.testing import record

from tests import plans
from tests.lookup.conftest import account, nobody  # noqa: F401

STACK = "mistral-7b-qlora"
STATEMENT = {"Effect": "Allow", "Action": ["s3:ListBucket"], "Resource": ["*"]}
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [STATEMENT]})


def tags(name: str) -> list[dict[str, str]]:
    return [{"Key": "rackwright-stack", "Value": STACK}, {"Key": "Name", "Value": name}]


@pytest.fixture
def graph():
    plan = plans.box_plan()
    return record(lambda: declare(replace(plan, tags=(*plan.tags, ("rackwright-stack", STACK)))) and None)


@pytest.fixture
def interrupted(account, graph):  # noqa: F811
    """Resources of an interrupted update: a network with its route, a key with its alias, a role with its policies."""
    ec2, iam, kms = (boto3.client(service, region_name="us-east-1") for service in ("ec2", "iam", "kms"))
    names = {node.type: node.name for node in graph.nodes.values()}

    def tagged(kind: str, type_: str) -> list[dict]:
        return [{"ResourceType": kind, "Tags": tags(names[type_])}]

    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=tagged("vpc", "aws:ec2/vpc:Vpc"))["Vpc"]["VpcId"]
    gateway = ec2.create_internet_gateway(TagSpecifications=tagged("internet-gateway", "aws:ec2/internetGateway:InternetGateway"))
    gateway_id = gateway["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway_id, VpcId=vpc)
    public = next(node for node in graph.by_type("aws:ec2/route:Route") if "gatewayId" in node.inputs)
    table_urn = public.property_dependencies["routeTableId"][0]
    table_tags = [{"ResourceType": "route-table", "Tags": tags(graph.nodes[table_urn].name)}]
    table = ec2.create_route_table(VpcId=vpc, TagSpecifications=table_tags)["RouteTable"]["RouteTableId"]
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway_id)
    alias = graph.one("aws:kms/alias:Alias").inputs["name"]
    kms.create_alias(AliasName=alias, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    policy = graph.by_type("aws:iam/rolePolicy:RolePolicy")[0]
    role = graph.nodes[policy.property_dependencies["role"][0]]
    iam.create_role(RoleName=f"{role.name}-1a2b3c4", AssumeRolePolicyDocument="{}", Tags=tags(role.name))
    iam.put_role_policy(RoleName=f"{role.name}-1a2b3c4", PolicyName=f"{policy.name}-5d6e7f8", PolicyDocument=POLICY)
    return {
        "aws:ec2/vpc:Vpc": vpc,
        "aws:ec2/internetGateway:InternetGateway": gateway_id,
        "aws:ec2/routeTable:RouteTable": table,
        "aws:ec2/route:Route": f"{table}_0.0.0.0/0",
        "aws:kms/alias:Alias": alias,
        "aws:iam/role:Role": f"{role.name}-1a2b3c4",
        "aws:iam/rolePolicy:RolePolicy": f"{role.name}-1a2b3c4:{policy.name}-5d6e7f8",
    }


def test_lost_resources_have_the_ids_for_an_import(account, graph, interrupted):  # noqa: F811
    found = diagnose(graph.as_json(), {"resources": []}, account_inventory(account, STACK), STACK)
    assert {each.type: each.id for each in found.lost} == interrupted
    assert found.undeclared == ()


def test_an_account_that_does_not_answer_is_an_error(nobody):  # noqa: F811
    with pytest.raises(UserError, match=r"K-10.*no AWS credentials found"):
        command.answered(lambda: account_inventory(nobody, STACK))
