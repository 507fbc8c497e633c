"""A plan of several workloads on a terminal: combinations of machines and what they cost together."""

from collections.abc import Callable
from functools import partial

from rich.console import Console

from rackwright.report.goals import tightest_of
from rackwright.report.groups import shape
from rackwright.report.preview_text import quota_increases, quota_words
from rackwright.report.terminal.bill import bill_text, show_bill
from rackwright.report.terminal.layout.screen import FULL, Detail
from rackwright.report.terminal.layout.tables import print_labelled, ranked
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Serve
from rackwright.wording.formatting import accelerators, evidence, machines, money, percent, plural, shared_with, span, usd
from rackwright.wording.unit_rates import rate_text
from rackwright.workflow.stack.stack_preview import StackPreview

COLUMNS = ("#", "machines", "USD/h", "USD/month")


def show_combinations(out: Console, plan: SizingPlan, spec: Spec, chosen: Fit, preview: StackPreview, shown: int, detail: Detail) -> None:
    """The first combinations with what they cost, then why, limits, bill and quotas of the chosen one.

    The latency of a workload is the time to the answer or its first token, then per token.
    """
    full, labelled = detail is FULL, partial(print_labelled, out, max_lines=detail.text_lines)
    rows = [_row(combination, spec, preview) for combination in _combinations(plan)[:shown]]
    out.print()
    out.print(ranked(rows, COLUMNS, out.width, detail.text_lines))
    out.print()
    labelled("why", plan.scaling)
    _show_limits(labelled, plan, spec, chosen, preview)
    labelled("bill", bill_text(preview.bill) if preview.bill and not full else "")
    for text in quota_words(preview) if full else filter(None, [quota_increases(preview)]):
        labelled("quota", text)
    if preview.bill and full:
        show_bill(out, preview.bill)


def _combinations(plan: SizingPlan) -> list[list[tuple[int, Fit]]]:
    """Ranks and fits of equal combinations, which differ in their region only, in order of rank."""
    found: dict[tuple, list[tuple[int, Fit]]] = {}
    for rank, fit in enumerate(plan.fits, 1):
        key = tuple((shape(each.candidate), each.candidate.capacity, each.cost_usd) for each in fit.each_workload)
        found.setdefault(key, []).append((rank, fit))
    return list(found.values())


def _row(combination: list[tuple[int, Fit]], spec: Spec, preview: StackPreview) -> tuple[tuple[str, ...], str]:
    """Cells of a combination, and the line below them: each workload with its latency, then the place."""
    (rank, fit), *others = combination
    hourly = [each.usd_per_hour for each in fit.each_workload if each.usd_per_hour is not None]
    total = money(sum(hourly), 2) if len(hourly) == len(fit.each_workload) else money(None)
    cells = (str(rank), " + ".join(machines(each.candidate) for each in fit.each_pool), total, money(fit.stack_usd))
    elsewhere = ", ".join(f"#{other} {each.candidate.region}" for other, each in others)
    place = (fit.candidate.region, _capacities(fit), f"also {elsewhere}" if others else "", preview.refusal(rank))
    return cells, "; ".join((*map(partial(workload_text, spec), fit.each_workload), ", ".join(filter(None, place))))


def workload_text(spec: Spec, fit: Fit) -> str:
    """`chat: 2 x L40S, 2 replicas at p95, 1 to 8, 517 ms, then 41 ms`. The range is that of the autoscaler."""
    c, each = fit.candidate, f", then {span(fit.speed.tpot_s)}" if fit.speed.tpot_s else ""
    w = next(workload for workload in spec.workloads if workload.name == fit.workload)
    assert isinstance(w, Serve)
    low = min(w.min_replicas, c.max_replicas)
    scales = f", {low} to {c.max_replicas}" if c.max_replicas > low else ""
    shared = f" {others}" if (others := shared_with(c, fit.workload)) else ""
    return f"{fit.workload}: {accelerators(c)}{shared}, {plural(c.replicas, 'replica')} at p95{scales}, {span(fit.speed.ttft_s)}{each}"


def _capacities(fit: Fit) -> str:
    """Capacity modes of the workloads, once each."""
    return " and ".join(dict.fromkeys(each.candidate.capacity for each in fit.each_workload))


def _show_limits(labelled: Callable[[str, str], None], plan: SizingPlan, spec: Spec, chosen: Fit, preview: StackPreview) -> None:
    """The shared budget, then rate, tightest limit and evidence of each workload of the chosen combination."""
    parts = list(zip(plan.each_workload, chosen.each_workload, strict=True))
    rates = ((fit.workload, rate_text(fit, part.facts)) for part, fit in parts)
    labelled("rate", "; ".join(f"{name}: {rate}" for name, rate in rates if rate))
    labelled("budget", budget_text(spec, preview))
    labelled("tightest", "; ".join(f"{fit.workload}: {tightest_of(spec, fit)}" for _, fit in parts))
    labelled("evidence", "; ".join(f"{fit.workload}: {evidence(fit.evidence)}" for _, fit in parts))


def budget_text(spec: Spec, preview: StackPreview | None) -> str:
    """The whole bill of the stack and the budget that its workloads share; empty without either."""
    if not (spec.goals.max_cost and preview and preview.bill):
        return ""
    total = preview.bill.total_usd
    return f"{usd(total, 0)} of {usd(spec.goals.max_cost, 0)} a month, the whole bill ({percent(total / spec.goals.max_cost)})"


def workloads_text(plan: SizingPlan) -> str:
    """`2 workloads: chat (llama-3.1-8b) and embed (bert-large)`."""
    names = " and ".join(f"{part.facts.name} ({part.facts.model})" for part in plan.each_workload)
    return f"{plural(len(plan.each_workload), 'workload')}: {names}"
