"""VPC, subnets, internet gateway, NAT gateway and route tables."""

from typing import cast

from pulumi import Output
from pulumi_aws.ec2.default_security_group import DefaultSecurityGroup
from pulumi_aws.ec2.eip import Eip
from pulumi_aws.ec2.internet_gateway import InternetGateway
from pulumi_aws.ec2.nat_gateway import NatGateway
from pulumi_aws.ec2.route import Route
from pulumi_aws.ec2.route_table import RouteTable
from pulumi_aws.ec2.route_table_association import RouteTableAssociation
from pulumi_aws.ec2.subnet import Subnet
from pulumi_aws.ec2.vpc import Vpc
from rackwright.stackplan import NetworkPlan, SubnetPlan, is_zone_id

from rackwright_pulumi.aws.tags import ChildContext

ANYWHERE = "0.0.0.0/0"
Subnets = list[tuple[SubnetPlan, Output[str]]]


def build_vpc(child: ChildContext, plan: NetworkPlan, protect: bool) -> tuple[Vpc, Subnets, RouteTable, dict[str, Output[str]]]:
    """The VPC, its subnets, the private route table, and the zone name of each zone in the plan.

    A subnet's id comes from its association with a complete route table: resources in the subnet have routes from creation until
    the end of a destroy, and no gateway is deleted before its last user.
    """
    vpc = Vpc(
        child.name("vpc"),
        cidr_block=plan.cidr,
        enable_dns_support=True,
        enable_dns_hostnames=True,
        tags=child.tagged("vpc"),
        opts=child.opts(protect=protect),
    )
    DefaultSecurityGroup(child.name("default"), vpc_id=vpc.id, tags=child.tagged("default"), opts=child.opts())
    public_table = RouteTable(child.name("public"), vpc_id=vpc.id, tags=child.tagged("public"), opts=child.opts())
    private_table = RouteTable(child.name("private"), vpc_id=vpc.id, tags=child.tagged("private"), opts=child.opts())
    internet = InternetGateway(child.name("internet"), vpc_id=vpc.id, tags=child.tagged("internet"), opts=child.opts())
    public_route = Route(
        child.name("public-out"), route_table_id=public_table.id, destination_cidr_block=ANYWHERE, gateway_id=internet.id, opts=child.opts()
    )
    zones: dict[str, Output[str]] = {}
    public: Subnets = [(s, _subnet(child, vpc, s, public_table, public_route, zones)) for s in plan.subnets if s.public]
    private_route = _nat(child, private_table, public[0][1]) if plan.nat and public else None
    private: Subnets = [(s, _subnet(child, vpc, s, private_table, private_route, zones)) for s in plan.subnets if not s.public]
    return vpc, [*public, *private], private_table, zones


def _nat(child: ChildContext, table: RouteTable, public_subnet_id: Output[str]) -> Route:
    address = Eip(child.name("nat"), domain="vpc", tags=child.tagged("nat"), opts=child.opts())
    gateway = NatGateway(
        child.name("nat"),
        subnet_id=public_subnet_id,
        allocation_id=address.allocation_id,
        tags=child.tagged("nat"),
        opts=child.opts(delete_before_replace=True),  # an address belongs to one gateway at a time
    )
    return Route(
        child.name("private-out"), route_table_id=table.id, destination_cidr_block=ANYWHERE, nat_gateway_id=gateway.id, opts=child.opts()
    )


def _subnet(
    child: ChildContext, vpc: Vpc, plan: SubnetPlan, table: RouteTable, route: Route | None, zones: dict[str, Output[str]]
) -> Output[str]:
    """Create a subnet and its association. Adds the name of its zone to `zones`, by the zone in the plan."""
    subnet = Subnet(
        child.name("subnet", plan.name),
        vpc_id=vpc.id,
        cidr_block=plan.cidr,
        availability_zone=None if is_zone_id(plan.zone) else plan.zone,
        availability_zone_id=plan.zone if is_zone_id(plan.zone) else None,
        map_public_ip_on_launch=False,
        tags=child.tagged("subnet", plan.name),
        opts=child.opts(),
    )
    zones[plan.zone] = subnet.availability_zone
    association = RouteTableAssociation(
        child.name("subnet", plan.name),
        subnet_id=subnet.id,
        route_table_id=table.id,
        opts=child.opts(depends_on=[route] if route else None),
    )
    return cast(Output[str], association.subnet_id)
