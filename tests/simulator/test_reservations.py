"""Reservations and capacity blocks: machines that get them, and errors of EKS and EC2 for others."""

import pytest

from tests.simulator.client import Refusal

SUBNET, TEMPLATE, NODES = "aws:ec2/subnet:Subnet", "aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/nodeGroup:NodeGroup"
INSTANCE = "aws:ec2/instance:Instance"
ROW = {"type": "p5.48xlarge", "zone": "us-east-1a", "count": 4}
BLOCK = ROW | {"block": True, "start": "2026-12-01T11:30:00Z", "end": "2026-12-08T11:30:00Z"}


@pytest.fixture
def nodes(aws):
    """nodes(count, ...) returns a node group whose template targets cr-1."""

    def made(count: int, machine: str = "p5.48xlarge", zone: str = "a", bought: str = "ON_DEMAND", **template):
        subnet = {"vpcId": "vpc-1", "cidrBlock": f"10.0.{len(aws_made)}.0/24", "availabilityZone": f"us-east-1{zone}"}
        target = {"capacityReservationTarget": {"capacityReservationId": "cr-1"}}
        lt = aws.create(TEMPLATE, f"t{len(aws_made)}", {"instanceType": machine, "capacityReservationSpecification": target} | template)
        fixed = {"clusterName": "c", "nodeRoleArn": "r", "capacityType": bought, "launchTemplate": {"id": lt.id, "version": "1"}}
        fixed["subnetIds"] = [aws.create(SUBNET, f"s{len(aws_made)}", subnet).id]
        aws_made.append(lt)
        return aws.create(NODES, f"n{len(aws_made)}", fixed | {"scalingConfig": {"desiredSize": count, "minSize": 0, "maxSize": 9}})

    aws_made: list = []
    return made


def test_a_reservation_has_its_count_regardless_of_the_zone(cloud, nodes):
    cloud.reservations, cloud.capacity = {"cr-1": ROW}, {"p5.48xlarge": {"us-east-1a": 0}}
    nodes(3)
    with pytest.raises(Refusal, match="cr-1 has 4 machines"):
        nodes(2)
    assert [r.state["status"] for r in cloud.resources(NODES)] == ["ACTIVE", "CREATE_FAILED"]


@pytest.mark.parametrize(("asked", "reason"), [({"machine": "p4d.24xlarge"}, "is of type p5"), ({"zone": "b"}, "is of zone us-east-1a")])
def test_a_reservation_is_of_one_type_and_zone(cloud, nodes, asked, reason):
    cloud.reservations = {"cr-1": ROW}
    with pytest.raises(Refusal, match=f"ReservationCapacityExceeded.*{reason}"):
        nodes(1, **asked)


def test_c1_a_reservation_outside_a_placement_group_cannot_be_used_in_it(cloud, nodes):
    cloud.reservations = {"cr-1": ROW}
    with pytest.raises(Refusal, match="was not created in placement group near"):
        nodes(1, placement={"groupName": "near"})
    cloud.reservations = {"cr-1": ROW | {"placement_group": "near"}}
    nodes(1, placement={"groupName": "near"})


@pytest.mark.parametrize(
    ("now", "reason"),
    [("2026-11-30T00:00:00Z", "starts at 2026-12-01"), ("2026-12-08T11:30:00Z", "expired at 2026-12-08"), ("2026-12-02T00:00:00Z", "")],
)
def test_a_capacity_block_is_usable_between_start_and_end(cloud, nodes, now, reason):
    cloud.reservations, cloud.now = {"cr-1": BLOCK}, now
    bought = {"bought": "CAPACITY_BLOCK", "instanceMarketOptions": {"marketType": "capacity-block"}}
    nodes(0, **bought)  # a group of none may be made at any time
    if not reason:
        nodes(2, **bought)
        return
    with pytest.raises(Refusal, match=reason):
        nodes(2, **bought)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"bought": "CAPACITY_BLOCK"}, "capacity type CAPACITY_BLOCK with the template's market type none"),
        ({"instanceMarketOptions": {"marketType": "capacity-block"}}, "capacity type ON_DEMAND with the template's market type"),
        ({"bought": "SPOT"}, "spot machines cannot use the reservation cr-1"),
    ],
)
def test_group_and_template_need_the_same_capacity_type(nodes, asked, reason):
    with pytest.raises(Refusal, match=reason):
        nodes(0, **asked)


def test_only_reservations_count_against_quotas(cloud, nodes):
    cloud.quota, cloud.reservations = {"L-417A185B": 192}, {"cr-1": BLOCK}
    nodes(4, bought="CAPACITY_BLOCK", instanceMarketOptions={"marketType": "capacity-block"})
    cloud.reservations = {"cr-1": ROW | {"count": 9}}
    with pytest.raises(Refusal, match="VcpuLimitExceeded"):
        nodes(2)


def test_c8_a_node_group_without_machines_stays_failed(aws, cloud, nodes):
    cloud.capacity = {"p5.48xlarge": {"us-east-1a": 1}}
    with pytest.raises(Refusal) as refusal:
        nodes(2, capacityReservationSpecification={})
    assert refusal.value.half.id == cloud.resources(NODES)[0].id
    cloud.capacity = {}
    record = cloud.resources(NODES)[0]
    made = type("Made", (), {"token": NODES, "name": record.name, "id": record.id, "inputs": record.inputs, "state": record.state})
    assert aws.update(made, record.inputs).state["status"] == "CREATE_FAILED"  # an empty update changes nothing, and no error says so
    with pytest.raises(Refusal, match="not in Active State"):
        aws.update(made, record.inputs | {"labels": {"a": "b"}})
    aws.delete(made)


def test_an_instance_uses_its_reservation(aws, cloud):
    cloud.reservations = {"cr-1": BLOCK}
    target = {"capacityReservationTarget": {"capacityReservationId": "cr-1"}}
    box = {"ami": "ami-1", "instanceType": "p5.48xlarge", "availabilityZone": "us-east-1a", "capacityReservationSpecification": target}
    with pytest.raises(Refusal, match="cr-1 is a capacity block, and the market type does not match"):
        aws.create(INSTANCE, "box", box)
    aws.create(INSTANCE, "box", box | {"instanceMarketOptions": {"marketType": "capacity-block"}})
