"""VPC, subnets and the ways out."""

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
from rackwright.compile.wants import NetworkWant, SubnetWant

from rackwright_pulumi.aws.tags import Kin

ANYWHERE = "0.0.0.0/0"
Subnets = list[tuple[SubnetWant, Output[str]]]


def build_vpc(kin: Kin, want: NetworkWant, protect: bool) -> tuple[Vpc, Subnets, RouteTable]:
    """The VPC, its subnets and the private route table.

    A subnet's id is taken from its association with a route table that is complete: whoever uses the subnet has a way out from the
    start and until the end of a destroy, and no gateway goes before its last user.
    """
    vpc = Vpc(
        kin.name("vpc"),
        cidr_block=want.cidr,
        enable_dns_support=True,
        enable_dns_hostnames=True,
        tags=kin.tagged("vpc"),
        opts=kin.opts(protect=protect),
    )
    DefaultSecurityGroup(kin.name("default"), vpc_id=vpc.id, tags=kin.tagged("default"), opts=kin.opts())
    public_table = RouteTable(kin.name("public"), vpc_id=vpc.id, tags=kin.tagged("public"), opts=kin.opts())
    private_table = RouteTable(kin.name("private"), vpc_id=vpc.id, tags=kin.tagged("private"), opts=kin.opts())
    public_route = _internet(kin, vpc, public_table)
    public: Subnets = [(s, _subnet(kin, vpc, s, public_table, public_route)) for s in want.subnets if s.public]
    private_route = _nat(kin, private_table, public[0][1]) if want.nat and public else None
    private: Subnets = [(s, _subnet(kin, vpc, s, private_table, private_route)) for s in want.subnets if not s.public]
    return vpc, [*public, *private], private_table


def _internet(kin: Kin, vpc: Vpc, table: RouteTable) -> Route:
    gateway = InternetGateway(kin.name("internet"), vpc_id=vpc.id, tags=kin.tagged("internet"), opts=kin.opts())
    return Route(kin.name("public-out"), route_table_id=table.id, destination_cidr_block=ANYWHERE, gateway_id=gateway.id, opts=kin.opts())


def _nat(kin: Kin, table: RouteTable, public_subnet_id: Output[str]) -> Route:
    address = Eip(kin.name("nat"), domain="vpc", tags=kin.tagged("nat"), opts=kin.opts())
    gateway = NatGateway(
        kin.name("nat"), subnet_id=public_subnet_id, allocation_id=address.allocation_id, tags=kin.tagged("nat"), opts=kin.opts()
    )
    return Route(
        kin.name("private-out"), route_table_id=table.id, destination_cidr_block=ANYWHERE, nat_gateway_id=gateway.id, opts=kin.opts()
    )


def _subnet(kin: Kin, vpc: Vpc, want: SubnetWant, table: RouteTable, route: Route | None) -> Output[str]:
    subnet = Subnet(
        kin.name("subnet", want.name),
        vpc_id=vpc.id,
        cidr_block=want.cidr,
        availability_zone=want.zone,
        map_public_ip_on_launch=False,
        tags=kin.tagged("subnet", want.name),
        opts=kin.opts(),
    )
    association = RouteTableAssociation(
        kin.name("subnet", want.name),
        subnet_id=subnet.id,
        route_table_id=table.id,
        opts=kin.opts(depends_on=[route] if route else None),
    )
    return cast(Output[str], association.subnet_id)
