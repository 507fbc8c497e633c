"""Goals of a spec and the expected values of a fit."""

from dataclasses import dataclass

from rackwright.cost import Bill
from rackwright.sizing.note import NoteKind
from rackwright.sizing.plan import Fit
from rackwright.spec.spec import Spec
from rackwright.wording.formatting import hours, percent, span, span_range, usd, usd_range


@dataclass(frozen=True)
class Goal:
    """A limit of the spec and the expected value. likely, worst: shares of the limit at p50 and p90."""

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
        found.append(Goal("Duration", span(limit), span_range(took), took.p50 / limit, took.p90 / limit))
    if (limit := spec.goals.max_cost) and (cost := fit.cost_usd):
        name = "Cost of the machines" + ("" if fit.duration_s else ", a month")
        found.append(Goal(name, usd(limit, 0), usd_range(cost), cost.p50 / limit, cost.p90 / limit))
        if bill:
            found.append(Goal("Total bill", usd(limit, 0), usd(bill.total_usd, 0), bill.total_usd / limit, bill.total_usd / limit))
    expectations = (
        ("latency", "Answer", fit.speed.ttft_s),
        ("ttft", "First token", fit.speed.ttft_s),
        ("tpot", "Each token", fit.speed.tpot_s),
    )
    for name, label, expected in expectations:
        if (goal := getattr(workload, name, None)) and expected:
            found.append(
                Goal(f"{label}, p{goal.percentile:g}", span(goal.target), span(expected), expected / goal.target, expected / goal.target)
            )
    for note in fit.tightest:
        if note.kind is NoteKind.HOST_LIMIT:
            fed, able = (f"{float(note.values[name]):,.0f} samples/s" for name in ("samples_per_s", "wanted_per_s"))
            found.append(Goal("Input pipeline", f"{able} that the accelerators process", fed, 1.0, 1.0))
    fill, allowed = fit.memory.fill, fit.memory.max_fill
    found.append(Goal("Accelerator memory", f"{percent(allowed)} allowed", f"{percent(fill)} filled", fill / allowed, fill / allowed))
    return tuple(found)


def tightest(goals: tuple[Goal, ...]) -> str:
    """The limit with the least head-room at p90."""
    worst = max(goals, key=lambda goal: goal.worst)
    return f"{worst.name.lower()}: {worst.expected} of {worst.limit}"
