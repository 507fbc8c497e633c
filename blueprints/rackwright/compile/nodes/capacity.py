"""How machines are bought, with what each mode excludes: a block has hours, flex-start has no fixed count and a longest run."""

import math
from datetime import datetime, timedelta

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import CapacityMode
from rackwright.clouds import AWS, GCP
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.nodes.capacity_entry import capacity_entries
from rackwright.spec.infra import CapacityBlock, CapacityEntry, Reservation, existing_capacity
from rackwright.stackplan import CapacityPlan


def flex_longest_run_s(catalog: Catalog) -> int:
    """Seconds a flex-start node of GKE lives at most."""
    return round(catalog.capacity_rule(GCP.name, CapacityMode.FLEX_START, "longest_run_s") or 0)


def drain_before_end(catalog: Catalog, machine: str) -> timedelta:
    """How long before a block's end its machines must begin to empty: 10 minutes before EC2 reclaims them."""
    row = catalog.machine_by_name.get(machine)
    family = "ultraserver" if row and row.in_ultraserver else ""
    return timedelta(seconds=catalog.capacity_rule(AWS.name, CapacityMode.CAPACITY_BLOCK, "drain_before_end_s", family) or 0)


def capacity_plan(context: CompileContext, entry: CapacityEntry | None = None) -> CapacityPlan:
    """How machines of `entry` are bought; without it those of the candidate."""
    thing = existing_capacity(entry or capacity_entries(context))
    if isinstance(thing, CapacityBlock):
        return _block(thing, context)
    if isinstance(thing, Reservation):
        return _reservation(thing)
    mode = str(entry or context.candidate.capacity)
    if mode == "flex-start":
        return CapacityPlan(mode, max_run_s=_flex_run_s(context))
    return CapacityPlan(mode, reservation_id="" if entry else context.candidate.capacity_id)


def bounds(context: CompileContext, nodes: int, plan: CapacityPlan | None = None) -> tuple[int, int, int]:
    """(least, most, at first) nodes of a pool of `nodes`. Fixed, but for modes that give machines only for a while."""
    plan = plan or capacity_plan(context)
    if plan.mode == "flex-start":
        return 0, nodes, 0
    if plan.mode == "capacity-block":
        return 0, nodes, nodes if has_started(plan, context) else 0
    return nodes, nodes, nodes


def has_started(plan: CapacityPlan, context: CompileContext) -> bool:
    """Whether the block's machines may be there: a node group that asks for them outside its hours fails."""
    if not plan.ends_at:
        return True
    return bool(plan.drains_at) and datetime.fromisoformat(plan.starts_at) <= context.moment


def _block(block: CapacityBlock, context: CompileContext) -> CapacityPlan:
    """Without drains_at the block has ended: nothing is scheduled, and the pool is empty."""
    drains = block.end - drain_before_end(context.catalog, block.instance)
    return CapacityPlan(
        "capacity-block",
        reservation_id=block.id,
        starts_at=block.start.isoformat(),
        ends_at=block.end.isoformat(),
        drains_at=drains.isoformat() if context.moment < drains else "",
        machine=block.instance,
        zone=block.zone,
        count=block.count,
    )


def _reservation(said: Reservation) -> CapacityPlan:
    return CapacityPlan(
        "reservation",
        reservation_id=said.id or "",
        group_arn=said.group or "",
        machine=said.instance or "",
        zone=said.zone or "",
        count=said.count,
    )


def _flex_run_s(context: CompileContext) -> int:
    duration, longest = context.fit.duration_s, flex_longest_run_s(context.catalog)
    return longest if duration is None else min(longest, math.ceil(duration.p90))
