"""Points of the Pareto frontier of cost and time that a plan shows, with the role of each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rackwright.sizing.plan import Fit, SizingPlan

MAX_POINTS = 5


class Role(StrEnum):
    """Role of a point of the frontier. Every fit meets the deadline and the budget, so the cheapest is the cheapest within the deadline."""

    CHOSEN = "chosen"
    CHEAPEST = "cheapest"
    FASTEST = "fastest"


@dataclass(frozen=True)
class FrontierPoint:
    """A point of the frontier. rank: in the plan, from 1. headroom: free share of the allowed accelerator memory."""

    rank: int
    fit: Fit
    roles: tuple[Role, ...]
    headroom: float


def frontier(plan: SizingPlan, max_points: int | None = None) -> tuple[FrontierPoint, ...]:
    """Points of the frontier and the chosen fit, cheapest first.

    max_points: points between the roles are left out beyond it. The chosen fit may be off the frontier, because single machines rank
    before several and places and capacity modes are ordered.
    """
    chosen = plan.chosen
    if chosen is None:
        return ()
    front = plan.frontier
    named = {Role.CHOSEN: chosen, **({Role.CHEAPEST: front[0], Role.FASTEST: front[-1]} if front else {})}
    ranks = {id(fit): rank for rank, fit in enumerate(plan.fits, 1)}
    shown = {id(fit): fit for fit in (*named.values(), *_between(front, max_points))}
    rows = sorted(shown.values(), key=lambda f: (f.cost_usd is None, f.cost_usd.p50 if f.cost_usd else 0.0, ranks[id(f)]))
    return tuple(FrontierPoint(ranks[id(f)], f, tuple(role for role, fit in named.items() if fit is f), f.memory.headroom) for f in rows)


def _between(front: Sequence[Fit], max_points: int | None) -> Sequence[Fit]:
    """At most `max_points` points, spread evenly over the logarithm of time."""
    if max_points is None or len(front) <= max_points:
        return front
    first, last = math.log(front[0].time_s), math.log(front[-1].time_s)
    wanted = (first + (last - first) * i / (max_points - 1) for i in range(max_points))
    return [min(front, key=lambda f: abs(math.log(f.time_s) - at)) for at in wanted]
