"""How machines are bought, with what each mode excludes: a block has hours, flex-start has no fixed count and a longest run."""

import math
from datetime import datetime, timedelta

from rackwright.compile.draft import Draft
from rackwright.compile.place import block_of
from rackwright.compile.wants import CapacityWant

FLEX_LONGEST_RUN_S = 604800
"""Seconds; GKE flex-start nodes live 7 days at most (cluster-toolkit@1047080 gke-node-pool preconditions)."""
DRAIN_BEFORE_END = timedelta(minutes=40)
"""EC2 reclaims a block's machines from 30 minutes before its end; draining starts 10 minutes earlier
(aws/karpenter-provider-aws designs/capacity-block-support.md)."""


def capacity_want(draft: Draft) -> CapacityWant:
    mode = draft.candidate.capacity
    if mode == "capacity-block":
        return _block(draft)
    if mode == "flex-start":
        return CapacityWant(mode, max_run_s=_flex_run_s(draft))
    return CapacityWant(mode, reservation_id=draft.candidate.capacity_id)


def bounds(draft: Draft, nodes: int) -> tuple[int, int, int]:
    """(least, most, at first) nodes of a pool of `nodes`. Fixed, but for modes that give machines only for a while."""
    want = capacity_want(draft)
    if want.mode == "flex-start":
        return 0, nodes, 0
    if want.mode == "capacity-block":
        return 0, nodes, nodes if _begun(want, draft) else 0
    return nodes, nodes, nodes


def _block(draft: Draft) -> CapacityWant:
    block = block_of(draft)
    if block is None:
        return CapacityWant("capacity-block", reservation_id=draft.candidate.capacity_id)
    return CapacityWant(
        "capacity-block",
        reservation_id=block.id,
        starts_at=block.start.isoformat(),
        ends_at=block.end.isoformat(),
        drains_at=(block.end - DRAIN_BEFORE_END).isoformat(),
    )


def _begun(want: CapacityWant, draft: Draft) -> bool:
    if not want.starts_at:
        return True
    return datetime.fromisoformat(want.starts_at).date() <= draft.today < datetime.fromisoformat(want.drains_at).date()


def _flex_run_s(draft: Draft) -> int:
    duration = draft.fit.duration_s
    return FLEX_LONGEST_RUN_S if duration is None else min(FLEX_LONGEST_RUN_S, math.ceil(duration.p90))
