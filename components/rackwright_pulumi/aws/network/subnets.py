"""Purpose of each subnet in a new network, an existing one, or one of an upstream stack."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from pulumi import Output
from rackwright.stackplan import NetworkPlan, SubnetPlan
from rackwright.stackplan.addresses import CONTROL_PURPOSES, MACHINE_PURPOSES

from rackwright_pulumi.aws.network.vpc import Subnets
from rackwright_pulumi.unsupported import Unsupported

"""Purposes of subnets; `all` serves both."""


class HasSubnets:
    """A network with subnets and their plans."""

    if TYPE_CHECKING:  # not a component output: the schema analyzer must not see it
        subnets: Subnets
        zone_names: Mapping[str, Output[str]]
        """Zone in the plan -> its name, of new subnets"""
    else:
        zone_names = MappingProxyType({})

    def machine_subnets(self, zones: Sequence[str]) -> list[Output[str]]:
        """Subnets of accelerators: purpose `nodes`, in the zones. Raises Unsupported without one."""
        found = [subnet_id for plan, subnet_id in self.subnets if plan.purpose in MACHINE_PURPOSES and plan.zone in (*zones, "")]
        if not found:
            available = ", ".join(sorted({plan.zone for plan, _ in self.subnets if plan.purpose in MACHINE_PURPOSES}))
            raise Unsupported(f"a pool in {', '.join(zones)} without a subnet in that zone", "network.subnets", f"machines in {available}")
        return found

    def control_subnets(self, zones: Sequence[str] = ()) -> list[Output[str]]:
        """Subnets of control plane and system machines: purpose `control` (in the zones), else `nodes`."""
        found = [s for plan, s in self.subnets if plan.purpose in CONTROL_PURPOSES and (not zones or plan.zone in (*zones, ""))]
        return found or [subnet_id for plan, subnet_id in self.subnets if plan.purpose in MACHINE_PURPOSES]


def subnet_plans(plan: NetworkPlan, existing: int) -> list[SubnetPlan]:
    """Plans of all subnets. Without plans for `existing` subnets, machines use the first, and the control plane all."""
    if plan.subnets:
        return list(plan.subnets)
    return [SubnetPlan(f"existing-{i}", "", zone="", purpose="control" if i else "all") for i in range(existing)]
