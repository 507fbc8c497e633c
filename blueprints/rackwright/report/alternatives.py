"""Alternatives to the choice: the Pareto frontier of cost and time, and the rejected candidates by worst constraint."""

from typing import Any

from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.sizing.rejection import Limit
from rackwright.sizing.selection.frontier import MAX_POINTS, FrontierPoint, Role, frontier
from rackwright.sizing.selection.rejection_summary import RejectionGroup, rejection_summary
from rackwright.spec.spec import Goals
from rackwright.wording.formatting import hours, machines, money, percent, plural, span, usd
from rackwright.wording.rationale import compared_with
from rackwright.wording.rejections import rejection_text
from rackwright.workflow.stack_preview import StackPreview

GROUPS_SHOWN = 6
FRONTIER = ("rank", "machines", "time", "USD", "memory free", "compared with the choice")
GROUPS = ("candidates", "worst constraint", "nearest candidate", "distance")


def frontier_rows(
    plan: SizingPlan, goals: Goals | None = None, maximum: int | None = MAX_POINTS, preview: StackPreview | None = None
) -> list[tuple[str, ...]]:
    """Cells of FRONTIER, cheapest first. preview: marks the points that this release cannot build."""
    preview = preview or StackPreview()
    return [_row(point, plan, goals or Goals(), preview.refusal(point.rank)) for point in frontier(plan, maximum)]


def frontier_text(plan: SizingPlan, goals: Goals | None = None) -> str:
    """The frontier as a sentence where the choice is its only point."""
    found = frontier(plan)
    if len(found) != 1 or not plan.frontier:
        return "" if plan.frontier or not plan.fits else "no candidate that fits has a published price"
    roles = " and ".join(_role(role, found[0].fit, goals or Goals()) for role in found[0].roles[1:])
    return f"#{found[0].rank} is {roles}; no other candidate is cheaper or faster"


def _row(pick: FrontierPoint, plan: SizingPlan, goals: Goals, refusal: str) -> tuple[str, ...]:
    c, cost = pick.fit.candidate, pick.fit.cost_usd
    parts = "; ".join(filter(None, [", ".join(_role(role, pick.fit, goals) for role in pick.roles), _against(pick, plan), refusal]))
    bought = "" if c.capacity == "on-demand" else f", {c.capacity}"
    return (f"#{pick.rank}", machines(c) + bought, time_text(pick.fit), money(cost.p50 if cost else None), percent(pick.headroom), parts)


def _against(point: FrontierPoint, plan: SizingPlan) -> str:
    return compared_with(point.fit, plan.fits[0]) if point.fit is not plan.fits[0] else ""


def time_text(fit: Fit) -> str:
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


def rejection_rows(plan: SizingPlan, maximum: int | None = None) -> list[tuple[str, ...]]:
    """Cells of GROUPS, nearest first."""
    return [_rejection_row(cause) for cause in rejection_summary(plan.rejected)[:maximum]]


def _rejection_row(cause: RejectionGroup) -> tuple[str, ...]:
    where = cause.nearest.candidate
    alone = f", {cause.alone:,} of them on this constraint alone" if 0 < cause.alone < cause.count else ""
    return (
        f"{cause.count:,}",
        rejection_text(cause.rejection) + alone,
        f"{machines(where)}, {where.region}, {where.capacity}",
        distance_text(cause.distance),
    )


def rejection_counts(plan: SizingPlan) -> str:
    """`329 on deadline (nearest 3 % off), 99 on number format`: the constraints that reject most candidates."""
    by_limit: dict[Limit, list[RejectionGroup]] = {}
    for cause in rejection_summary(plan.rejected):
        by_limit.setdefault(cause.limit, []).append(cause)
    counted = sorted(((sum(c.count for c in same), limit, same[0].distance) for limit, same in by_limit.items()), key=lambda row: -row[0])
    parts = [
        f"{n:,} on {limit}" + (f" (nearest {distance_text(far)} off)" if distance_text(far) else "")
        for n, limit, far in counted[:GROUPS_SHOWN]
    ]
    rest = sum(n for n, *_ in counted[GROUPS_SHOWN:])
    return ", ".join([*parts, *([f"{rest:,} on other constraints"] if rest else [])])


def distance_text(distance: float) -> str:
    """`3 %`, `2.2 times`; nothing where no amount helps."""
    if distance == float("inf"):
        return ""
    if distance >= 2:
        return f"{distance:,.1f} times"
    return f"{(distance - 1) * 100:.0f} %" if distance >= 1.005 else "less than 1 %"


def goodput_text(fit: Fit) -> str:
    """`95 % of the run is productive; about 0.3 interruptions expected, a checkpoint every 2.1 h`."""
    it = fit.goodput
    if it is None:
        return ""
    saved = f", a checkpoint every {span(it.checkpoint_interval_s)}" if it.checkpoint_interval_s else ""
    often = f"about {it.interruptions:.1f} interruptions" if it.interruptions >= 0.05 else "fewer than 0.05 interruptions"
    return f"{percent(it.share)} of the run is productive; {often} expected{saved}"


def alternatives_json(plan: SizingPlan, preview: StackPreview) -> dict[str, Any]:
    """Frontier points with their roles, and groups of rejections with the nearest candidate.

    distance: None where no amount helps. not_buildable: None where this release can build the point.
    """
    front = [
        {
            "rank": pick.rank,
            "candidate": pick.fit.candidate.label,
            "roles": [str(role) for role in pick.roles],
            "on_frontier": any(pick.fit is fit for fit in plan.frontier),
            "cost_usd": pick.fit.cost_usd.p50 if pick.fit.cost_usd else None,
            "time_s": pick.fit.time_s,
            "memory_headroom": pick.headroom,
            "against_chosen": _against(pick, plan),
            "not_buildable": preview.refusal(pick.rank) or None,
        }
        for pick in frontier(plan)
    ]
    why_not = [
        {
            "limit": str(cause.limit),
            "candidates": cause.count,
            "alone": cause.alone,
            "nearest": cause.nearest.candidate.label,
            "why": rejection_text(cause.rejection),
            "need": cause.rejection.need,
            "have": cause.rejection.have,
            "unit": cause.rejection.unit,
            "distance": cause.distance if cause.distance != float("inf") else None,
        }
        for cause in rejection_summary(plan.rejected)
    ]
    return {"frontier": front, "why_not": why_not}


def rejected_text(plan: SizingPlan) -> str:
    return f"{plural(len(plan.rejected), 'candidate')}: {rejection_counts(plan)}" if plan.rejected else ""
