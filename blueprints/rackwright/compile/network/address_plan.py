"""Networks and subnets: private, with the accelerators in one zone and one large subnet."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv4Network

from rackwright.catalog.rows import FabricLayout
from rackwright.clouds import profile
from rackwright.spec.infra import ExistingSubnet, Network, SecondaryRange, StackOutput, SubnetEntry
from rackwright.stackplan import AcceleratorNetworkPlan, Existing, FromStack, NetworkPlan, PlacePlan, SubnetPlan
from rackwright.stackplan.addresses import MACHINE_PURPOSES, free_addresses

AWS_CIDR = "10.0.0.0/16"
FURTHER_NODES = tuple(f"10.0.{third}.0/20" for third in range(128, 256, 16))
"""Ranges of machines in a fleet's further zones."""
BOX_ENDPOINTS = ("object-store", "registry", "identity", "logs", "machine-access", "keys")
EKS_ENDPOINTS = (*BOX_ENDPOINTS, "compute", "cluster", "pod-identity")
GCP_CIDR = "192.168.0.0/16"
GCP_NODES, GCP_PODS, GCP_SERVICES, GCP_PROXY = "192.168.0.0/18", "10.4.0.0/14", "10.0.32.0/20", "192.168.64.0/23"
"""Node, pod and service ranges of cluster-toolkit@1047080, and the /23 proxy-only subnet of the load balancing documentation."""
GCE_BOX_NODES = "192.168.0.0/24"
ACCELERATOR_CIDR = "192.168.128.0/17"
"""Of the accelerators' networks: eight with a /20 each."""
GCP_PRIVATE_SERVICES = "192.168.80.0/20"
"""Of file systems. A Managed Lustre instance takes a /23: https://docs.cloud.google.com/managed-lustre/docs/vpc"""
GCP_MTU = 8896
"""Bytes; the maximum on GCP (cluster-toolkit uses it for accelerators)."""


def box_network(place: PlacePlan) -> NetworkPlan:
    subnets = (
        SubnetPlan("public", "10.0.0.0/24", place.zone, public=True, purpose="nat"),
        SubnetPlan("private", "10.0.16.0/20", place.zone),
    )
    return NetworkPlan(AWS_CIDR, subnets, private_endpoints=BOX_ENDPOINTS)


def existing_network(network: Network, fabric: str = "none") -> NetworkPlan | None:
    """The existing network of the spec, to which only a security group for EFA is added. None where the spec has none.

    Subnets are listed where the spec gives a zone, CIDR or use of any; otherwise machines use the first.
    """
    if network.existing is None:
        return None
    entries = [_subnet_entry(entry) for entry in network.existing.subnets]
    described = any(entry.zone or entry.cidr or entry.use != "all" for entry in entries)
    subnets = (
        SubnetPlan(
            f"existing-{i}",
            entry.cidr or "",
            entry.zone or "",
            public=entry.use == "public",
            purpose="nat" if entry.use == "public" else entry.use,
        )
        for i, entry in enumerate(entries)
    )
    return NetworkPlan(
        cidr="",
        subnets=tuple(subnets) if described else (),
        nat=False,
        flow_logs=False,
        fabric=fabric,
        self_reachable=fabric == "efa",
        existing_id=existing_reference(network.existing.vpc),
        existing_subnet_ids=tuple(existing_reference(entry.id) for entry in entries),
    )


def existing_gke_network(plan: NetworkPlan, network: Network, place: PlacePlan) -> NetworkPlan:
    """`plan` in the existing network of the spec, which stays as it is; only the networks of accelerators are created.

    A network of another project than the place's is a Shared VPC.
    """
    given = network.existing
    if given is None:
        return plan
    entries = [_subnet_entry(entry) for entry in given.subnets]
    named = re.fullmatch(profile(place.cloud).network_id, given.vpc) if isinstance(given.vpc, str) else None
    host = (named["owner"] or "") if named else ""
    return replace(
        plan,
        cidr="",
        subnets=tuple(_existing_gke_subnet(i, entry) for i, entry in enumerate(entries)),
        nat=False,
        flow_logs=False,
        mtu=None,
        private_services_cidr="",  # the network has its own: V-260
        existing_id=existing_reference(given.vpc),
        existing_subnet_ids=tuple(existing_reference(entry.id) for entry in entries),
        host_project=host if host != place.account and given.subnet_users == "create" else "",
    )


