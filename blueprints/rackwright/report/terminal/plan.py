"""A plan on a terminal: ranking, rationale, bill of the first choice, nearest rejected candidates, next command."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from rackwright.cost import Bill, BillLine
from rackwright.diagnostics.problem import Level
from rackwright.report.alternatives import FRONTIER, frontier_rows, frontier_text, rejected_text
from rackwright.report.goals import limits, requested_goals, tightest
from rackwright.report.groups import Group, groups, region
from rackwright.report.preview_text import doubts, quota_words
from rackwright.report.terminal.tables import heading, print_labelled, ranked, table, title
from rackwright.sizing.plan import Fit, Rejected, SizingPlan
from rackwright.sizing.selection.ranking import nearest_misses
from rackwright.spec.spec import Goals, Spec
from rackwright.wording.formatting import (
    UNKNOWN,
    accelerators,
    count,
    evidence,
    list_price,
    machines,
    money,
    money_range,
    percent,
    plural,
    span,
    span_range,
)
from rackwright.wording.plan_text import with_text
from rackwright.wording.rejections import candidate_remedy, rejection_text
from rackwright.workflow.stack_preview import StackPreview

MISSES = 3


def show_plan(out: Console, plan: SizingPlan, spec: Spec, preview: StackPreview, top: int, path: Path) -> None:
    """The plan on one screen; without a fit, the nearest rejected candidates and their remedies."""
    plan = with_text(plan)
    title(out, plan.spec, facts(plan))
    print_labelled(out, "goals", requested_goals(spec))
    if plan.chosen:
        _show_choice(out, plan, spec, plan.chosen, preview, top)
    else:
        heading(out, f"No candidate meets every goal; {plan.considered:,} configurations were evaluated.")
    show_misses(out, plan)
    for level, text in doubts(plan, preview):
        print_labelled(out, level, text, "bold red" if level is Level.ERROR else "bold yellow")
    if preview.before_you_build:
        heading(out, "Before you build")
        for problem in preview.before_you_build:
            print_labelled(out, problem.code, problem.advice)
        out.print()
    if plan.chosen and not preview.errors:
        record = f"rackwright choose {path} records #1 for `pulumi up`; " if preview.stack else ""
        print_labelled(out, "next", f"{record}rackwright explain {path} shows every number")


def facts(plan: SizingPlan) -> str:
    """`finetune of llama-3.1-70b, 70.6B parameters, 1.35B tokens`."""
    it = plan.facts
    active = "" if it.parameters == it.active_parameters else f" ({count(it.active_parameters)} active)"
    trained = f", {count(it.trainable_parameters)} trained" if 0 < it.trainable_parameters < it.parameters else ""
    tokens = f", {count(it.tokens)} tokens" if it.tokens else ""
    size = f", {count(it.parameters)} parameters{active}" if it.parameters else ""
    return f"{it.kind} of {it.model}{size}{trained}{tokens}"


def _show_choice(out: Console, plan: SizingPlan, spec: Spec, chosen: Fit, preview: StackPreview, top: int) -> None:
    lines = groups(plan.fits)
    out.print()
    out.print(_ranking(lines[:top], preview, serving=chosen.duration_s is None))
    if len(lines) > top:
        out.print(Text(f"    {len(lines) - top} more candidates: --top {len(lines)}", style="dim"))
    out.print()
    print_labelled(out, "why", plan.scaling)
    show_frontier(out, plan, spec.goals, preview)
    print_labelled(out, "tightest", tightest(limits(spec, chosen)))
    print_labelled(out, "prices", list_price("machine-hour", chosen.candidate))
    ranges = "; ranges are p10 to p90" if chosen.duration_s and chosen.evidence != "prior only" else ""
    print_labelled(out, "evidence", evidence(chosen.evidence) + ranges)
    for text in quota_words(preview):
        print_labelled(out, "quota", text)
    if preview.bill:
        show_bill(out, preview.bill)


def show_frontier(out: Console, plan: SizingPlan, goals: Goals | None = None, preview: StackPreview | None = None) -> None:
    """The Pareto frontier as a table, or as a sentence where the choice is its only point."""
    if text := frontier_text(plan, goals):
        print_labelled(out, "frontier", text)
        return
    heading(out, "Cost/time Pareto frontier, machines only")
    rows = frontier_rows(plan, goals, preview=preview)
    out.print(table(FRONTIER, rows, right=("time", "USD", "memory headroom"), whole=("rank",)))
    out.print()


def _ranking(lines: list[Group], preview: StackPreview, serving: bool) -> Text:
    metrics = ("TTFT", "TPOT", "USD/h", "USD/month") if serving else ("time (p10 to p90)", "USD/h", "machines, USD (p10 to p90)")
    rows = []
    for line in lines:
        fit, c = line.fit, line.fit.candidate
        time = (span(fit.speed.ttft_s), span(fit.speed.tpot_s)) if serving else (span_range(fit.finish_s),)
        costs = (money(fit.usd_per_hour, 2), money_range(fit.cost_usd))
        fabric = c.fabric.upper() if c.nodes > 1 and c.fabric != "none" else ""
        replicas = plural(c.replicas, "replica") if c.max_replicas > 1 else ""
        capacity = f"{c.capacity} {c.capacity_id}".strip()
        details = (accelerators(c), replicas, fabric, region(c), capacity, line.elsewhere, preview.refusal(line.rank))
        rows.append(((str(line.rank), machines(c), percent(fit.memory.fill), *time, *costs), ", ".join(filter(None, details))))
    return ranked(rows, ("#", "machines", "memory", *metrics))


def show_bill(out: Console, bill: Bill) -> None:
    """Lines with price dates and the total, then items that the total does not include."""
    out.print()
    columns = (f"bill for {bill.covers}", "quantity", "unit price, USD", "price date", "USD/h", "USD")
    total = [Text(cell, style="bold") for cell in ("total", "", "", "", cents(bill.hourly_usd), cents(bill.total_usd))]
    out.print(table(columns, [*bill_rows(bill), total], right=("quantity", "USD/h", "USD"), whole=("price date",)))
    print_labelled(out, "by usage", by_usage(bill, "; "), "dim")
    print_labelled(out, "unpriced", no_price(bill), "bold yellow")


def bill_rows(bill: Bill) -> list[tuple[str, ...]]:
    """(name, quantity, unit price, price date, USD per hour, USD) of every line of the total."""
    return [
        (line.what, line.quantity_words, each(line), line.price_date or UNKNOWN, cents(line.hourly_usd), cents(line.total_usd))
        for line in bill.lines
        if line.total_usd is not None
    ]


def each(line: BillLine) -> str:
    """`55.04 / hour`; adds the region of the price if it differs."""
    borrowed = f" ({line.price_region})" if line.price_region else ""
    return f"{line.unit_price_usd:,.5g} / {line.per}{borrowed}" if line.unit_price_usd is not None else line.price_words


def by_usage(bill: Bill, separator: str) -> str:
    """Lines with a price whose quantity depends on usage."""
    lines = (line for line in bill.lines if line.quantity is None and line.unit_price_usd is not None)
    return separator.join(f"{line.what} ({line.price_words})" for line in lines)


def no_price(bill: Bill) -> str:
    return "not in the total, no published price: " + ", ".join(bill.unknown) if bill.unknown else ""


def cents(value: float | None) -> str:
    """Dollars and cents; `< 0.01` below one cent."""
    return "< 0.01" if value is not None and 0 < value < 0.005 else money(value, 2)


def show_misses(out: Console, plan: SizingPlan) -> None:
    """The nearest rejected candidate of each machine, with its failed constraints and remedy."""
    near = nearest_misses(plan, MISSES)
    if not near:
        return
    out.print()
    print_labelled(out, "rejected", rejected_text(plan))
    columns = ("nearest rejected", "place", "failed constraints", "would fit with")
    rows = ((machines(m.candidate), where_of(m), "\n".join(map(rejection_text, m.rejections)), candidate_remedy(m)) for m in near)
    out.print(table(columns, rows, whole=("nearest rejected",)))


def where_of(item: Fit | Rejected) -> str:
    return ", ".join(filter(None, [item.candidate.region, item.candidate.capacity]))
