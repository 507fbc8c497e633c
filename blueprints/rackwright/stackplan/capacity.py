"""Limits of capacity modes: longest runs, drain times, placement."""

import re
from datetime import timedelta

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import CapacityMode
from rackwright.clouds import profiles

RESERVATION_ID = re.compile(r"cr-[0-9a-f]{17}")
"""ID of an EC2 capacity reservation or capacity block."""

IDLE_STOP_MINUTES = 60
"""Default idle time after which a box is stopped."""
OWNED = str(CapacityMode.OWNED)
"""Servers that the user owns."""
ADJACENT_MODES = ("capacity-block", "reservation")
"""EC2 places these machines close together; an additional placement group can prevent their launch (eksctl issue 7949)."""


def flex_start_max_run_s(catalog: Catalog) -> int:
    """Seconds after which GKE deletes a flex-start node."""
    return round(_limit(catalog, CapacityMode.FLEX_START, "longest_run_s"))


def drain_before_end(catalog: Catalog, machine: str) -> timedelta:
    """Time before a capacity block's end at which draining starts: 10 minutes before EC2 reclaims the machines."""
    row = catalog.machine_by_name.get(machine)
    family = "ultraserver" if row and row.in_ultraserver else ""
    return timedelta(seconds=_limit(catalog, CapacityMode.CAPACITY_BLOCK, "drain_before_end_s", family))


def _limit(catalog: Catalog, mode: CapacityMode, rule: str, family: str = "") -> float:
    """A limit of a mode that a single cloud sells; 0 without a row in the catalog."""
    seller = next(cloud.name for cloud in profiles() if cloud.sells(mode))
    return catalog.capacity_rule(seller, mode, rule, family) or 0
