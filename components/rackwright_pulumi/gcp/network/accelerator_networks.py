"""Networks of the further interfaces of accelerator machines, with their subnets and firewall rules."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_gcp.compute import Firewall, FirewallAllowArgs, Network, Subnetwork
from rackwright.stackplan import AcceleratorNetworkPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.gcp.labels import guard
from rackwright_pulumi.naming import child

PROTOCOLS = ("tcp", "udp", "icmp")


class GcpAcceleratorNetworksArgs(TypedDict):
    """networks: tuple of AcceleratorNetworkPlan, in the order of the machines' interfaces."""

    networks: Part[Sequence[AcceleratorNetworkPlan]]
    project: pulumi.Input[str]
    region: str
    teardown: bool


class GcpAcceleratorNetworks(pulumi.ComponentResource):
    """Private networks without a way out, for traffic between accelerators only.

    https://cloud.google.com/kubernetes-engine/docs/how-to/gpu-bandwidth-gpudirect-tcpx
    A network with an RDMA profile has no firewall rules: https://docs.cloud.google.com/vpc/docs/rdma-network-profiles
    """

    vpcs: Mapping[str, Output[str]]
    """Name in Google Cloud by name of the AcceleratorNetworkPlan, in its order."""
    subnets: Mapping[str, Output[str]]
    """Name in Google Cloud by name of the subnet in the plan, in its order; known after its network's firewall rule."""

    def __init__(self, name: str, args: GcpAcceleratorNetworksArgs, opts: ResourceOptions | None = None):
        check_args(GcpAcceleratorNetworksArgs, args)
        super().__init__("rackwright:index:GcpAcceleratorNetworks", name, None, opts)
        plans = part(tuple[AcceleratorNetworkPlan, ...], args["networks"])
        made = {plan.name: self._network(name, plan, args) for plan in plans}
        self.vpcs = {key: vpc for key, (vpc, _) in made.items()}
        self.subnets = {key: subnet for _, subnets in made.values() for key, subnet in subnets.items()}
        self.register_outputs({"vpcs": dict(self.vpcs), "subnets": dict(self.subnets)})

    def _network(
        self, name: str, plan: AcceleratorNetworkPlan, args: GcpAcceleratorNetworksArgs
    ) -> tuple[Output[str], Mapping[str, Output[str]]]:
        profile = Output.format("projects/{0}/global/networkProfiles/{1}", args["project"], plan.profile) if plan.profile else None
        network = Network(
            child(name, plan.name),
            project=args["project"],
            auto_create_subnetworks=False,
            delete_default_routes_on_create=None if plan.profile else True,
            routing_mode="REGIONAL",
            mtu=plan.mtu,
            network_profile=profile,
            deletion_policy=guard(args["teardown"]),
            opts=ResourceOptions(parent=self, protect=not args["teardown"]),
        )
        subnets = {
            key: Subnetwork(
                child(name, key, "subnet"),
                project=args["project"],
                network=network.id,
                region=args["region"],
                ip_cidr_range=cidr,
                opts=ResourceOptions(parent=self),
            )
            for key, cidr in plan.subnet_cidrs.items()
        }
        if plan.profile:
            return network.name, {key: subnet.name for key, subnet in subnets.items()}
        firewall = Firewall(
            child(name, plan.name, "internal"),
            project=args["project"],
            network=network.id,
            source_ranges=[*plan.subnet_cidrs.values()],
            allows=[FirewallAllowArgs(protocol=protocol) for protocol in PROTOCOLS],
            opts=ResourceOptions(parent=self),
        )
        ruled = {key: Output.all(subnet.name, firewall.id).apply(lambda values: values[0]) for key, subnet in subnets.items()}
        return network.name, ruled
