"""Rails of own servers: the RDMA ports as resources and networks of pods, one per rail where the inventory names the ports."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network

from rackwright.compile.compile_context import CompileContext
from rackwright.sizing.offers.own_servers import rdma_nic, servers_named
from rackwright.spec.inventory import Nic, NicPort
from rackwright.spec.own_servers import RdmaFabric

HOST_DEVICE, SRIOV, SHARED = "host-device", "sriov", "shared"
SHARED_PODS = 63
"""Pods that share a port, as in NVIDIA's examples (rdmaHcaMax):
https://docs.nvidia.com/networking/display/kubernetes2641/customizations/cr-full-example.html"""
RESOURCE_PREFIX = {HOST_DEVICE: "nvidia.com", SRIOV: "nvidia.com", SHARED: "rdma"}
"""Prefix of the resources of each mode; the device plugin for shared ports has its own."""
NETWORKS_ANNOTATION = "k8s.v1.cni.cncf.io/networks"


@dataclass(frozen=True)
class Rail:
    """Ports that share one resource and one network. interfaces: their names on the nodes, empty: all ports of the vendor.

    existing_resource, existing_network: those that the cluster's own network operator offers; empty: the stack creates them.
    ports: of a server. subnet: addresses of the rail. pods_per_node: pods that can use it on one server.
    """

    name: str
    ports: int
    subnet: str
    pods_per_node: int
    interface: str = ""
    device: str = ""
    existing_resource: str = ""
    existing_network: str = ""

    @property
    def resource(self) -> str:
        """Name of the resource without its prefix; the SR-IOV operator accepts letters, digits and underscores."""
        return self.name.replace("-", "_")


@dataclass(frozen=True)
class Rails:
    """Rails of the servers that a stack uses, with the options of the spec."""

    stack: str
    nic: Nic
    options: RdmaFabric
    nodes: int
    rails: tuple[Rail, ...]

    @property
    def is_infiniband(self) -> bool:
        return self.nic.kind == "infiniband"

    @property
    def named(self) -> bool:
        """Whether the inventory names the interfaces."""
        return all(rail.interface for rail in self.rails)

    @property
    def exist(self) -> bool:
        """Whether the cluster has the resource and the network of every rail."""
        return all(rail.existing_resource and rail.existing_network for rail in self.rails)

    def full_name(self, rail: Rail) -> str:
        """Name of the rail's objects, unique in the cluster."""
        return f"{self.stack}-{rail.name}"

    def resource(self, rail: Rail) -> str:
        return rail.existing_resource or f"{RESOURCE_PREFIX[self.options.mode]}/{rail.resource}"

    @property
    def node_resources(self) -> tuple[tuple[str, int], ...]:
        """(resource, amount of a node)."""
        return self._sums(rail.ports * rail.pods_per_node for rail in self.rails)

    @property
    def pod_resources(self) -> tuple[tuple[str, int], ...]:
        """(resource, amount of a pod that uses every port of its node)."""
        return self._sums(1 if self.options.mode == SHARED else rail.ports for rail in self.rails)

    def _sums(self, amounts: Iterable[int]) -> tuple[tuple[str, int], ...]:
        """(resource, amount); existing resources may be those of several rails."""
        found: dict[str, int] = {}
        for rail, amount in zip(self.rails, amounts, strict=True):
            found[self.resource(rail)] = found.get(self.resource(rail), 0) + amount
        return tuple(found.items())

    @property
    def pod_networks(self) -> str:
        """Value of NETWORKS_ANNOTATION for such a pod: a network per port."""
        each = {rail: 1 if self.options.mode == SHARED else rail.ports for rail in self.rails}
        return ",".join(rail.existing_network or self.full_name(rail) for rail, count in each.items() for _ in range(count))


def rails_of(context: CompileContext) -> Rails | None:
    """Rails of the chosen servers; None without RDMA ports."""
    chosen = context.candidate
    servers = servers_named(context.spec, chosen.place, chosen.machine)
    nic = rdma_nic(servers.group, context.catalog) if servers else None
    if servers is None or nic is None:
        return None
    options = context.place.fabric or RdmaFabric()
    complete = len(nic.rails) == nic.count and all(port.interface or (port.resource and port.network) for port in nic.rails)
    listed = nic.rails if complete else (NicPort(),)
    whole = IPv4Network(options.addresses, strict=False)
    subnets = whole.subnets(prefixlen_diff=math.ceil(math.log2(len(listed)))) if len(listed) > 1 else iter([whole])
    rails = tuple(
        Rail(
            name=f"rail-{number}" if complete else "rails",
            ports=1 if complete else nic.count,
            subnet=str(subnet),
            pods_per_node=pods_per_node(options),
            interface=port.interface or "",
            device=port.device or "",
            existing_resource=port.resource or "",
            existing_network=port.network or "",
        )
        for number, (port, subnet) in enumerate(zip(listed, subnets, strict=False))
    )
    return Rails(context.spec.name, nic, options, servers.count, rails)


def pods_per_node(options: RdmaFabric) -> int:
    """Pods that can use one port."""
    return {HOST_DEVICE: 1, SRIOV: options.virtual_functions, SHARED: SHARED_PODS}[options.mode]
