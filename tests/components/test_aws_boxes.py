"""From a spec to every resource: a box on each kind of machine, sized, compiled and declared."""

import base64
from dataclasses import replace
from functools import cache

import pytest
from rackwright.compile.compile import compile_plan
from rackwright.diagnostics.problem import Level
from rackwright.sizing.size import size
from rackwright.spec import read
from rackwright.stackplan import StackPlan, VersionPins
from rackwright.validation.stack import check
from rackwright_pulumi.testing import Graph

from tests import plans
from tests.components.sdk import misfits, untagged
from tests.graphs import recorded
from tests.sizing.helpers import TODAY, finetune, serve

INSTANCE, ALARM = "aws:ec2/instance:Instance", "aws:cloudwatch/metricAlarm:MetricAlarm"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
BLOCK_ID = "cr-0123456789abcdef0"
TUNE, SMALL, ASK = finetune("mistral-7b", "qlora"), finetune("qwen2.5-1.5b"), serve("qwen2.5-1.5b", rate=0.2)
CASES = {
    "g6e.2xlarge": (TUNE, "us-east-1", "on-demand"),
    "p5.4xlarge": (TUNE, "us-east-2", "on-demand"),
    "p5.48xlarge": (TUNE, "us-east-1", "block"),
    "trn1.2xlarge": (SMALL, "us-east-1", "spot"),
    "trn1.32xlarge": (finetune(), "us-east-1", "on-demand"),
    "inf2.xlarge": (ASK, "us-east-1", "on-demand"),
    "m7i.4xlarge": (ASK, "us-east-1", "on-demand"),
    "c7i.8xlarge": (SMALL, "us-west-2", "on-demand"),
}


def block(machine: str, region: str) -> str:
    times = "start: 2026-11-20T11:30:00Z, end: 2026-11-27T11:30:00Z"
    return f"{{capacity_block: {{id: {BLOCK_ID}, instance: {machine}, count: 1, zone: {region}a, {times}}}}}"


@cache
def plan(machine: str) -> StackPlan:
    workload, region, mode = CASES[machine]
    text = f"""
api_version: rackwright/v1
name: box
workloads: [{workload}]
infra:
  any_of:
    - {{cloud: aws, account: "123456789012", regions: [{region}], zones: [{region}a], pin: {{instance: {machine}, nodes: 1}},
       capacity: {{ordered: [{block(machine, region) if mode == "block" else mode}]}}}}
blueprint: {{kind: box, ttl: 7d, ssh_from: [203.0.113.0/24]}}
tags: {{owner: test}}
"""
    spec = read(text)
    sizing = size(spec, today=TODAY)
    return compile_plan(spec, sizing, sizing.fits[0], today=TODAY)


@cache
def graph(machine: str) -> Graph:
    made = plan(machine)
    return recorded(made)


@pytest.mark.parametrize("machine", CASES)
def test_every_rule_and_the_sdk_accept_it(machine):
    assert not [str(p) for p in check(plan(machine)) if p.level is Level.ERROR]
    assert not misfits(graph(machine))
    assert not untagged(graph(machine), owner="test")
    assert not graph(machine).unregistered()


@pytest.mark.parametrize("machine", CASES)
def test_it_has_the_machine_type_is_private_encrypted_and_allows_ssh_of_the_spec(machine):
    made = graph(machine)
    inputs = made.one(INSTANCE).inputs
    assert inputs["instanceType"] == machine
    assert inputs["associatePublicIpAddress"] is False
    assert inputs["rootBlockDevice"]["encrypted"] is True
    assert base64.b64decode(inputs["userDataBase64"]).startswith(b"#!/bin/bash\n")
    assert [rule.inputs["cidrIpv4"] for rule in made.by_type(INGRESS) if rule.inputs.get("fromPort") == 22] == ["203.0.113.0/24"]
    assert [args["filters"][0]["values"] for token, args in made.invokes if token.endswith("getAmi")] == [[plan(machine).box.image]]


@pytest.mark.parametrize("machine", CASES)
def test_it_stops_when_idle_or_terminates_where_it_cannot_stop(machine):
    alarm = next(node for node in graph(machine).by_type(ALARM) if node.inputs.get("metricName") == "CPUUtilization")
    action = "terminate" if plan(machine).box.capacity.mode == "spot" else "stop"
    region = plan(machine).place.region
    assert f"arn:aws:automate:{region}:ec2:{action}" in alarm.inputs["alarmActions"]


@pytest.mark.parametrize("machine", CASES)
def test_its_data_volume_is_not_deleted_with_it(machine):
    volume = graph(machine).one("aws:ebs/volume:Volume")
    assert volume.protect
    assert volume.options["retainOnDelete"] is True
    assert volume.inputs["availabilityZone"] == plan(machine).box.zone


def test_a_teardown_removes_the_protection_of_the_data():
    made = plan("g6e.2xlarge")
    volume = recorded(made, teardown=True).one("aws:ebs/volume:Volume")
    assert not volume.protect
    assert not volume.options.get("retainOnDelete")


def test_f4_p5_4xlarge_has_the_driver_image_and_neither_placement_group_nor_fabric():
    """Other tools used an image without EFA, or the layout of the machine with eight GPUs."""
    made = graph("p5.4xlarge")
    assert plan("p5.4xlarge").box.image.startswith("Deep Learning Base OSS Nvidia Driver GPU AMI")
    assert not made.by_type("aws:ec2/placementGroup:PlacementGroup")
    inputs = made.one(INSTANCE).inputs
    assert not {"placementGroup", "networkInterfaces"} & set(inputs)
    assert plan("p5.4xlarge").network.fabric == "none"


def test_a_block_is_set_as_market_and_target_and_never_purchased():
    made = graph("p5.48xlarge")
    inputs = made.one(INSTANCE).inputs
    assert inputs["instanceMarketOptions"]["marketType"] == "capacity-block"
    assert BLOCK_ID in str(inputs["capacityReservationSpecification"])
    assert not [node for node in made.nodes.values() if "capacityBlockReservation" in node.type]


def test_an_arm_gpu_starts_from_an_arm_image():
    spec, sizing, fit = plans.box_case()
    made = plans.compiled((spec, sizing, plans.on_machine(fit, "g5g.2xlarge")))
    graph = recorded(made)
    assert "ARM64" in str([args for token, args in graph.invokes if token.endswith("getAmi")])
    assert not misfits(graph)


def test_v5_the_image_id_of_the_spec_is_used():
    """Other tools ignored the ID and started the default image."""
    mine = replace(plan("g6e.2xlarge"), box=replace(plan("g6e.2xlarge").box, image="ami-0123456789abcdef0"), pins=VersionPins())
    made = recorded(mine)
    assert made.one(INSTANCE).inputs["ami"] == "ami-0123456789abcdef0"
    assert not [token for token, _ in made.invokes if token.endswith("getAmi")]


def test_anywhere_is_every_address_to_the_cloud():
    open_box = replace(plan("g6e.2xlarge"), box=replace(plan("g6e.2xlarge").box, ingress=("anywhere",)))
    rules = recorded(open_box).by_type(INGRESS)
    assert [rule.inputs["cidrIpv4"] for rule in rules if rule.inputs.get("fromPort") == 22] == ["0.0.0.0/0"]
