"""Which subnet is for what, in a network made here, found, or made by another stack."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pulumi import Output
from rackwright.compile.wants import NetworkWant, SubnetWant

from rackwright_pulumi.aws.vpc import Subnets
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
        found = [subnet_id for want, subnet_id in self.subnets if want.purpose in MACHINES and want.zone in (*zones, "")]
        if not found:
            there = ", ".join(sorted({want.zone for want, _ in self.subnets if want.purpose in MACHINES}))
            raise Unsupported(f"machines in {', '.join(zones)} without a subnet there", "network.subnets", f"machines in {there}")
        return found

    def control_subnets(self, zones: Sequence[str] = ()) -> list[Output[str]]:
        """Where the control plane and system machines go: the `control` subnets (of the zones), else the `nodes` ones."""
        found = [s for want, s in self.subnets if want.purpose in CONTROL and (not zones or want.zone in (*zones, ""))]
        return found or [subnet_id for want, subnet_id in self.subnets if want.purpose in MACHINES]


def described(want: NetworkWant, existing: int) -> list[SubnetWant]:
    """What the plan says of its subnets. Of `existing` ones it may say nothing: the first is the machines', all are the control plane's."""
    if want.subnets:
        return list(want.subnets)
    return [SubnetWant(f"existing-{i}", "", zone="", purpose="control" if i else "all") for i in range(existing)]
