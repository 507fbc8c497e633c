"""The budget against the whole bill of a fit: machines, storage, network and control plane, priced by the caller of sizing."""

from collections.abc import Callable
from dataclasses import replace

from rackwright.sizing.evaluation.evaluate import GoalLimits, p80
from rackwright.sizing.metrics import Interval
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.plan import Fit, Rejected, SizingPlan
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.sizing.selection.ranking import identity

PRICED_FITS = 16
"""Fits whose whole bill is compared with the budget: more than a plan lists. A rule compares that of any other one when it is chosen."""
WholeBill = Callable[[SizingPlan], Interval | None]
"""Plan with one fit, and the storage that it needs -> total cost of its stack; None where no stack can be compiled for it."""


def within_budget(fit: Fit, bill: Interval | None, goals: GoalLimits) -> Fit | Rejected:
    """The fit where its bill is within the budget at p80, or a pin overrules the budget; else the candidate with the rejection."""
    budget = goals.max_cost_usd
    if bill is None or budget is None or fit.cost_usd is None:
        return fit
    if p80(bill) <= budget:
        used, tightest = p80(bill) / budget, fit.tightest[0]
        if "used" not in tightest.values:  # a host that limits the rate is nearer to its limit than any budget
            return fit
        is_tightest = used > tightest.number("used") / (tightest.number("max") if "max" in tightest.values else 1.0)
        found = Note(NoteKind.BUDGET_SHARE, {"used": used, "median": bill.p50 / budget})
        return replace(fit, tightest=(found,)) if is_tightest or tightest.kind is NoteKind.BUDGET_SHARE else fit
    detail, unit = "a month" if goals.month_h else "the run", "USD"
    over = Rejection(Limit.BUDGET, p80(bill), budget, unit, Reason.BUDGET_OF_BILL, detail=detail, amount=p80(fit.cost_usd), p50=bill.p50)
    if fit.candidate.pinned:
        others = (r for r in fit.overruled if r.limit is not Limit.BUDGET)
        return replace(fit, overruled=tuple(sorted((over, *others), key=lambda r: -r.distance)))
    return Rejected(fit.candidate, (over,), fit.cost_usd.p50, fit.finish_s.p50 if fit.finish_s else None)


def remove_unaffordable(
    fits: dict[tuple, Fit], in_order: Callable[[], tuple[Fit, ...]], bill_of: Callable[[Fit], Interval | None], goals: GoalLimits
) -> dict[tuple, Rejected]:
    """Remove fits whose whole bill exceeds the budget, and return them with the rejection. in_order: the fits by rank.

    Only the first PRICED_FITS are compared with their whole bill, because each needs its stack compiled; the others with their machines.
    """
    known, over = set[tuple](), dict[tuple, Rejected]()
    if goals.max_cost_usd is None:
        return over
    while unknown := [fit for fit in in_order()[:PRICED_FITS] if identity(fit.candidate) not in known]:
        for fit in unknown:
            key = identity(fit.candidate)
            answer = within_budget(fit, bill_of(fit), goals)
            known.add(key)
            if isinstance(answer, Fit):
                fits[key] = answer
            else:
                over[key] = answer
                del fits[key]
    return over
