"""Look-ups return resources of the cloud, and refuse deleted ones."""

import pytest
from rackwright_pulumi.testing import record

from tests.simulator.client import Refusal

VPC, SUBNET = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"


def filters(**values: str) -> list[dict]:
    return [{"name": name.replace("_", "-"), "values": [value]} for name, value in values.items()]


def test_look_ups_find_networks_and_subnets_of_the_cloud(aws, cloud):
    vpc = aws.create(VPC, "net", {"cidrBlock": "10.2.0.0/16"})
    subnet = aws.create(SUBNET, "b", {"vpcId": vpc.id, "cidrBlock": "10.2.1.0/24", "availabilityZone": "us-east-1b"})
    cloud.exists(SUBNET, "subnet-theirs", vpcId="vpc-theirs")
    assert aws.invoke("aws:ec2/getVpc:getVpc", id=vpc.id)["cidrBlock"] == "10.2.0.0/16"
    assert aws.invoke("aws:ec2/getSubnets:getSubnets", filters=filters(vpc_id=vpc.id))["ids"] == [subnet.id]
    assert aws.invoke("aws:ec2/getSubnet:getSubnet", filters=filters(availability_zone="us-east-1b"))["vpcId"] == vpc.id
    aws.delete(subnet)
    with pytest.raises(Refusal, match="does not exist"):
        aws.invoke("aws:ec2/getSubnet:getSubnet", id=subnet.id)


def test_unknown_ids_are_external_resources(aws):
    assert aws.invoke("aws:ec2/getSubnet:getSubnet", id="subnet-9")["cidrBlock"] == "10.0.0.0/20"
    assert aws.invoke("aws:eks/getCluster:getCluster", name="theirs")["endpoint"].endswith(".gr7.us-east-1.eks.amazonaws.com")


def test_offerings_and_quota_follow_the_settings(aws, cloud):
    cloud.capacity, cloud.quota = {"p5.48xlarge": {"us-east-1a": 0, "us-east-1d": 4}}, {"L-417A185B": 384}
    offered = {"locationType": "availability-zone", "filters": filters(instance_type="p5.48xlarge")}
    assert aws.invoke("aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings", **offered)["locations"] == ["us-east-1d"]
    quota = {"serviceCode": "ec2", "quotaCode": "L-417A185B"}
    assert aws.invoke("aws:servicequotas/getServiceQuota:getServiceQuota", **quota)["value"] == 384
    assert aws.invoke("aws:ec2/getInstanceType:getInstanceType", instanceType="p5.48xlarge")["defaultVcpus"] == 192


def test_versions_of_the_simulated_eks(aws):
    addon = aws.invoke("aws:eks/getAddonVersion:getAddonVersion", addonName="vpc-cni", kubernetesVersion="1.34")
    assert addon["version"] == "v1.0.0-eksbuild.1"
    assert len(aws.invoke("aws:eks/getClusterVersions:getClusterVersions")["clusterVersions"]) == 3


def test_the_recorder_supports_look_ups():
    from pulumi_aws.eks.get_cluster import get_cluster

    graph = record(lambda: get_cluster(name="theirs") and None)
    assert graph.invokes[0][0] == "aws:eks/getCluster:getCluster"


def test_a_subnet_by_zone_id_has_the_name_of_its_zone(aws):
    vpc = aws.create(VPC, "net", {"cidrBlock": "10.2.0.0/16"})
    fixed = {"vpcId": vpc.id, "cidrBlock": "10.2.1.0/24"}
    subnet = aws.create(SUBNET, "b", fixed | {"availabilityZoneId": "use1-az2"})
    assert (subnet.state["availabilityZone"], subnet.state["availabilityZoneId"]) == ("us-east-1b", "use1-az2")
    assert aws.invoke("aws:ec2/getSubnet:getSubnet", filters=filters(availability_zone_id="use1-az2"))["vpcId"] == vpc.id
    for wrong in ("usw2-az1", "use1-az9", "use1-az"):
        with pytest.raises(Refusal, match="availabilityZoneId is invalid"):
            aws.create(SUBNET, "c", {"vpcId": vpc.id, "cidrBlock": "10.2.2.0/24", "availabilityZoneId": wrong})
    with pytest.raises(Refusal, match="conflicts with"):
        aws.create(SUBNET, "d", fixed | {"availabilityZoneId": "use1-az2", "availabilityZone": "us-east-1b"})


def test_capacity_and_offerings_accept_zone_ids(aws, cloud):
    cloud.capacity = {"p5.48xlarge": {"use1-az1": 0, "us-east-1d": 4}}
    offered = {"locationType": "availability-zone-id", "filters": filters(instance_type="p5.48xlarge")}
    assert aws.invoke("aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings", **offered)["locations"] == ["use1-az4"]