def _existing_gke_subnet(index: int, entry: ExistingSubnet) -> SubnetPlan:
    ranges = {"pods": entry.pods, "services": entry.services}
    named = {use: given if isinstance(given, SecondaryRange) else SecondaryRange(name=given) for use, given in ranges.items() if given}
    return SubnetPlan(
        f"existing-{index}",
        entry.cidr or "",
        entry.zone or "",
        purpose=entry.use,
        secondary=tuple((use, given.cidr) for use, given in named.items() if given.cidr),
        range_names=tuple((use, given.name) for use, given in named.items()),
    )


def proxy_range(network: Network) -> str:
    """Addresses from which the gateway of a fleet on GKE sends requests: of the region's proxy-only subnet."""
    if network.existing:
        listed = (_subnet_entry(entry) for entry in network.existing.subnets)
        return next((entry.cidr for entry in listed if entry.use == "proxy" and entry.cidr), GCP_PROXY)
    return str(_gke_ranges(network.cidr).proxy) if network.cidr else GCP_PROXY


def zones_of(network: Network, *uses: str) -> tuple[str, ...]:
    """Zones of the existing subnets with one of the uses, where the spec sets them."""
    entries = [_subnet_entry(entry) for entry in network.existing.subnets] if network.existing else []
    return tuple(dict.fromkeys(entry.zone for entry in entries if entry.zone and entry.use in uses))


def existing_reference(value: str | StackOutput | None) -> Existing:
    """An ID, or an output of another stack; empty if not configured."""
    return FromStack(value.stack, value.output) if isinstance(value, StackOutput) else value or ""


def _subnet_entry(entry: SubnetEntry) -> ExistingSubnet:
    return entry if isinstance(entry, ExistingSubnet) else ExistingSubnet(id=entry)


def eks_network(place: PlacePlan, fabric: str) -> NetworkPlan:
    """One public subnet for the NAT gateway, one control subnet per control zone, one /18 for the accelerators, a /20 per further zone."""
    zones = enumerate(place.control_zones, 1)
    control = tuple(SubnetPlan(f"control-{i}", f"10.0.{16 * i}.0/20", zone, purpose="control") for i, zone in zones)
    subnets = (
        SubnetPlan("public", "10.0.0.0/24", place.zone, public=True, purpose="nat"),
        *control,
        SubnetPlan("nodes", "10.0.64.0/18", place.zone),
        *(
            SubnetPlan(f"nodes-{number}", cidr, zone)
            for number, (cidr, zone) in enumerate(zip(FURTHER_NODES, place.further_zones, strict=False), 2)
        ),
    )
    return NetworkPlan(AWS_CIDR, subnets, private_endpoints=EKS_ENDPOINTS, fabric=fabric, self_reachable=fabric == "efa")


def gke_network(
    place: PlacePlan, fabric: str, proxy: bool = False, layout: FabricLayout | None = None, has_file_system: bool = False
) -> NetworkPlan:
    """Nodes with pods and services in their own ranges. proxy: with a subnet of regional load balancers. layout: of a machine for whose
    interfaces the stack makes networks. has_file_system: with a range of managed services."""
    further = accelerator_networks(layout) if layout else ()
    nodes = SubnetPlan("nodes", GCP_NODES, place.zone, secondary=(("pods", GCP_PODS), ("services", GCP_SERVICES)))
    proxies = (SubnetPlan("proxy", GCP_PROXY, place.zone, purpose="proxy"),) if proxy else ()
    mtu = further[0].mtu if further else GCP_MTU
    services = GCP_PRIVATE_SERVICES if has_file_system else ""
    return NetworkPlan(GCP_CIDR, (nodes, *proxies), fabric=fabric, mtu=mtu, accelerator_networks=further, private_services_cidr=services)


def accelerator_networks(layout: FabricLayout) -> tuple[AcceleratorNetworkPlan, ...]:
    """A network per gVNIC of the fabric; none where GKE makes the networks itself. A subnet has addresses for 4,092 machines."""
    if layout.managed_networks_from:
        return ()
    ranges = IPv4Network(ACCELERATOR_CIDR).subnets(new_prefix=20)
    return tuple(
        AcceleratorNetworkPlan(f"vpc{number}", str(cidr), layout.mtu or GCP_MTU, layout.device_mode)
        for number, cidr in zip(range(1, layout.gvnic_networks + 1), ranges, strict=False)
    )


