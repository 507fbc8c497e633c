"""Two combinations of several workloads side by side: the terms of each workload, then the bill and quotas of the stack."""

from collections.abc import Iterator

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.report.candidates import named_candidate
from rackwright.report.comparison.candidate_comparison import DETAILED, GROUPS, CandidateComparison, Term, startup_s, terms_of
from rackwright.report.deciding import Side
from rackwright.sizing.plan import Fit, Rejected, SizingPlan
from rackwright.sizing.selection.near_ties import is_already_owned
from rackwright.wording.formatting import usd
from rackwright.wording.rejections import rejection_text
from rackwright.workflow.pipeline import Pipeline


def workload_comparison_of(pipeline: Pipeline, first: str, second: str) -> CandidateComparison:
    """first, second: ranks of combinations. Raises UserError for a rank without combination, and for one combination twice."""
    plan = pipeline.plan
    sides = _side_of(pipeline, first), _side_of(pipeline, second)
    if sides[0].item is sides[1].item:
        raise UserError([Problem("U-usage", f"both sides are {sides[0].name}", fix="name another rank")])
    return CandidateComparison(plan.spec, sides, tuple(_terms(pipeline, sides)), _decided(*sides, plan))


def _side_of(pipeline: Pipeline, rank: str) -> Side:
    item = named_candidate(pipeline.plan, rank)
    if not isinstance(item, Fit):
        return Side(item)
    preview, number = pipeline.preview(item), int(rank)
    return Side(item, number, item.memory, item.speed, item.evidence, preview, refusal=preview.refusal(number))


def _terms(pipeline: Pipeline, sides: tuple[Side, Side]) -> Iterator[Term]:
    for index, part in enumerate(pipeline.plan.each_workload):
        each = _of_workload(pipeline, sides[0], index), _of_workload(pipeline, sides[1], index)
        for group, unit, cells in GROUPS:
            if group not in DETAILED:
                yield from terms_of(f"{part.facts.name}: {group}", unit, cells, part, each)
    for group, unit, cells in GROUPS:
        if group in DETAILED:
            yield from terms_of(group, unit, cells, pipeline.plan, sides)


def _of_workload(pipeline: Pipeline, side: Side, index: int) -> Side:
    """One workload of a combination, with the rank of the combination; a rejected one has no numbers of its workloads."""
    if isinstance(side.item, Fit):
        fit = side.item.each_workload[index]
        return Side(fit, side.rank, fit.memory, fit.speed, fit.evidence, startup_s=startup_s(pipeline, fit))
    return Side(Rejected((side.item.candidate, *side.item.further)[index], ()))


def _decided(a: Side, b: Side, plan: SizingPlan) -> str:
    """Why one combination ranks before the other: refusal, broken limits, capacity that is owned, or the cost of all machines."""
    if failed := [side for side in (a, b) if side.rank is None]:
        return ". ".join(f"{side.name} fails: {'; '.join(map(rejection_text, side.rejections))}" for side in failed) + "."
    first, second = sorted((a, b), key=lambda side: side.rank or 0)
    if second.refusal and not first.refusal:
        return f"{first.name} ranks before {second.name}: {second.name} is {second.refusal}."
    costs = " against ".join(usd(side.item.stack_usd, 0) for side in (first, second) if isinstance(side.item, Fit))
    tie = ", which is within the uncertainty of the estimates" if plan.near_tie is not None and plan.near_tie is second.item else ""
    owned = [sum(map(is_already_owned, side.item.each_workload)) for side in (first, second) if isinstance(side.item, Fit)]
    paid = f"; {owned[0]} workloads instead of {owned[1]} run on capacity that is already paid for" if owned[0] > owned[1] else ""
    return f"{first.name} ranks before {second.name}: goals.optimize_for is {plan.optimize_for}; machines cost {costs} a month{tie}{paid}."
