"""Capacity of pools and boxes: mode, reservation, schedule of capacity blocks, and the resulting pool sizes."""

import math
from datetime import datetime

from rackwright.compile.compile_context import CompileContext
from rackwright.spec.blueprint import ExtraPool
from rackwright.spec.infra import CapacityBlock, CapacityEntry, Reservation, existing_capacity
from rackwright.spec.workload import Serve
from rackwright.stackplan import CapacityPlan
from rackwright.stackplan.capacity import drain_before_end, flex_start_max_run_s


def capacity_plan(context: CompileContext, entry: CapacityEntry | None = None) -> CapacityPlan:
    """Capacity of an entry in the spec; default: of the candidate."""
    existing = existing_capacity(entry or capacity_entry(context))
    if isinstance(existing, CapacityBlock):
        return _block(existing, context)
    if isinstance(existing, Reservation):
        return CapacityPlan(
            "reservation",
            reservation_id=existing.id or "",
            group_arn=existing.group or "",
            machine=existing.instance or "",
            zone=existing.zone or "",
            count=existing.count,
            local_ssds=existing.local_ssds,
        )
    mode = str(entry or context.candidate.capacity)
    if mode == "flex-start":
        duration, limit_s = context.fit.duration_s, flex_start_max_run_s(context.catalog)
        longest_s = min(limit_s, math.ceil(duration.p90)) if duration else limit_s
        return CapacityPlan(mode, max_run_s=longest_s, queued=entry is None and _is_queued(context))
    return CapacityPlan(mode, reservation_id="" if entry else context.candidate.capacity_id)


def _is_queued(context: CompileContext) -> bool:
    """Whether Kueue requests flex-start machines together: where the spec has it, and for GPU machines that train together."""
    together = context.candidate.is_spread and context.machine.kind == "gpu" and not isinstance(context.spec.workload, Serve)
    return context.place.capacity.queued or (together and len(context.place.capacity.fallback) < 2)


def pool_bounds(context: CompileContext, nodes: int, plan: CapacityPlan | None = None) -> tuple[int, int, int]:
    """(minimum, maximum, start) of a pool with `nodes` nodes: fixed, except in modes with temporary machines."""
    plan = plan or capacity_plan(context)
    if plan.mode == "flex-start":
        return 0, nodes, 0
    if plan.mode == "capacity-block":
        return 0, nodes, nodes if has_started(plan, context) else 0
    return nodes, nodes, nodes


def has_started(plan: CapacityPlan, context: CompileContext) -> bool:
    """Whether a capacity block is active; a node group that requests its machines outside that time fails."""
    if not plan.ends_at:
        return True
    return bool(plan.drains_at) and datetime.fromisoformat(plan.starts_at) <= context.moment


def _block(block: CapacityBlock, context: CompileContext) -> CapacityPlan:
    """drains_at is empty where the block has ended: nothing is scheduled, and the pool is empty."""
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


def capacity_entry(context: CompileContext) -> CapacityEntry | None:
    """The entry of the candidate; None where the spec no longer has it, as for a decision of an earlier spec."""
    capacity, chosen = context.place.capacity, context.candidate
    names = (chosen.capacity_id,) if chosen.capacity_id else (chosen.capacity,)
    return next((entry for entry in (*capacity.ordered, *capacity.fallback) if _entry_name(entry) in names), None)


def capacity_zone(context: CompileContext) -> str:
    """Zone of the reservations of all pools, which share one zone; empty where no entry has one."""
    entries = (capacity_entry(context), *context.place.capacity.fallback, *(pool.capacity for pool in extra_pool_entries(context)))
    return next((existing.zone for existing in map(existing_capacity, entries) if existing and existing.zone), "")


def extra_pool_entries(context: CompileContext) -> tuple[ExtraPool, ...]:
    """Additional pools in the spec."""
    pools = context.spec.blueprint.pools
    return () if pools == "auto" else pools


def _entry_name(entry: CapacityEntry) -> str:
    existing = existing_capacity(entry)
    if existing is None:
        return str(entry)
    return existing.id or getattr(existing, "group", None) or ""
