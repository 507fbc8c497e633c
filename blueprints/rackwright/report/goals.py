"""Goals of a spec and the expected values of a fit."""

from dataclasses import dataclass

from rackwright.cost import Bill
from rackwright.report.intervals import with_p80
from rackwright.sizing.evaluation.evaluate import p80
from rackwright.sizing.note import NoteKind
from rackwright.sizing.plan import Fit
from rackwright.spec.spec import Spec
from rackwright.wording.formatting import hours, percent, span, usd

ROUNDING = 1e-6
"""Relative difference of two amounts below which they are equal."""


@dataclass(frozen=True)
class Goal:
    """A limit of the spec and the expected value. likely, worst: shares of the limit at p50 and at the p80 that decides."""

    name: str
    limit: str
    expected: str
    likely: float
    worst: float


def requested_goals(spec: Spec) -> str:
    """Goals of the spec in one line."""
    goals = spec.goals
    parts = [f"at most {hours(goals.max_duration)}"] if goals.max_duration else []
    parts += [f"at most {usd(goals.max_cost, 0)}" + (" a month" if spec.workload.kind == "serve" else "")] if goals.max_cost else []
    rows = (("latency", "answer"), ("ttft", "first token"), ("tpot", "each token"))
    for workload, (name, label) in ((workload, row) for workload in spec.workloads for row in rows):
        if goal := getattr(workload, name, None):
            of = f"{workload.name}: " if spec.is_several else ""
            parts.append(f"{of}{label} within {span(goal.target)} (p{goal.percentile:g})")
    return ", ".join([*parts, f"optimised for {goals.optimize_for}"])


def limits(spec: Spec, fit: Fit, bill: Bill | None = None) -> tuple[Goal, ...]:
    """Every limit of the spec with the expected value of the fit; the total bill where it is known."""
    found, workload = [], spec.workload
    if (limit := spec.goals.max_duration) and (took := fit.finish_s):
        found.append(Goal("Duration", span(limit), with_p80(took, span), took.p50 / limit, p80(took) / limit))
    if (limit := spec.goals.max_cost) and (cost := fit.cost_usd):
        name = "Cost of the machines" + ("" if fit.duration_s else ", a month")
        found.append(Goal(name, usd(limit, 0), with_p80(cost, usd), cost.p50 / limit, p80(cost) / limit))
        if not bill and (billed := _billed(fit, limit)):
            found.append(billed)
        if bill:
            found.append(Goal("Total bill", usd(limit, 0), usd(bill.total_usd, 0), bill.total_usd / limit, bill.total_usd / limit))
    s = fit.speed
    expectations = (
        ("latency", "Answer", s.ttft_s, s.ttft_p50_s),
        ("ttft", "First token", s.ttft_s, s.ttft_p50_s),
        ("tpot", "Each token", s.tpot_s, s.tpot_p50_s),
    )
    for name, label, slow, median in expectations:
        if (goal := getattr(workload, name, None)) and slow:
            likely = median or slow
            expected = f"{span(likely)} (p80 {span(slow)})" if median else span(slow)
            found.append(Goal(f"{label}, p{goal.percentile:g}", span(goal.target), expected, likely / goal.target, slow / goal.target))
    for note in fit.tightest:
        if note.kind in (NoteKind.HOST_LIMIT, NoteKind.HOST_LIMIT_OF_SERVICE):
            fed, able = (f"{note.number(name):,.0f} samples/s" for name in ("samples_per_s", "wanted_per_s"))
            each = " of a machine" if note.kind is NoteKind.HOST_LIMIT_OF_SERVICE else ""
            found.append(Goal("Input pipeline", f"{able} that the accelerators{each} process", fed, 1.0, 1.0))
    fill, allowed = fit.memory.fill, fit.memory.max_fill
    found.append(Goal("Accelerator memory", f"{percent(allowed)} allowed", f"{percent(fill)} filled", fill / allowed, fill / allowed))
    return tuple(found)


def limits_of_workload(spec: Spec, index: int, fit: Fit) -> tuple[Goal, ...]:
    """Limits of one of several workloads, without the budget, which is of all workloads."""
    alone = spec.of_workload(index)
    return limits(alone.model_copy(update={"goals": alone.goals.model_copy(update={"max_cost": None})}), fit)


def tightest_of(spec: Spec, fit: Fit) -> str:
    """The tightest limit of a fit; of several workloads without the budget, which they share."""
    names = [workload.name for workload in spec.workloads]
    return tightest(limits_of_workload(spec, names.index(fit.workload), fit) if spec.is_several else limits(spec, fit))


def _billed(fit: Fit, limit: float) -> Goal | None:
    """The whole bill that the search compared with the budget; None where it compared the machines alone, or another limit is tighter."""
    note = next((note for note in fit.tightest if note.kind is NoteKind.BUDGET_SHARE), None)
    if note is None or not fit.cost_usd or note.number("used") * limit <= p80(fit.cost_usd) * (1 + ROUNDING):
        return None
    likely, worst = note.number("median"), note.number("used")
    return Goal("Total bill", usd(limit, 0), f"{usd(likely * limit)} (p80 {usd(worst * limit)})", likely, worst)


def tightest(goals: tuple[Goal, ...]) -> str:
    """The limit with the least head-room at p80."""
    worst = max(goals, key=lambda goal: goal.worst)
    return f"{worst.name.lower()}: {worst.expected} of {worst.limit}"
