"""Private network: nodes without public addresses, Cloud NAT, and enabled cloud APIs."""

from collections.abc import Sequence
from typing import Any, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_gcp.compute import (
    Firewall,
    FirewallAllowArgs,
    Network,
    Router,
    RouterNat,
    RouterNatLogConfigArgs,
    Subnetwork,
    SubnetworkLogConfigArgs,
    SubnetworkSecondaryIpRangeArgs,
)
from pulumi_gcp.projects import Service
from rackwright.stackplan import NetworkPlan, SubnetPlan
from rackwright.stackplan.addresses import MACHINE_PURPOSES

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.gcp.labels import guard
from rackwright_pulumi.naming import child
from rackwright_pulumi.upstream import StackReferences

SERVICES = {
    "projects": "cloudresourcemanager",
    "compute": "compute",
    "cluster": "container",
    "identity": "iam",
    "keys": "cloudkms",
    "object-store": "storage",
    "registry": "artifactregistry",
    "logs": "logging",
    "metrics": "monitoring",
    "machine-access": "iap",
    "secrets": "secretmanager",
    "private-services": "servicenetworking",
    "file-system": "lustre",
    "budgets": "billingbudgets",
}
"""Name in the plan to the API."""
PROTOCOLS = ("tcp", "udp", "icmp")
FLOW_SAMPLING = 0.5
"""Share of logged flows, explicit against drift; the default of https://cloud.google.com/vpc/docs/flow-logs"""


class GcpNetworkArgs(TypedDict):
    """network: a NetworkPlan. services: names of cloud APIs in the plan. project: "" for the provider's."""

    network: Part[NetworkPlan]
    services: Part[Sequence[str]]
    project: str
    region: str
    teardown: bool


class GcpNetwork(pulumi.ComponentResource):
    """APIs, network, subnets, firewall and Cloud NAT. An existing network is not changed; only the APIs are enabled."""

    project: Output[str]
    """The project id, known after all APIs are enabled; pass it to resources that use an API."""
    network_id: Output[str]
    subnet_ids: Output[Sequence[str]]
    """Of node subnets, in the plan's order."""

    def __init__(self, name: str, args: GcpNetworkArgs, opts: ResourceOptions | None = None):
        check_args(GcpNetworkArgs, args)
        super().__init__("rackwright:index:GcpNetwork", name, None, opts)
        plan = part(NetworkPlan, args["network"])
        self.project = _enabled(self, name, part(tuple[str, ...], args["services"]), args["project"])
        if plan.existing_id:
            stacks = StackReferences(self, name)
            self.network_id = Output.from_input(stacks.value(plan.existing_id))
            purposes = [subnet.purpose for subnet in plan.subnets]
            named = zip(plan.existing_subnet_ids, purposes or ["nodes"] * len(plan.existing_subnet_ids), strict=True)
            self.subnet_ids = Output.all(*[stacks.value(subnet_id) for subnet_id, purpose in named if purpose in MACHINE_PURPOSES])
        else:
            self._create(name, plan, args["region"], args["teardown"])
        self.register_outputs({"project": self.project, "networkId": self.network_id, "subnetIds": self.subnet_ids})

    def _create(self, name: str, plan: NetworkPlan, region: str, teardown: bool) -> None:
        network = Network(
            child(name, "vpc"),
            project=self.project,
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            mtu=plan.mtu,
            deletion_policy=guard(teardown),
            opts=ResourceOptions(parent=self, protect=not teardown),
        )
        nodes = [subnet for subnet in plan.subnets if subnet.purpose != "proxy"]
        node_subnets = [self._subnet(name, subnet, network.id, region, plan.flow_logs) for subnet in nodes]
        for subnet in plan.subnets:
            if subnet.purpose == "proxy":
                self._subnet(name, subnet, network.id, region, plan.flow_logs)
        if not plan.is_isolated:
            self._internal(name, [cidr for subnet in nodes for cidr in (subnet.cidr, *dict(subnet.secondary).values())], network.id)
        if plan.nat:
            self._nat(name, network.id, region)
        self.network_id, self.subnet_ids = network.id, Output.all(*[subnet.id for subnet in node_subnets])

    def _subnet(self, name: str, plan: SubnetPlan, network_id: Input[str], region: str, flow_logs: bool) -> Subnetwork:
        """A subnet of nodes, or a proxy-only subnet of regional load balancers, which has no logs and no private access:
        https://cloud.google.com/load-balancing/docs/proxy-only-subnets"""
        logs = SubnetworkLogConfigArgs(flow_sampling=FLOW_SAMPLING, metadata="INCLUDE_ALL_METADATA") if flow_logs else None
        settings: dict[str, Any] = {
            "private_ip_google_access": True,
            "secondary_ip_ranges": [SubnetworkSecondaryIpRangeArgs(range_name=key, ip_cidr_range=cidr) for key, cidr in plan.secondary],
            "log_config": logs,
        }
        return Subnetwork(
            child(name, "subnet", plan.name),
            project=self.project,
            network=network_id,
            region=region,
            ip_cidr_range=plan.cidr,
            opts=ResourceOptions(parent=self),
            **({"purpose": "REGIONAL_MANAGED_PROXY", "role": "ACTIVE"} if plan.purpose == "proxy" else settings),
        )

    def _internal(self, name: str, ranges: list[str], network_id: Input[str]) -> None:
        Firewall(
            child(name, "internal"),
            project=self.project,
            network=network_id,
            source_ranges=ranges,
            allows=[FirewallAllowArgs(protocol=protocol) for protocol in PROTOCOLS],
            opts=ResourceOptions(parent=self),
        )

    def _nat(self, name: str, network_id: Input[str], region: str) -> None:
        router = Router(child(name, "router"), project=self.project, network=network_id, region=region, opts=ResourceOptions(parent=self))
        RouterNat(
            child(name, "nat"),
            project=self.project,
            router=router.name,
            region=region,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
            log_config=RouterNatLogConfigArgs(enable=True, filter="ERRORS_ONLY"),
            opts=ResourceOptions(parent=self),
        )


def _enabled(parent: GcpNetwork, name: str, services: Sequence[str], project: str) -> Output[str]:
    """Enable the APIs. They stay enabled after a destroy, because other stacks of the project use them. Returns the project id."""
    apis = [
        Service(
            child(name, "api", service),
            project=project or None,
            service=f"{SERVICES[service]}.googleapis.com",
            disable_on_destroy=False,
            opts=ResourceOptions(parent=parent),
        )
        for service in services
    ]
    return Output.all(*[service.project for service in apis]).apply(lambda ids: ids[0] if ids else project)
