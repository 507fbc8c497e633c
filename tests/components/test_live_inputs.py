"""Blueprints on AWS take an existing network, key and tags as outputs of other resources of the program."""

import pulumi
import pytest
from rackwright_pulumi.blueprints.box import Box
from rackwright_pulumi.blueprints.inference_fleet import InferenceFleet
from rackwright_pulumi.blueprints.training_cluster import TrainingCluster
from rackwright_pulumi.testing import record
from rackwright_pulumi.unsupported import Unsupported

from tests import plans

KEY = "arn:aws:kms:us-east-1:123456789012:key/own"
BLUEPRINTS = {"box": (Box, plans.box_plan), "training": (TrainingCluster, plans.training_plan)}


def live(value: str) -> pulumi.Output[str]:
    return pulumi.Output.from_input(value)


def subnets(plan) -> list[pulumi.Output[str]]:
    return [live(f"subnet-{subnet.name}") for subnet in plan.network.subnets]


@pytest.mark.parametrize("name", BLUEPRINTS)
def test_an_existing_network_and_key_replace_those_of_the_plan(name):
    blueprint, plan_of = BLUEPRINTS[name]

    def program():
        plan = plan_of()
        tags = {"cost-center": live("7"), "owner": live("x")}
        own = {"vpc_id": live("vpc-own"), "subnet_ids": subnets(plan), "kms_key_arn": live(KEY), "tags": tags}
        blueprint("demo", {"plan": plan, **own})

    graph = record(program)
    types = {node.type for node in graph.nodes.values()}
    assert not types & {"aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:kms/key:Key", "aws:kms/alias:Alias"}
    groups = graph.by_type("aws:ec2/securityGroup:SecurityGroup")
    assert {node.inputs["vpcId"] for node in groups} == {"vpc-own"}
    assert {node.inputs["tags"]["cost-center"] for node in groups} == {"7"}
    assert "x" not in {node.inputs["tags"]["owner"] for node in groups}, "the plan's tags take precedence"
    machines = [*graph.by_type("aws:ec2/launchTemplate:LaunchTemplate"), *graph.by_type("aws:ec2/instance:Instance")]
    assert KEY in str([node.inputs for node in machines])


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"vpc_id": "vpc-own"}, "pass both vpc_id and subnet_ids"),
        ({"vpc_id": "vpc-own", "subnet_ids": ["subnet-1"]}, "in the order public, "),
    ],
)
def test_a_part_of_a_network_is_refused(inputs, text):
    with pytest.raises(Unsupported, match=text):
        record(lambda: TrainingCluster("demo", {"plan": plans.training_plan(), **inputs}) and None)


def test_live_inputs_of_aws_are_refused_on_google_cloud():
    with pytest.raises(Unsupported, match="kms_key_arn on gcp"):
        record(lambda: InferenceFleet("demo", {"plan": plans.fleet_plan(), "kms_key_arn": KEY}) and None)
