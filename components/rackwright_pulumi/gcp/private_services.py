"""Private services access of a network: the range and the peering that Managed Lustre and Filestore use."""

from ipaddress import IPv4Network
from typing import TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_gcp.compute import Firewall, FirewallAllowArgs, GlobalAddress
from pulumi_gcp.servicenetworking import Connection

from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.naming import child

SERVICE = "servicenetworking.googleapis.com"
LUSTRE_PORT = "988"


class GcpPrivateServicesArgs(TypedDict):
    """cidr: of the services, which overlaps no subnet of the network. network_id: projects/PROJECT/global/networks/NAME."""

    cidr: str
    project: Input[str]
    network_id: Input[str]


class GcpPrivateServices(pulumi.ComponentResource):
    """The peering of a network with Google's services, and the firewall rule for their Lustre servers.

    A network has one connection per service, so a second stack on the network uses the connection of the first:
    https://docs.cloud.google.com/vpc/docs/configure-private-services-access. Ports and ranges:
    https://docs.cloud.google.com/managed-lustre/docs/vpc
    """

    network_id: Output[str]
    """Known after the connection and the rule exist; pass it to services in the range."""

    def __init__(self, name: str, args: GcpPrivateServicesArgs, opts: ResourceOptions | None = None):
        check_args(GcpPrivateServicesArgs, args)
        super().__init__("rackwright:index:GcpPrivateServices", name, None, opts)
        own, span = ResourceOptions(parent=self), IPv4Network(args["cidr"])
        address = GlobalAddress(
            child(name, "range"),
            project=args["project"],
            network=args["network_id"],
            purpose="VPC_PEERING",
            address_type="INTERNAL",
            address=str(span.network_address),
            prefix_length=span.prefixlen,
            opts=own,
        )
        connection = Connection(
            child(name, "peering"),
            network=args["network_id"],
            service=SERVICE,
            reserved_peering_ranges=[address.name],
            deletion_policy="REMOVE_PEERING",  # a deleted file system can hold the connection for days
            opts=own,
        )
        firewall = Firewall(
            child(name, "lustre"),
            project=args["project"],
            network=args["network_id"],
            source_ranges=[args["cidr"]],
            allows=[FirewallAllowArgs(protocol="tcp", ports=[LUSTRE_PORT])],
            opts=own,
        )
        self.network_id = Output.all(connection.network, firewall.id).apply(lambda values: values[0])
        self.register_outputs({"networkId": self.network_id})