def gce_box_network(place: PlacePlan, layout: FabricLayout | None) -> NetworkPlan:
    """One subnet of a box, and the networks of its further interfaces, which machines with an RDMA profile must have.

    The interfaces of TCPX and TCPXO carry traffic between machines only, so that one machine has none.
    """
    subnets = (SubnetPlan("nodes", GCE_BOX_NODES, place.zone),)
    further = rdma_networks(layout, place.zone) if layout and layout.rdma_subnets else ()
    return NetworkPlan(GCP_CIDR, subnets, mtu=GCP_MTU, accelerator_networks=further, is_isolated=True)


def rdma_networks(layout: FabricLayout, zone: str) -> tuple[AcceleratorNetworkPlan, ...]:
    """The networks of the gVNICs besides the first, and the RDMA network with one subnet per interface, of machines in one zone.

    https://docs.cloud.google.com/ai-hypercomputer/docs/create/create-vm
    """
    ranges = map(str, IPv4Network(ACCELERATOR_CIDR).subnets(new_prefix=24))
    gvnics = (AcceleratorNetworkPlan(f"gvnic{number}", next(ranges), GCP_MTU) for number in range(1, layout.gvnic_networks + 1))
    ip, cidrs = tuple(gvnics), [next(ranges) for _ in range(layout.rdma_subnets)]
    profile_name = f"{zone}-{layout.network_profile}"
    rdma = AcceleratorNetworkPlan("rdma", cidrs[0], layout.mtu or GCP_MTU, layout.device_mode, profile_name, tuple(cidrs[1:]))
    return (*ip, rdma)


@dataclass(frozen=True)
class _GkeRanges:
    """Parts of one range: half for pods, a quarter for nodes, an eighth for the networks of accelerators."""

    pods: IPv4Network
    nodes: IPv4Network
    services: IPv4Network
    proxy: IPv4Network
    accelerators: tuple[IPv4Network, ...]


def _gke_ranges(cidr: str) -> _GkeRanges:
    lower, pods = IPv4Network(cidr).subnets(prefixlen_diff=1)
    nodes, rest = lower.subnets(prefixlen_diff=1)
    services, small, *further = rest.subnets(prefixlen_diff=2)
    proxy = next(small.subnets(prefixlen_diff=3))
    return _GkeRanges(pods, nodes, services, proxy, tuple(part for each in further for part in each.subnets(prefixlen_diff=2)))


def assign_gke_ranges(network: NetworkPlan, cidr: str) -> NetworkPlan:
    """A network of GKE in another range, with its secondary ranges and the networks of accelerators."""
    ranges = _gke_ranges(cidr)
    secondary = {"pods": str(ranges.pods), "services": str(ranges.services)}
    return replace(
        network,
        cidr=cidr,
        subnets=tuple(
            replace(
                subnet,
                cidr=str(ranges.proxy if subnet.purpose == "proxy" else ranges.nodes),
                secondary=tuple((key, secondary[key]) for key, _ in subnet.secondary),
            )
            for subnet in network.subnets
        ),
        accelerator_networks=tuple(
            replace(each, cidr=str(part)) for each, part in zip(network.accelerator_networks, ranges.accelerators, strict=False)
        ),
    )


def assign_ranges(network: NetworkPlan, cidr: str) -> NetworkPlan:
    """The network in another range: subnets of machines share its upper half, the others its lower half."""
    lower, upper = IPv4Network(cidr).subnets(prefixlen_diff=1)
    machines = sum(subnet.purpose in MACHINE_PURPOSES for subnet in network.subnets)
    ranges = {True: _split(upper, machines), False: _split(lower, len(network.subnets) - machines)}
    subnets = tuple(replace(subnet, cidr=next(ranges[subnet.purpose in MACHINE_PURPOSES])) for subnet in network.subnets)
    return replace(network, cidr=cidr, subnets=subnets)


def widen_machine_subnet(network: NetworkPlan, addresses: int) -> NetworkPlan:
    """The default network; its machine subnet becomes the upper half of the range where it has too few addresses."""
    machines = [subnet for subnet in network.subnets if subnet.purpose == "nodes"]
    if network.cidr != AWS_CIDR or len(machines) != 1 or free_addresses(machines[0]) >= addresses:
        return network
    upper = str(list(IPv4Network(AWS_CIDR).subnets(prefixlen_diff=1))[1])
    return replace(network, subnets=tuple(replace(s, cidr=upper) if s in machines else s for s in network.subnets))


def _split(whole: IPv4Network, count: int) -> Iterator[str]:
    return map(str, whole.subnets(prefixlen_diff=math.ceil(math.log2(max(1, count)))))
