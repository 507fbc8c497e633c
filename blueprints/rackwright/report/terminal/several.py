"""A plan of several workloads on a terminal: combinations of machines with a line per workload, and what they cost together."""

from rich.console import Console

from rackwright.report.goals import limits, tightest
from rackwright.report.groups import shape
from rackwright.report.preview_text import quota_increases, quota_words
from rackwright.report.terminal.bill import bill_text, show_bill
from rackwright.report.terminal.tables import print_labelled, table
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.spec import Spec
from rackwright.wording.formatting import accelerators, machines, money, percent, plural, span
from rackwright.wording.unit_rates import rate_text
from rackwright.workflow.stack_preview import StackPreview

COLUMNS = ("#", "workload", "machines", "replicas", "memory", "latency", "per token", "USD/h", "USD/month")
NUMBERS = ("memory", "latency", "per token", "USD/h", "USD/month")


def show_combinations(out: Console, plan: SizingPlan, spec: Spec, chosen: Fit, preview: StackPreview, shown: int, full: bool) -> None:
    """The first combinations, a line per workload and one for the sum, then why, limits, bill and quotas of the chosen one.

    Latency is the time to the answer or its first token.
    """
    rows = [row for combination in _combinations(plan)[:shown] for row in _rows(combination, preview)]
    out.print()
    out.print(table(COLUMNS, rows, right=NUMBERS, whole=("#",)))
    out.print()
    print_labelled(out, "why", plan.scaling)
    _show_limits(out, plan, spec, chosen)
    print_labelled(out, "bill", bill_text(preview.bill) if preview.bill and not full else "")
    for text in quota_words(preview) if full else filter(None, [quota_increases(preview)]):
        print_labelled(out, "quota", text)
    if preview.bill and full:
        show_bill(out, preview.bill)


def _combinations(plan: SizingPlan) -> list[list[tuple[int, Fit]]]:
    """Ranks and fits of equal combinations, which differ in their region only, in order of rank."""
    found: dict[tuple, list[tuple[int, Fit]]] = {}
    for rank, fit in enumerate(plan.fits, 1):
        key = tuple((shape(each.candidate), each.candidate.capacity, each.cost_usd) for each in fit.each_workload)
        found.setdefault(key, []).append((rank, fit))
    return list(found.values())


def _rows(combination: list[tuple[int, Fit]], preview: StackPreview) -> list[tuple[str, ...]]:
    (rank, fit), *others = combination
    rows = [
        (
            str(rank) if index == 0 else "",
            each.workload,
            f"{machines(each.candidate)} ({accelerators(each.candidate)})",
            f"{each.candidate.replicas} to {each.candidate.max_replicas}",
            percent(each.memory.fill),
            span(each.speed.ttft_s),
            span(each.speed.tpot_s) if each.speed.tpot_s else "-",
            money(each.usd_per_hour, 2),
            money(each.cost_usd.p50 if each.cost_usd else None),
        )
        for index, each in enumerate(fit.each_workload)
    ]
    hourly = [each.usd_per_hour for each in fit.each_workload if each.usd_per_hour is not None]
    sums = (money(sum(hourly), 2) if len(hourly) == len(rows) else money(None), money(fit.stack_usd))
    elsewhere = ", ".join(f"#{other} {each.candidate.region}" for other, each in others)
    parts = (fit.candidate.region, _capacities(fit), f"also {elsewhere}" if others else "", preview.refusal(rank))
    where = ", ".join(filter(None, parts))
    return [*rows, ("", "together", where, "", "", "", "", *sums)]


def _capacities(fit: Fit) -> str:
    """Capacity modes of the workloads, once each."""
    return " and ".join(dict.fromkeys(each.candidate.capacity for each in fit.each_workload))


def _show_limits(out: Console, plan: SizingPlan, spec: Spec, chosen: Fit) -> None:
    """Rate and tightest limit of each workload of the chosen combination."""
    for index, (part, fit) in enumerate(zip(plan.each_workload, chosen.each_workload, strict=True)):
        facts = tightest(limits(_without_budget(spec.of_workload(index)), fit))
        print_labelled(out, fit.workload, "; ".join(filter(None, (rate_text(fit, part.facts), f"tightest {facts}"))))


def _without_budget(spec: Spec) -> Spec:
    """The spec without the budget, which is of all workloads."""
    return spec.model_copy(update={"goals": spec.goals.model_copy(update={"max_cost": None})})


def workloads_text(plan: SizingPlan) -> str:
    """`2 workloads: chat (llama-3.1-8b) and embed (bert-large)`."""
    names = " and ".join(f"{part.facts.name} ({part.facts.model})" for part in plan.each_workload)
    return f"{plural(len(plan.each_workload), 'workload')}: {names}"
