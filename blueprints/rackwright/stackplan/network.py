"""Networks and their subnets."""

from dataclasses import dataclass

from rackwright.stackplan.refs import Existing


@dataclass(frozen=True)
class SubnetPlan:
    """A range of a network in one zone; cidr and zone are empty where an existing subnet's are not said."""

    name: str
    cidr: str
    zone: str
    public: bool = False
    purpose: str = "nodes"
    """nodes | control | nat | proxy (GCP regional proxy-only); of existing subnets also `all`: machines and control plane"""
    secondary: tuple[tuple[str, str], ...] = ()
    """GCP alias ranges: (name, cidr)"""


@dataclass(frozen=True)
class NetworkPlan:
    """existing_id set: nothing is created but the fabric's security group; `subnets`, where given, describe the existing ones in order.

    private_endpoints: neutral service names (object-store ...).
    """

    cidr: str
    subnets: tuple[SubnetPlan, ...]
    nat: bool = True
    flow_logs: bool = True
    private_endpoints: tuple[str, ...] = ()
    fabric: str = "none"
    self_reachable: bool = False
    """Members of the accelerator security group reach one another on every protocol (EFA)."""
    mtu: int | None = None
    existing_id: Existing = ""
    existing_subnet_ids: tuple[Existing, ...] = ()
