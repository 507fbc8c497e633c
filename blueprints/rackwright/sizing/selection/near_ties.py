"""Near ties: fits whose objective differs by less than the estimate can tell apart, and what then decides."""

from collections.abc import Iterable, Sequence

from rackwright.clouds import profile
from rackwright.sizing.evaluation.evaluate import p80
from rackwright.sizing.metrics import Interval
from rackwright.sizing.plan import Fit

MAX_TIE = 0.1
"""Largest share of the best value within which fits are equal, also where the interval is wider: the errors of two fits are partly the
same. One measured choice in seven to ten loses more than 5 % (docs/accuracy.md, regret). rackwright's choice 2026-11."""


def is_already_owned(fit: Fit) -> bool:
    """Whether the machines are owned, reserved or in a capacity block."""
    return bool(fit.candidate.capacity_id) or profile(fit.candidate.cloud).is_owned


def objective(fit: Fit, optimize_for: str) -> float:
    """Value that ranks fits: cost with transfers, time, or their product; infinite where a price is needed and not published."""
    cost = fit.paid_usd.p50 if fit.paid_usd else float("inf")
    return {"cost": cost, "time": fit.time_s, "balanced": cost * fit.time_s}[optimize_for]


def near_ties(fits: Sequence[Fit], optimize_for: str) -> tuple[Fit, ...]:
    """Fits that are equal to the best of `fits` within the uncertainty of its estimate; none where only the best is.

    For cost a fit must also be as fast as the best within its p80: of two that cost the same, a much slower one is no equal.
    """
    best = min(fits, key=lambda f: objective(f, optimize_for))
    if not (tolerance := _tolerance(best, optimize_for)):
        return ()
    limit = objective(best, optimize_for) * (1 + tolerance)
    latest = p80(best.finish_s) if best.finish_s else best.time_s * (1 + MAX_TIE)
    tied = (f for f in fits if objective(f, optimize_for) <= limit < float("inf"))
    found = tuple(f for f in tied if optimize_for != "cost" or f.time_s <= latest)
    return found if len(found) > 1 else ()


def tolerance_of_all(best: Sequence[Fit], optimize_for: str) -> float:
    """Share of the best value that the estimates of a combination cannot tell apart: that of its least certain fit."""
    return max(_tolerance(fit, optimize_for) for fit in best)


def _tolerance(best: Fit, optimize_for: str) -> float:
    """Share of the best value that its estimate cannot tell apart; 0 for the monthly cost of a server, which is certain."""
    interval = {"cost": best.paid_usd, "time": best.finish_s}.get(optimize_for)
    return MAX_TIE if interval is None else min(_share_to_p80(interval), MAX_TIE)


def _share_to_p80(interval: Interval) -> float:
    return p80(interval) / interval.p50 - 1 if interval.p50 > 0 else 0.0


def tie_order(fit: Fit, optimize_for: str) -> tuple:
    """Order of equal fits: already owned first; then the smaller where cost is equal, else the cheaper."""
    c, cost = fit.candidate, fit.paid_usd.p50 if fit.paid_usd else 0.0
    size = (c.nodes, c.accelerators)
    return (not is_already_owned(fit), *((size, cost) if optimize_for == "cost" else (cost, size)))


def tie_order_of_all(fits: Sequence[Fit], optimize_for: str) -> tuple:
    """Order of equal combinations, one fit per workload: as `tie_order`, with the sums over the workloads and their pools."""
    orders, pools = [tie_order(f, optimize_for) for f in fits], [f.candidate for f in fits if f.pool_owner == f.workload]
    nodes, accelerators = sum(pool.nodes for pool in pools), sum(pool.accelerators for pool in pools)
    size, cost = (nodes, accelerators), sum(f.paid_usd.p50 for f in fits if f.paid_usd)
    return (sum(order[0] for order in orders), *((size, cost) if optimize_for == "cost" else (cost, size)))


def beaten_by(chosen: Fit, others: Iterable[Fit], optimize_for: str) -> Fit | None:
    """The best of `others` that is better than the chosen fit, by less than the uncertainty of its estimate; None without one."""
    better = [f for f in others if objective(f, optimize_for) < objective(chosen, optimize_for)]
    best = min(better, key=lambda f: objective(f, optimize_for), default=None)
    return best if best and chosen in near_ties((best, chosen), optimize_for) else None
