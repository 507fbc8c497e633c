"""Networks and their subnets."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from rackwright.clouds import profiles
from rackwright.stackplan.refs import Existing

IF_SET = Field(exclude_if=lambda value: not value)
"""JSON of a plan without the value has no such key."""


@dataclass(frozen=True)
class SubnetPlan:
    """A subnet in one zone. cidr and zone are empty for existing subnets without them in the spec."""

    name: str
    cidr: str
    zone: str
    public: bool = False
    purpose: str = "nodes"
    """nodes | control | nat | proxy (GCP regional proxy-only); for existing subnets also `all`: nodes and control plane"""
    secondary: tuple[tuple[str, str], ...] = ()
    """GCP alias ranges: (name, cidr)"""
    range_names: Annotated[tuple[tuple[str, str], ...], IF_SET] = ()
    """Names of an existing subnet's alias ranges: (pods | services, name)"""


@dataclass(frozen=True)
class AcceleratorNetworkPlan:
    """A further VPC of a GCP network with one subnet, for one interface of every accelerator machine.

    name: of the VPC's resources, and of the Kubernetes network by which pods use it. device_mode: of its GKENetworkParamSet.
    profile: network profile of the VPC in its zone, for RDMA, without firewall rules. further_cidrs: of more subnets, each for one more
    interface.
    """

    name: str
    cidr: str
    mtu: int
    device_mode: str = "NetDevice"
    profile: Annotated[str, IF_SET] = ""
    further_cidrs: Annotated[tuple[str, ...], IF_SET] = ()

    @property
    def subnet_cidrs(self) -> dict[str, str]:
        """Range of each subnet by its name: that of the network, numbered where it has several."""
        if not self.further_cidrs:
            return {self.name: self.cidr}
        return {f"{self.name}-{number}": cidr for number, cidr in enumerate((self.cidr, *self.further_cidrs))}


@dataclass(frozen=True)
class NetworkPlan:
    """A network. existing_id set: only the EFA security group is created, and `subnets` describes the existing ones in order.

    private_endpoints: neutral service names (object-store ...).
    """

    cidr: str
    subnets: tuple[SubnetPlan, ...]
    nat: bool = True
    flow_logs: bool = True
    private_endpoints: tuple[str, ...] = ()
    fabric: str = "none"
    self_reachable: bool = False
    """The accelerator security group allows all traffic to and from itself (EFA)."""
    mtu: int | None = None
    existing_id: Existing = ""
    existing_subnet_ids: tuple[Existing, ...] = ()
    accelerator_networks: tuple[AcceleratorNetworkPlan, ...] = ()
    """In the order of the machines' interfaces"""
    is_isolated: Annotated[bool, IF_SET] = False
    """Machines do not call each other: no firewall rule opens the network's own ranges (GCP)."""
    private_services_cidr: str = ""
    """Range of managed services that are peered with the network (GCP private services access); empty: none."""
    host_project: Annotated[str, IF_SET] = ""
    """Host project of a Shared VPC, in which the stack grants GKE's service agents the use of the subnets; empty: no grants."""

    @property
    def endpoint_zones(self) -> tuple[str, ...]:
        """Zones of the interface endpoints, which take one subnet per zone. A name may be the zone of an ID, so with both only the IDs.

        DuplicateSubnetsInSameZone: https://docs.aws.amazon.com/vpc/latest/privatelink/create-interface-endpoint.html
        """
        zones = dict.fromkeys(subnet.zone for subnet in self.subnets if not subnet.public)
        return tuple(zone for zone in zones if any(cloud.is_zone_id(zone) for cloud in profiles())) or tuple(zones)
