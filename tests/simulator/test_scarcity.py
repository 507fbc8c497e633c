"""Capacity per zone, quota per region, and injected faults."""

import pytest
from rackwright.catalog.read import Catalog
from rackwright_pulumi.simulator.limits.machines import MachineRequest, quota_of, vcpus

from tests.simulator.client import Refusal

SUBNET, TEMPLATE, NODES = "aws:ec2/subnet:Subnet", "aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/nodeGroup:NodeGroup"
INSTANCE, POOL, VPC = "aws:ec2/instance:Instance", "gcp:container/nodePool:NodePool", "aws:ec2/vpc:Vpc"


@pytest.fixture
def nodes(aws):
    """nodes(count) returns inputs of a GPU node group in us-east-1a."""
    subnet = aws.create(SUBNET, "a", {"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/24", "availabilityZone": "us-east-1a"})
    template = aws.create(TEMPLATE, "gpu", {"instanceType": "p5.48xlarge"})
    fixed = {"clusterName": "c", "nodeRoleArn": "r", "subnetIds": [subnet.id], "launchTemplate": {"id": template.id, "version": "1"}}
    return lambda count: {**fixed, "scalingConfig": {"desiredSize": count, "minSize": 0, "maxSize": 8}}


def test_a_zone_limits_its_machines(aws, cloud, nodes):
    cloud.capacity = {"p5.48xlarge": {"us-east-1a": 4}}
    with pytest.raises(Refusal, match=r"InsufficientInstanceCapacity.*p5\.48xlarge.*us-east-1a"):
        aws.create(NODES, "big", nodes(5))
    cloud.lose(NODES, "big")
    first = aws.create(NODES, "one", nodes(3))
    with pytest.raises(Refusal, match="InsufficientInstanceCapacity"):
        aws.create(NODES, "two", nodes(2))
    cloud.lose(NODES, "two")
    assert aws.update(first, nodes(4)).state["scalingConfig"]["desiredSize"] == 4
    with pytest.raises(Refusal, match="InsufficientInstanceCapacity"):
        aws.update(first, nodes(5))


def test_quota_counts_vcpus_of_a_family_in_a_region(aws, cloud, nodes):
    cloud.quota = {"L-417A185B": 2 * 192}
    aws.create(NODES, "two", nodes(2))
    with pytest.raises(Refusal, match=r"VcpuLimitExceeded.*384.*L-417A185B"):
        aws.create(INSTANCE, "p4", {"ami": "ami-1", "instanceType": "p4d.24xlarge"})
    aws.create(INSTANCE, "cpu", {"ami": "ami-1", "instanceType": "m7i.large"})


def test_errors_of_google_have_its_format(gcp, cloud):
    gpus = {"machineType": "a3-highgpu-8g", "guestAccelerators": [{"type": "nvidia-h100-80gb", "count": 8}]}
    pool = {"cluster": "c", "nodeLocations": ["us-central1-a"], "nodeCount": 2, "nodeConfig": gpus}
    cloud.quota = {"NVIDIA_H100_GPUS": 8}
    with pytest.raises(Refusal, match="Quota 'NVIDIA_H100_GPUS' exceeded"):
        gcp.create(POOL, "gpu", pool)
    cloud.quota = {}
    cloud.capacity = {"a3-highgpu-8g": {"us-central1-a": 1}}
    with pytest.raises(Refusal, match=r"GCE_STOCKOUT.*projects/team/zones/us-central1-a"):
        gcp.create(POOL, "gpu", pool)


@pytest.mark.parametrize(
    ("machines", "quota"),
    [
        (MachineRequest("p5.48xlarge", "us-east-1a", 1), ("L-417A185B", 192)),
        (MachineRequest("p5.48xlarge", "us-east-1a", 1, spot=True), ("L-C4BD4855", 192)),
        (MachineRequest("p4d.24xlarge", "us-east-1a", 1, spot=True), ("L-7212CCBC", 96)),
        (MachineRequest("g6e.xlarge", "us-east-1a", 1), ("L-DB2E81BA", 4)),
        (MachineRequest("trn1.32xlarge", "us-east-1a", 1), ("L-2C3B7624", 128)),
        (MachineRequest("m7i.large", "us-east-1a", 1), ("L-1216C47A", 2)),
        (MachineRequest("g2-standard-48", "us-central1-a", 1, True, "nvidia-l4", 4), ("PREEMPTIBLE_NVIDIA_L4_GPUS", 4)),
        (MachineRequest("ct6e-standard-4t", "us-central1-a", 1), ("TPU-V6E-per-project-region", 4)),
        (MachineRequest("n1-standard-8", "us-central1-a", 1, False, "nvidia-tesla-t4", 2), ("NVIDIA_T4_GPUS", 2)),
        (MachineRequest("p3.2xlarge", "us-east-1a", 1, spot=True), ("L-7212CCBC", 8)),
        (MachineRequest("e2-standard-16", "us-central1-a", 1), ("CPUS", 16)),
    ],
)
def test_each_machine_counts_against_its_quota(machines, quota):
    assert quota_of(machines) == quota


@pytest.mark.parametrize("spot", [False, True])
def test_quotas_are_those_of_the_catalog(spot):
    rows = [row for row in Catalog.default().machines if "." in row.name and (row.quota_spot if spot else row.quota_on_demand)]
    assert len(rows) > 50
    wanted = {row.name: (row.quota_spot if spot else row.quota_on_demand, row.vcpus) for row in rows}
    assert {name: quota_of(MachineRequest(name, "us-east-1a", 1, spot)) for name in wanted} == wanted


def test_vcpus_follow_from_the_size():
    assert [vcpus(f"x.{size}") for size in ("large", "xlarge", "4xlarge", "48xlarge")] == [2, 4, 16, 192]


def test_a_fault_applies_as_often_as_configured(aws, cloud):
    cloud.fault(VPC, "n*", "create", "RequestLimitExceeded", times=2)
    for _ in range(2):
        with pytest.raises(Refusal, match="RequestLimitExceeded"):
            aws.create(VPC, "net", {})
    aws.create(VPC, "net", {})
    assert [error for op, _, _, error in cloud.calls()] == ["RequestLimitExceeded", "RequestLimitExceeded", ""]


def test_a_fault_applies_to_its_name_and_operation(aws, cloud):
    cloud.fault(VPC, "other", error="no")
    cloud.fault(VPC, op="delete", error="no")
    made = aws.create(VPC, "net", {})
    with pytest.raises(Refusal, match="no"):
        aws.delete(made)
    cloud.clear_faults()
    aws.delete(made)


def test_a_partial_failure_returns_the_resource_and_the_reason(aws, cloud):
    cloud.fault(VPC, op="create", error="not ready", times=1, partial=True)
    with pytest.raises(Refusal) as refusal:
        aws.create(VPC, "net", {})
    assert refusal.value.half.id == cloud.resource(VPC, "net").id
    assert list(refusal.value.half.reasons) == ["not ready"]


def test_a_cancelled_engine_does_not_wait(aws, cloud):
    from google.protobuf import empty_pb2

    cloud.latency_s = 60.0
    aws.stub.Cancel(empty_pb2.Empty())
    with pytest.raises(Refusal, match="cancelled"):
        aws.create(VPC, "net", {})
