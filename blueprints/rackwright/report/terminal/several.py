"""A plan of several workloads on a terminal: combinations of machines and what they cost together."""

from collections.abc import Callable
from functools import partial

from rich.console import Console

from rackwright.report.goals import limits_of_workload, tightest
from rackwright.report.groups import shape
from rackwright.report.preview_text import quota_increases, quota_words
from rackwright.report.terminal.bill import bill_text, show_bill
from rackwright.report.terminal.screen import FULL, Detail
from rackwright.report.terminal.tables import print_labelled, ranked
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.spec import Spec
from rackwright.wording.formatting import accelerators, evidence, machines, money, plural, span
from rackwright.wording.unit_rates import rate_text
from rackwright.workflow.stack.stack_preview import StackPreview

COLUMNS = ("#", "machines", "USD/h", "USD/month")


def show_combinations(out: Console, plan: SizingPlan, spec: Spec, chosen: Fit, preview: StackPreview, shown: int, detail: Detail) -> None:
    """The first combinations with what they cost, then why, limits, bill and quotas of the chosen one.

    The latency of a workload is the time to the answer or its first token, then per token.
    """
    full, labelled = detail is FULL, partial(print_labelled, out, max_lines=detail.text_lines)
    rows = [_row(combination, preview) for combination in _combinations(plan)[:shown]]
    out.print()
    out.print(ranked(rows, COLUMNS, out.width))
    out.print()
    labelled("why", plan.scaling)
    _show_limits(labelled, plan, spec, chosen)
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


def _row(combination: list[tuple[int, Fit]], preview: StackPreview) -> tuple[tuple[str, ...], str]:
    """Cells of a combination, and the line below them: each workload with its latency, then the place."""
    (rank, fit), *others = combination
    hourly = [each.usd_per_hour for each in fit.each_workload if each.usd_per_hour is not None]
    total = money(sum(hourly), 2) if len(hourly) == len(fit.each_workload) else money(None)
    cells = (str(rank), " + ".join(machines(each.candidate) for each in fit.each_workload), total, money(fit.stack_usd))
    elsewhere = ", ".join(f"#{other} {each.candidate.region}" for other, each in others)
    place = (fit.candidate.region, _capacities(fit), f"also {elsewhere}" if others else "", preview.refusal(rank))
    return cells, "; ".join((*map(_workload, fit.each_workload), ", ".join(filter(None, place))))


def _workload(fit: Fit) -> str:
    """`chat: 2 x L40S, 2 to 8 replicas, 517 ms, then 41 ms`."""
    c, each = fit.candidate, f", then {span(fit.speed.tpot_s)}" if fit.speed.tpot_s else ""
    return f"{fit.workload}: {accelerators(c)}, {c.replicas} to {c.max_replicas} replicas, {span(fit.speed.ttft_s)}{each}"


def _capacities(fit: Fit) -> str:
    """Capacity modes of the workloads, once each."""
    return " and ".join(dict.fromkeys(each.candidate.capacity for each in fit.each_workload))


def _show_limits(labelled: Callable[[str, str], None], plan: SizingPlan, spec: Spec, chosen: Fit) -> None:
    """Rate, tightest limit and evidence of each workload of the chosen combination."""
    parts = list(zip(plan.each_workload, chosen.each_workload, strict=True))
    rates = ((fit.workload, rate_text(fit, part.facts)) for part, fit in parts)
    labelled("rate", "; ".join(f"{name}: {rate}" for name, rate in rates if rate))
    limited = (f"{fit.workload}: {tightest(limits_of_workload(spec, index, fit))}" for index, (_, fit) in enumerate(parts))
    labelled("tightest", "; ".join(limited))
    labelled("evidence", "; ".join(f"{fit.workload}: {evidence(fit.evidence)}" for _, fit in parts))


def workloads_text(plan: SizingPlan) -> str:
    """`2 workloads: chat (llama-3.1-8b) and embed (bert-large)`."""
    names = " and ".join(f"{part.facts.name} ({part.facts.model})" for part in plan.each_workload)
    return f"{plural(len(plan.each_workload), 'workload')}: {names}"
