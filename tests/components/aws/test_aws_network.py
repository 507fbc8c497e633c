"""The network is private with one NAT gateway; its security groups and endpoints (recipes section 3.1)."""

from dataclasses import replace

import pytest
from rackwright.stackplan import NetworkPlan
from rackwright_pulumi.aws.network.network import AwsNetwork
from rackwright_pulumi.testing import record
from rackwright_pulumi.unsupported import Unsupported

from tests.components.aws.parts import EGRESS, INGRESS, KEY_ARN, NETWORK, network, policy


class TestNetwork:
    def test_no_subnet_gives_public_addresses(self):
        assert {n.inputs["mapPublicIpOnLaunch"] for n in network().by_type("aws:ec2/subnet:Subnet")} == {False}

    def test_the_default_group_allows_nothing(self):
        inputs = network().one("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup").inputs
        assert not inputs.get("ingress")
        assert not inputs.get("egress")

    def test_the_fabric_group_allows_itself_in_both_directions(self):
        """Field C: EFA traffic matches rules that reference the group, not 0.0.0.0/0."""
        graph = network()
        group = graph.one("aws:ec2/securityGroup:SecurityGroup", "demo-network-fabric")
        for rules in (graph.by_type(INGRESS), graph.by_type(EGRESS)):
            own = [n.inputs for n in rules if n.inputs.get("referencedSecurityGroupId") == group.id]
            assert [(n["securityGroupId"], n["ipProtocol"]) for n in own] == [(group.id, "-1")]

    def test_no_group_allows_inbound_traffic_from_outside(self):
        assert {n.inputs.get("cidrIpv4") for n in network().by_type(INGRESS)} == {None, "10.0.0.0/16"}

    def test_a_network_without_a_fabric_has_no_fabric_group(self):
        graph = network(replace(NETWORK, fabric="none", self_reachable=False))
        assert not [n for n in graph.by_type("aws:ec2/securityGroup:SecurityGroup") if n.name.endswith("fabric")]

    def test_private_subnets_route_to_the_nat_gateway_and_it_to_the_internet_gateway(self):
        graph = network()
        routes = {n.name: n.inputs for n in graph.by_type("aws:ec2/route:Route")}
        assert "natGatewayId" in routes["demo-network-private-out"]
        assert "gatewayId" in routes["demo-network-public-out"]

    def test_a_nat_gateway_is_deleted_before_its_replacement_takes_the_address(self):
        assert network().one("aws:ec2/natGateway:NatGateway").options["deleteBeforeReplace"] is True

    def test_f26_users_of_a_subnet_depend_on_its_routes(self):
        """A destroy deletes the gateways after the machines that use them."""
        graph = network()
        for name, route in (("nodes", "private-out"), ("public", "public-out")):
            association = graph.one("aws:ec2/routeTableAssociation:RouteTableAssociation", f"demo-network-subnet-{name}")
            assert graph.one("aws:ec2/route:Route", f"demo-network-{route}").urn in association.depends_on
        endpoint = graph.one("aws:ec2/vpcEndpoint:VpcEndpoint", "demo-network-endpoint-kms")
        assert any("routeTableAssociation" in urn for urn in endpoint.property_dependencies["subnetIds"])

    def test_endpoints_are_private_and_in_one_subnet_per_zone(self):
        graph = network()
        found = {n.inputs["serviceName"]: n.inputs for n in graph.by_type("aws:ec2/vpcEndpoint:VpcEndpoint")}
        assert set(found) == {f"com.amazonaws.us-east-1.{s}" for s in ("s3", "ecr.api", "ecr.dkr", "kms")}
        assert found["com.amazonaws.us-east-1.s3"]["vpcEndpointType"] == "Gateway"
        kms = found["com.amazonaws.us-east-1.kms"]
        assert kms["privateDnsEnabled"] is True
        zones = {n.id: n.inputs["availabilityZone"] for n in graph.by_type("aws:ec2/subnet:Subnet")}
        assert sorted(zones[subnet] for subnet in kms["subnetIds"]) == ["us-east-1a", "us-east-1b"]
        public = graph.one("aws:ec2/subnet:Subnet", "demo-network-subnet-public")
        assert public.id not in kms["subnetIds"]

    def test_an_unknown_endpoint_is_unsupported(self):
        with pytest.raises(Unsupported, match=r"private_endpoints: teleport is not supported .* instead: cluster, compute, "):
            network(replace(NETWORK, private_endpoints=("teleport",)))

    def test_all_traffic_is_logged_encrypted(self):
        graph = network()
        assert graph.one("aws:ec2/flowLog:FlowLog").inputs["trafficType"] == "ALL"
        assert graph.one("aws:cloudwatch/logGroup:LogGroup").inputs["kmsKeyId"] == KEY_ARN

    def test_only_the_vpc_is_protected_until_a_teardown(self):
        assert [n.name for n in network().nodes.values() if n.protect] == ["demo-network-vpc"]
        assert not [n for n in network(teardown=True).nodes.values() if n.protect]

    def test_an_existing_network_gets_only_the_fabric_group(self):
        want = NetworkPlan("", (), self_reachable=True, existing_id="vpc-0abc", existing_subnet_ids=("subnet-0a", "subnet-0b"))
        graph = network(want)
        assert {n.type.rpartition(":")[2] for n in graph.nodes.values() if n.custom} == {
            "SecurityGroup",
            "SecurityGroupIngressRule",
            "SecurityGroupEgressRule",
        }
        outputs = graph.one("rackwright:index:AwsNetwork").outputs
        assert (outputs["vpcId"], outputs["subnetIds"]) == ("vpc-0abc", ["subnet-0a", "subnet-0b"])

    def test_a_network_argument_takes_precedence_over_the_plan(self):
        outputs = network(vpc_id="vpc-live", subnet_ids=["s1", "s2", "s3", "s4"]).one("rackwright:index:AwsNetwork").outputs
        assert (outputs["vpcId"], outputs["subnetIds"]) == ("vpc-live", ["s1", "s2", "s3", "s4"])

    def test_machines_in_a_zone_without_a_subnet_are_refused(self):
        def program():
            args = {"network": NETWORK, "region": "us-east-1", "kms_key_arn": KEY_ARN, "tags": {}, "teardown": False}
            AwsNetwork("demo-network", args).machine_subnets(["us-east-1f"])

        with pytest.raises(Unsupported, match=r"a pool in us-east-1f without a subnet in that zone .* instead: machines in us-east-1a"):
            record(program)

    def test_machines_use_the_first_existing_subnets_and_the_control_plane_all(self):
        chosen = {}

        def program():
            want = NetworkPlan("", (), existing_id="vpc-0abc", existing_subnet_ids=("subnet-0a", "subnet-0b"))
            args = {"network": want, "region": "us-east-1", "kms_key_arn": KEY_ARN, "tags": {}, "teardown": False}
            made = AwsNetwork("demo-network", args)
            chosen.update(machines=len(made.machine_subnets(["us-east-1a"])), control=len(made.control_subnets()))

        record(program)
        assert chosen == {"machines": 1, "control": 2}

    def test_flow_logs_can_describe_log_groups(self):
        """VPC flow logs call DescribeLogGroups, which IAM allows on all groups or on none."""
        statements = policy(network(), "aws:iam/rolePolicy:RolePolicy")
        actions = {action: s["Resource"] for s in statements for action in s["Action"]}
        assert actions["logs:PutLogEvents"].endswith(":*")
        assert actions["logs:DescribeLogGroups"] == "*"
