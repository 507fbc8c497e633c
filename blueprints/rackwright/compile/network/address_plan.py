"""Address plans. Private by default; the accelerators sit in one zone, in a subnet that does not run out."""

from rackwright.compile.network.addresses import AWS_CIDR
from rackwright.spec.infra import ExistingSubnet, Network, StackOutput, SubnetEntry
from rackwright.stackplan import Existing, FromStack, NetworkPlan, PlacePlan, SubnetPlan

BOX_ENDPOINTS = ("object-store", "registry", "identity", "logs", "machine-access", "keys")
EKS_ENDPOINTS = (*BOX_ENDPOINTS, "compute", "cluster", "pod-identity")
GCP_CIDR = "192.168.0.0/16"
GCP_NODES, GCP_PODS, GCP_SERVICES, GCP_PROXY = "192.168.0.0/18", "10.4.0.0/14", "10.0.32.0/20", "192.168.64.0/23"
"""Node, pod and service ranges of cluster-toolkit@1047080; a proxy-only subnet of /23 as the load balancing documentation recommends."""
GCP_MTU = 8896
"""Bytes; the largest GCP carries, on every network of accelerators (cluster-toolkit)."""


def box_network(place: PlacePlan) -> NetworkPlan:
    subnets = (
        SubnetPlan("public", "10.0.0.0/24", place.zone, public=True, purpose="nat"),
        SubnetPlan("private", "10.0.16.0/20", place.zone),
    )
    return NetworkPlan(AWS_CIDR, subnets, private_endpoints=BOX_ENDPOINTS)


def existing_network(network: Network, fabric: str = "none") -> NetworkPlan | None:
    """A network that exists: used as it is, nothing is added but the fabric's security group. None when the spec names none.

    Subnets are described as soon as the spec says anything of one; without, the first is the machines'.
    """
    if network.existing is None:
        return None
    entries = [_entry(entry) for entry in network.existing.subnets]
    said = any(entry.zone or entry.cidr or entry.use != "all" for entry in entries)
    return NetworkPlan(
        cidr="",
        subnets=tuple(_described(i, entry) for i, entry in enumerate(entries)) if said else (),
        nat=False,
        flow_logs=False,
        fabric=fabric,
        self_reachable=fabric == "efa",
        existing_id=existing(network.existing.vpc),
        existing_subnet_ids=tuple(existing(entry.id) for entry in entries),
    )


def zones_of(network: Network, *uses: str) -> tuple[str, ...]:
    """Zones of the existing subnets that are for any of the uses, as far as the spec says."""
    entries = [_entry(entry) for entry in network.existing.subnets] if network.existing else []
    return tuple(dict.fromkeys(entry.zone for entry in entries if entry.zone and entry.use in uses))


def existing(value: str | StackOutput | None) -> Existing:
    """An id of the spec, as it is or from another stack; the empty text where there is none."""
    return FromStack(value.stack, value.output) if isinstance(value, StackOutput) else value or ""


def _entry(entry: SubnetEntry) -> ExistingSubnet:
    return entry if isinstance(entry, ExistingSubnet) else ExistingSubnet(id=entry)


def _described(index: int, entry: ExistingSubnet) -> SubnetPlan:
    public = entry.use == "public"
    return SubnetPlan(f"existing-{index}", entry.cidr or "", entry.zone or "", public=public, purpose="nat" if public else entry.use)


def eks_network(place: PlacePlan, fabric: str) -> NetworkPlan:
    """One public subnet for the NAT gateway, one control subnet per control zone, one /18 for the accelerators."""
    zones = enumerate(place.control_zones, 1)
    control = tuple(SubnetPlan(f"control-{i}", f"10.0.{16 * i}.0/20", zone, purpose="control") for i, zone in zones)
    subnets = (
        SubnetPlan("public", "10.0.0.0/24", place.zone, public=True, purpose="nat"),
        *control,
        SubnetPlan("nodes", "10.0.64.0/18", place.zone),
    )
    return NetworkPlan(AWS_CIDR, subnets, private_endpoints=EKS_ENDPOINTS, fabric=fabric, self_reachable=fabric == "efa")


def gke_network(place: PlacePlan, fabric: str, proxy: bool = False) -> NetworkPlan:
    nodes = SubnetPlan("nodes", GCP_NODES, place.zone, secondary=(("pods", GCP_PODS), ("services", GCP_SERVICES)))
    proxies = (SubnetPlan("proxy", GCP_PROXY, place.zone, purpose="proxy"),) if proxy else ()
    return NetworkPlan(GCP_CIDR, (nodes, *proxies), fabric=fabric, mtu=GCP_MTU)
