"""Points of the Pareto frontier of cost and time that a plan shows, with the role of each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rackwright.sizing.plan import Fit, SizingPlan

MAX_POINTS = 5


class Role(StrEnum):
    """What a point of the frontier is named for. Every fit meets the deadline and the budget; so the cheapest of them is the cheapest
    that meets the deadline, and the fastest the fastest within the budget."""

    CHOSEN = "chosen"
    CHEAPEST = "cheapest"
    FASTEST = "fastest"


@dataclass(frozen=True)
class FrontierPoint:
    """rank: in the plan, from 1; headroom: share of the allowed accelerator memory that stays free."""

    rank: int
    fit: Fit
    roles: tuple[Role, ...]
    headroom: float


def frontier(plan: SizingPlan, max_points: int | None = None) -> tuple[FrontierPoint, ...]:
    """Points of the frontier and the chosen fit, cheapest first; `most` leaves out those between others. The chosen fit may lie off the
    frontier: one machine comes before many, and places and capacity modes have an order."""
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
    """At most so many points, spread over the logarithm of time."""
    if max_points is None or len(front) <= max_points:
        return front
    first, last = math.log(front[0].time_s), math.log(front[-1].time_s)
    wanted = (first + (last - first) * i / (max_points - 1) for i in range(max_points))
    return [min(front, key=lambda f: abs(math.log(f.time_s) - at)) for at in wanted]
