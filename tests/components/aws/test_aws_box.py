"""A box is one private, encrypted machine that stops when idle; its data outlives it (recipes 4.1)."""

import base64
from dataclasses import replace

import pytest
from rackwright.stackplan import BoxPlan, CapacityPlan, DiskPlan
from rackwright_pulumi.aws.box.box import AwsBox
from rackwright_pulumi.testing import record
from rackwright_pulumi.unsupported import Unsupported

from tests.components.sdk import misfits

INSTANCE, VOLUME, ALARM = "aws:ec2/instance:Instance", "aws:ebs/volume:Volume", "aws:cloudwatch/metricAlarm:MetricAlarm"
WANT = BoxPlan(
    machine="g6e.2xlarge",
    zone="us-east-1a",
    image="Deep Learning Image 20260925",
    root=DiskPlan(200, iops=3000, throughput_mib_s=125),
    data=DiskPlan(500, iops=4000, throughput_mib_s=250),
    capacity=CapacityPlan(),
    setup_script="#!/bin/bash\necho ready\n",
)
AMI = {"aws:ec2/getAmi:getAmi": {"id": "ami-0123456789abcdef0", "architecture": "x86_64"}}


def graph_of(want=WANT, **more):
    args = {
        "box": want,
        "region": "us-east-1",
        "vpc_id": "vpc-1",
        "subnet_id": "subnet-1",
        "profile_name": "demo-profile",
        "kms_key_arn": "arn:aws:kms:us-east-1:123456789012:key/k",
        "tags": {"owner": "test"},
        "teardown": False,
    }
    return record(lambda: AwsBox("demo-box", args | more) and None, invokes=AMI)


def machine(want=WANT, **more) -> dict:
    return graph_of(want, **more).one(INSTANCE).inputs


def test_the_image_is_looked_up_by_exact_name_and_a_new_one_replaces_no_machine():
    graph = graph_of()
    ((token, args),) = graph.invokes
    assert token == "aws:ec2/getAmi:getAmi"
    assert args == {"owners": ["amazon"], "filters": [{"name": "name", "values": [WANT.image]}]}
    assert graph.one(INSTANCE).inputs["ami"] == "ami-0123456789abcdef0"
    assert "ami" in graph.one(INSTANCE).options["ignoreChanges"]


def test_an_image_id_is_not_looked_up():
    graph = graph_of(image_id="ami-mine")
    assert not graph.invokes
    assert graph.one(INSTANCE).inputs["ami"] == "ami-mine"


def test_the_box_allows_no_inbound_traffic():
    graph = graph_of()
    assert not graph.by_type("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")
    assert machine()["associatePublicIpAddress"] is False
    assert "keyName" not in machine()


def test_ssh_is_open_only_for_the_networks_of_the_plan():
    rules = graph_of(replace(WANT, ingress=("10.1.0.0/16",))).by_type("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")
    assert [(n.inputs["cidrIpv4"], n.inputs["fromPort"], n.inputs["toPort"]) for n in rules] == [("10.1.0.0/16", 22, 22)]


def test_metadata_requires_tokens_and_allows_two_hops():
    assert machine()["metadataOptions"] == {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 2}


def test_both_disks_are_encrypted_and_the_data_outlives_the_machine():
    graph = graph_of()
    assert graph.one(INSTANCE).inputs["rootBlockDevice"]["encrypted"] is True
    volume = graph.one(VOLUME)
    assert (volume.inputs["encrypted"], volume.inputs["size"], volume.inputs["throughput"]) == (True, 500, 250)
    assert volume.protect
    assert not any("instance" in urn for urn in volume.depends_on)
    assert [n.name for n in graph.nodes.values() if n.protect] == ["demo-box-data"]


def test_a_box_without_data_has_no_volume():
    assert not graph_of(replace(WANT, data=None)).by_type(VOLUME)


def test_an_alarm_stops_an_idle_box():
    inputs = graph_of().one(ALARM).inputs
    assert inputs["alarmActions"] == ["arn:aws:automate:us-east-1:ec2:stop"]
    assert inputs["period"] * inputs["evaluationPeriods"] == 3600
    assert inputs["statistic"] == "Maximum"
    assert inputs["treatMissingData"] == "notBreaching"
    assert not graph_of(replace(WANT, idle_stop_minutes=None)).by_type(ALARM)
    assert graph_of(replace(WANT, idle_cpu_percent=0.26)).one(ALARM).inputs["threshold"] == 0.26


def test_an_idle_spot_box_is_terminated():
    graph = graph_of(replace(WANT, capacity=CapacityPlan("spot")))
    assert graph.one(ALARM).inputs["alarmActions"] == ["arn:aws:automate:us-east-1:ec2:terminate"]
    inputs = graph.one(INSTANCE).inputs
    assert inputs["instanceMarketOptions"]["marketType"] == "spot"
    assert inputs["disableApiTermination"] is False


def test_a_capacity_block_is_named_as_market_and_target():
    inputs = machine(replace(WANT, capacity=CapacityPlan("capacity-block", "cr-1")))
    assert inputs["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert inputs["capacityReservationSpecification"] == {"capacityReservationTarget": {"capacityReservationId": "cr-1"}}


def test_a_box_has_neither_fabric_nor_placement_group():
    inputs = machine()
    assert "networkInterfaces" not in inputs
    assert "placementGroup" not in inputs


def test_termination_protection_is_removed_only_by_a_teardown():
    assert (machine()["disableApiTermination"], machine()["forceDestroy"]) == (True, False)
    lifted = graph_of(teardown=True)
    inputs = lifted.one(INSTANCE).inputs
    assert (inputs["disableApiTermination"], inputs["forceDestroy"]) == (False, True)
    assert not [n for n in lifted.nodes.values() if n.protect]


def test_user_data_is_the_script_of_the_plan():
    assert base64.b64decode(machine()["userDataBase64"]).decode() == WANT.setup_script


def test_an_edited_script_replaces_no_running_machine():
    """Seen with the engine: the replacement stopped the machine and detached its disk before termination protection refused it."""
    node = graph_of().one(INSTANCE)
    assert "userDataBase64" in node.options["ignoreChanges"]
    assert not node.inputs.get("userDataReplaceOnChange")


def test_the_connect_command_opens_a_session():
    outputs = graph_of().one("rackwright:index:AwsBox").outputs
    assert outputs["connectCommand"] == f"aws ssm start-session --target {outputs['instanceId']} --region us-east-1"


def test_unknown_capacity_modes_are_refused():
    with pytest.raises(Unsupported, match=r"box.capacity.mode: flex-start is not supported"):
        graph_of(replace(WANT, capacity=CapacityPlan("flex-start")))


@pytest.mark.parametrize("mode", ["on-demand", "spot", "reservation", "capacity-block"])
def test_the_sdk_declares_every_input(mode):
    graph = graph_of(replace(WANT, capacity=CapacityPlan(mode, "cr-1"), ingress=("10.1.0.0/16",)))
    assert not misfits(graph)
    assert not graph.unregistered()
