"""How machines are bought, with what each mode excludes: a block has hours, flex-start has no fixed count and a longest run."""

import math
from datetime import datetime, timedelta

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.nodes.capacity_entry import capacity_entries
from rackwright.spec.infra import CapacityBlock, CapacityEntry, Reservation, existing_capacity
from rackwright.stackplan import CapacityPlan

FLEX_LONGEST_RUN_S = 604800
"""Seconds; GKE flex-start nodes live 7 days at most (cluster-toolkit@1047080 gke-node-pool preconditions)."""
DRAIN_BEFORE_END, DRAIN_ULTRA_BEFORE_END = timedelta(minutes=40), timedelta(minutes=70)
"""EC2 reclaims a block's machines from 30 minutes before its end, those of an UltraServer from 60; draining starts 10 minutes earlier
(aws/karpenter-provider-aws@1d92708 website/content/en/preview/tasks/odcrs.md)."""
ULTRA_SERVERS = ("p6e-", "trn2u.", "u-")
"""Prefixes of machines sold as parts of an UltraServer."""


def drain_before_end(machine: str) -> timedelta:
    """How long before a block's end its machines must begin to empty: 10 minutes before EC2 reclaims them."""
    return DRAIN_ULTRA_BEFORE_END if machine.startswith(ULTRA_SERVERS) else DRAIN_BEFORE_END


def capacity_plan(context: CompileContext, entry: CapacityEntry | None = None) -> CapacityPlan:
    """How machines of `entry` are bought; without it those of the candidate."""
    thing = existing_capacity(entry or capacity_entries(context))
    if isinstance(thing, CapacityBlock):
        return _block(thing, context.moment)
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


def _block(block: CapacityBlock, now: datetime) -> CapacityPlan:
    """Without drains_at the block has ended: nothing is scheduled, and the pool is empty."""
    drains = block.end - drain_before_end(block.instance)
    return CapacityPlan(
        "capacity-block",
        reservation_id=block.id,
        starts_at=block.start.isoformat(),
        ends_at=block.end.isoformat(),
        drains_at=drains.isoformat() if now < drains else "",
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
    duration = context.fit.duration_s
    return FLEX_LONGEST_RUN_S if duration is None else min(FLEX_LONGEST_RUN_S, math.ceil(duration.p90))
