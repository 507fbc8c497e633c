"""Alternatives to the choice: the Pareto frontier of cost and time, and the rejected candidates by worst constraint."""

from collections import defaultdict
from typing import Any

from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.sizing.rejection import Limit
from rackwright.sizing.selection.frontier import MAX_POINTS, FrontierPoint, Role, frontier
from rackwright.sizing.selection.rejection_summary import RejectionGroup, rejection_summary
from rackwright.spec.spec import Goals
from rackwright.wording.formatting import hours, machines_and_parts, money, percent, plural, span, usd
from rackwright.wording.rationale import compared_with
from rackwright.wording.rejections import rejection_text
from rackwright.workflow.stack.stack_preview import StackPreview

LIMITS_SHOWN = 6
FRONTIER = ("rank", "machines", "time", "USD", "memory headroom", "compared with the choice")
GROUPS = ("candidates", "worst constraint", "nearest candidate", "distance")


def frontier_rows(
    plan: SizingPlan, goals: Goals | None = None, maximum: int | None = MAX_POINTS, preview: StackPreview | None = None
) -> list[tuple[str, ...]]:
    """Cells of FRONTIER, cheapest first. preview: marks the points that this release cannot build."""
    rows = []
    for point in frontier(plan, maximum):
        c, cost = point.fit.candidate, point.fit.cost_usd
        roles = ", ".join(_role(role, point.fit, goals or Goals()) for role in point.roles)
        capacity = "" if c.capacity == "on-demand" else f", {c.capacity}"
        price, free = money(cost.p50 if cost else None), percent(point.headroom)
        comparison = "; ".join(filter(None, [roles, _against(point, plan), preview.refusal(point.rank) if preview else ""]))
        rows.append((f"#{point.rank}", machines_and_parts(c) + capacity, _time(point.fit), price, free, comparison))
    return rows


def frontier_text(plan: SizingPlan, goals: Goals | None = None) -> str:
    """The frontier as a sentence where the choice is its only point."""
    points = frontier(plan)
    if len(points) != 1 or not plan.frontier:
        return "" if plan.frontier or not plan.fits else "no candidate that fits has a published price"
    roles = " and ".join(_role(role, points[0].fit, goals or Goals()) for role in points[0].roles[1:])
    return f"#{points[0].rank} is {roles}; no other candidate is cheaper or faster"


def _against(point: FrontierPoint, plan: SizingPlan) -> str:
    return compared_with(point.fit, plan.fits[0]) if point.fit is not plan.fits[0] else ""


def _time(fit: Fit) -> str:
    """Median time of the run, or to the first token and per token after it."""
    if fit.finish_s:
        return span(fit.finish_s.p50)
    return span(fit.speed.ttft_s) + (f", {span(fit.speed.tpot_s)} each" if fit.speed.tpot_s else "")


def _role(role: Role, fit: Fit, goals: Goals) -> str:
    if fit.overruled:
        return str(role)
    if role is Role.CHEAPEST and goals.max_duration:
        return f"cheapest within {hours(goals.max_duration)}"
    if role is Role.FASTEST and goals.max_cost:
        return f"fastest within {usd(goals.max_cost, 0)}"
    return str(role)


def rejection_rows(plan: SizingPlan) -> list[tuple[str, ...]]:
    """Cells of GROUPS, nearest first."""
    rows = []
    for group in rejection_summary(plan.rejected):
        nearest = group.nearest.candidate
        alone = f", {group.alone:,} of them on this constraint alone" if 0 < group.alone < group.count else ""
        place = f"{machines_and_parts(nearest)}, {nearest.region}, {nearest.capacity}"
        rows.append((f"{group.count:,}", rejection_text(group.rejection) + alone, place, distance_text(group.distance)))
    return rows


def rejection_counts(plan: SizingPlan, maximum: int = LIMITS_SHOWN) -> str:
    """`329 on deadline (nearest 3 % off), 99 on number format`: the constraints that reject most candidates."""
    by_limit: dict[Limit, list[RejectionGroup]] = defaultdict(list)
    for group in rejection_summary(plan.rejected):
        by_limit[group.limit].append(group)
    totals = {limit: sum(g.count for g in same) for limit, same in by_limit.items()}
    pinned = {limit for limit, same in by_limit.items() if any(group.is_pinned for group in same)}
    order = sorted(by_limit, key=lambda limit: (limit not in pinned, -totals[limit]))
    counts = [(totals[limit], limit, by_limit[limit][0].distance) for limit in order]
    parts = [
        f"{n:,} on {limit}" + (f" (nearest {distance_text(distance)} off)" if distance_text(distance) else "")
        for n, limit, distance in counts[:maximum]
    ]
    rest = sum(n for n, *_ in counts[maximum:])
    return ", ".join([*parts, *([f"{rest:,} on other constraints"] if rest else [])])


def distance_text(distance: float) -> str:
    """`3 %`, `2.2 times`; empty where no amount helps."""
    if distance == float("inf"):
        return ""
    if distance >= 2:
        return f"{distance:,.1f} times"
    return f"{(distance - 1) * 100:.0f} %" if distance >= 1.005 else "less than 1 %"


def goodput_text(fit: Fit) -> str:
    """`95 % of the time after start-up is productive; about 0.3 interruptions expected, a checkpoint every 2.1 h`."""
    it = fit.goodput
    if it is None:
        return ""
    saved = f", a checkpoint every {span(it.checkpoint_interval_s)}" if it.checkpoint_interval_s else ""
    often = f"about {it.interruptions:.1f} interruptions" if it.interruptions >= 0.05 else "fewer than 0.05 interruptions"
    return f"{percent(it.share)} of the time after start-up is productive; {often} expected{saved}"


def alternatives_json(plan: SizingPlan, preview: StackPreview) -> dict[str, Any]:
    """frontier: points with their roles. why_not: groups of rejections with the nearest candidate.

    distance: None where no amount helps. not_buildable: None where this release can build the point.
    """
    on_frontier = {id(fit) for fit in plan.frontier}
    points = [
        {
            "rank": point.rank,
            "candidate": point.fit.candidate.label,
            "roles": [str(role) for role in point.roles],
            "on_frontier": id(point.fit) in on_frontier,
            "cost_usd": point.fit.cost_usd.p50 if point.fit.cost_usd else None,
            "time_s": point.fit.time_s,
            "memory_headroom": point.headroom,
            "against_chosen": _against(point, plan),
            "not_buildable": preview.refusal(point.rank) or None,
        }
        for point in frontier(plan)
    ]
    why_not = [
        {
            "limit": str(group.limit),
            "candidates": group.count,
            "alone": group.alone,
            "nearest": group.nearest.candidate.label,
            "why": rejection_text(group.rejection),
            "need": group.rejection.need,
            "have": group.rejection.have,
            "unit": group.rejection.unit,
            "distance": group.distance if group.distance != float("inf") else None,
        }
        for group in rejection_summary(plan.rejected)
    ]
    return {"frontier": points, "why_not": why_not}


def rejected_text(plan: SizingPlan, maximum: int = LIMITS_SHOWN) -> str:
    return f"{plural(len(plan.rejected), 'candidate')}: {rejection_counts(plan, maximum)}" if plan.rejected else ""
