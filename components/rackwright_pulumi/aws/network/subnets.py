"""Which subnet is for what, in a network made here, found, or made by another stack."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pulumi import Output
from rackwright.stackplan import NetworkPlan, SubnetPlan

from rackwright_pulumi.aws.network.vpc import Subnets
from rackwright_pulumi.unsupported import Unsupported

MACHINES = ("nodes", "all")
CONTROL = ("control", "all")
"""Purposes of subnets; `all` serves both."""


class Subnetted:
    """Has subnets, each with what the plan says of it."""

    if TYPE_CHECKING:  # no output of a component: the schema analyzer must not see it
        subnets: Subnets

    def machine_subnets(self, zones: Sequence[str]) -> list[Output[str]]:
        """Where accelerators go: the `nodes` subnets of the zones. Raises Unsupported where there is none."""
        found = [subnet_id for plan, subnet_id in self.subnets if plan.purpose in MACHINES and plan.zone in (*zones, "")]
        if not found:
            there = ", ".join(sorted({plan.zone for plan, _ in self.subnets if plan.purpose in MACHINES}))
            raise Unsupported(f"machines in {', '.join(zones)} without a subnet there", "network.subnets", f"machines in {there}")
        return found

    def control_subnets(self, zones: Sequence[str] = ()) -> list[Output[str]]:
        """Where the control plane and system machines go: the `control` subnets (of the zones), else the `nodes` ones."""
        found = [s for plan, s in self.subnets if plan.purpose in CONTROL and (not zones or plan.zone in (*zones, ""))]
        return found or [subnet_id for plan, subnet_id in self.subnets if plan.purpose in MACHINES]


def described(plan: NetworkPlan, existing: int) -> list[SubnetPlan]:
    """What the plan says of its subnets. Of `existing` ones it may say nothing: the first is the machines', all are the control plane's."""
    if plan.subnets:
        return list(plan.subnets)
    return [SubnetPlan(f"existing-{i}", "", zone="", purpose="control" if i else "all") for i in range(existing)]
