"""Zone IDs from the plan to the resources: subnets, data disks, load balancer and node pools."""

from dataclasses import replace

import pytest
from rackwright.stackplan import StackPlan
from rackwright_pulumi.testing import Graph

from tests import plans
from tests.graphs import recorded

SUBNET, VOLUME, GROUP = "aws:ec2/subnet:Subnet", "aws:ebs/volume:Volume", "aws:eks/nodeGroup:NodeGroup"
NAMED = plans.AWS | {"zones": ["use1-az6", "use1-az2"]}
IDS = ("use1-az1", "use1-az2", "use1-az6")


def graph(plan: StackPlan) -> Graph:
    return recorded(plan)


def box(place: dict) -> StackPlan:
    spec, sizing, fit = plans.box_case(zones=IDS)
    workload = spec.workload.model_dump(mode="json", exclude_unset=True)
    return plans.compiled((plans.spec(spec.name, workload, plans.AWS | place, blueprint={"ttl": "7d"}), sizing, fit))


def test_a_subnet_has_an_id_or_a_name():
    for place, key in ((NAMED, "availabilityZoneId"), (plans.AWS | {"zones": ["us-east-1c"]}, "availabilityZone")):
        subnets = graph(plans.compiled(plans.training_case(place=place, zones=IDS))).by_type(SUBNET)
        found = [node for node in subnets if "-control-" not in node.name]  # those of one name are IDs that support control planes
        assert found
        assert {k for node in found for k in node.inputs if k.startswith("availabilityZone")} == {key}


def test_interface_endpoints_are_in_zones_of_one_form():
    found = graph(plans.compiled(plans.training_case(place=plans.AWS | {"zones": ["us-east-1c"]}, zones=IDS)))
    zones = {node.id: node.inputs.get("availabilityZoneId") for node in found.by_type(SUBNET)}
    used = [node.inputs["subnetIds"] for node in found.by_type("aws:ec2/vpcEndpoint:VpcEndpoint") if node.inputs.get("subnetIds")]
    assert used
    assert all(sorted(zones[subnet] for subnet in subnets) == ["use1-az1", "use1-az2"] for subnets in used)


def test_a_data_disk_is_in_the_zone_of_its_subnet():
    """EBS requires the zone's name, which is known per account at deployment."""
    made = graph(box({"zones": ["use1-az2"]}))
    assert {node.inputs["availabilityZoneId"] for node in made.by_type(SUBNET)} == {"use1-az2"}
    assert made.one(VOLUME).inputs["availabilityZone"] == "us-east-1b"


def test_a_data_disk_in_an_existing_subnet_looks_its_zone_up():
    existing = {"network": {"existing": {"vpc": "vpc-0123456789abcdef0", "subnets": ["subnet-0123456789abcdef0"]}}}
    made = graph(box({"zones": ["use1-az2"]} | existing))
    assert made.one(VOLUME).inputs["availabilityZone"].startswith("us-east-1")
    assert not made.by_type(SUBNET)


@pytest.mark.parametrize("provisioner", ["karpenter", "managed"])
def test_a_fleet_has_a_machine_subnet_in_each_zone(provisioner):
    place = {"place": NAMED, "zones": IDS}
    made = graph(plans.compiled(plans.eks_fleet_case(blueprint={"nodes": {"provisioner": provisioner}}, **place)))
    subnets = [node for node in made.by_type(SUBNET) if "-nodes" in node.name]
    assert [node.inputs["availabilityZoneId"] for node in subnets] == ["use1-az6", "use1-az2"]
    ids = [node.id for node in subnets]
    annotations = next(n.inputs["metadata"]["annotations"] for n in made.by_type("kubernetes:core/v1:Service"))
    assert ",".join(ids) in annotations.values()
    if provisioner == "managed":
        (pool,) = [node for node in made.by_type(GROUP) if "system" not in node.name]
        assert pool.inputs["subnetIds"] == ids
    else:
        (node_class,) = made.by_type("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")
        assert node_class.inputs["spec"]["subnetSelectorTerms"] == [{"id": subnet} for subnet in ids]


def test_one_zone_keeps_the_names_of_its_resources():
    """A further zone adds resources to a stack, and the first zone's subnet stays."""
    one = graph(plans.compiled(plans.eks_fleet_case(place=plans.AWS | {"zones": ["use1-az6"]}, zones=IDS)))
    two = graph(plans.compiled(plans.eks_fleet_case(place=NAMED, zones=IDS)))
    assert set(one.nodes) < set(two.nodes)
    first = "chat-eks-network-subnet-nodes"
    assert two.one(SUBNET, first).inputs == one.one(SUBNET, first).inputs


def test_an_existing_network_gives_one_subnet_per_zone():
    subnets = [
        {"id": f"subnet-0123456789abcdef{number}", "zone": zone, "cidr": f"10.1.{64 * number}.0/18", "use": "all"}
        for number, zone in enumerate(("use1-az6", "use1-az6", "use1-az2"))
    ]
    existing = {"network": {"existing": {"vpc": "vpc-0123456789abcdef0", "subnets": subnets}}}
    plan = plans.compiled(plans.eks_fleet_case(place=NAMED | existing, zones=IDS))
    (node_class,) = graph(replace(plan)).by_type("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")
    terms = [term["id"][-1] for term in node_class.inputs["spec"]["subnetSelectorTerms"]]
    assert terms == ["0", "2"]
