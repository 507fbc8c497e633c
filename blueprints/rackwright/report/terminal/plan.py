"""A plan on a terminal: ranking, rationale, bill of the first choice, nearest rejected candidates, next command."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from rackwright.cost import Bill, BillLine
from rackwright.diagnostics.problem import Level
from rackwright.report.alternatives import FRONTIER, frontier_rows, frontier_text, rejected_text
from rackwright.report.goals import limits, requested_goals, tightest
from rackwright.report.groups import Group, groups, region
from rackwright.report.terminal.tables import print_labelled, ranked, table, title
from rackwright.sizing.plan import Candidate, Fit, Rejected, SizingPlan
from rackwright.sizing.selection.ranking import nearest_misses
from rackwright.spec.spec import Goals, Spec
from rackwright.wording.formatting import (
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
from rackwright.workflow.stack_preview import StackPreview, doubts, quota_words

MISSES = 3


def show_plan(out: Console, plan: SizingPlan, spec: Spec, preview: StackPreview, top: int, path: Path) -> None:
    """What an engineer reads before `choose`; without a fit the nearest rejected candidates and their remedies."""
    plan = with_text(plan)
    title(out, plan.spec, facts(plan))
    print_labelled(out, "goals", requested_goals(spec))
    if plan.chosen:
        _show_choice(out, plan, spec, plan.chosen, preview, top)
    else:
        out.print(Text(f"\nNo candidate meets every goal; {plan.considered:,} configurations were evaluated.", style="bold"))
    show_misses(out, plan)
    for level, words in doubts(plan, preview):
        print_labelled(out, level, words, "bold red" if level is Level.ERROR else "bold yellow")
    if preview.before_you_build:
        out.print(Text("\nBefore you build", style="bold"))
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
    for words in quota_words(preview):
        print_labelled(out, "quota", words)
    if preview.bill:
        show_bill(out, preview.bill)


def show_frontier(out: Console, plan: SizingPlan, goals: Goals | None = None, preview: StackPreview | None = None) -> None:
    """The Pareto frontier as a table, or as a sentence where the choice is its only point."""
    if words := frontier_text(plan, goals):
        print_labelled(out, "frontier", words)
        return
    out.print(Text("\nCost/time Pareto frontier, machines only", style="bold"))
    made = table(*FRONTIER, right=("time", "USD", "memory free"), whole=("rank",))
    for row in frontier_rows(plan, goals, preview=preview):
        made.add_row(*row)
    out.print(made)
    out.print()


def _ranking(lines: list[Group], preview: StackPreview, serving: bool) -> Text:
    metrics = ("TTFT", "TPOT", "USD/h", "USD/month") if serving else ("time (p10 to p90)", "USD/h", "machines, USD (p10 to p90)")
    rows = [
        (_cells(line, serving), ", ".join(filter(None, [*_where(line.fit.candidate), line.elsewhere, preview.refusal(line.rank)])))
        for line in lines
    ]
    return ranked(rows, ("#", "machines", "memory", *metrics))


def _cells(line: Group, serving: bool) -> tuple[str, ...]:
    fit = line.fit
    time = (span(fit.speed.ttft_s), span(fit.speed.tpot_s)) if serving else (span_range(fit.finish_s),)
    money_words = (money(fit.usd_per_hour, 2), money_range(fit.cost_usd))
    return (str(line.rank), machines(fit.candidate), percent(fit.memory.fill), *time, *money_words)


def _where(candidate: Candidate) -> list[str]:
    fabric = candidate.fabric.upper() if candidate.nodes > 1 and candidate.fabric != "none" else ""
    copies = plural(candidate.replicas, "replica") if candidate.max_replicas > 1 else ""
    capacity = " ".join(filter(None, [candidate.capacity, candidate.capacity_id]))
    return [accelerators(candidate), copies, fabric, region(candidate), capacity]


def show_bill(out: Console, bill: Bill) -> None:
    """Every line with its price date, then what the total leaves out."""
    out.print()
    columns = (f"bill for {bill.covers}", "quantity", "unit price, USD", "price date", "USD/h", "USD")
    made = table(*columns, right=("quantity", "USD/h", "USD"), whole=("price date",))
    for line in bill.lines:
        if line.total_usd is not None:
            made.add_row(line.what, line.quantity_words, each(line), line.price_date, cents(line.hourly_usd), cents(line.total_usd))
    made.add_row(*(Text(cell, style="bold") for cell in ("total", "", "", "", cents(bill.hourly_usd), cents(bill.total_usd))))
    out.print(made)
    print_labelled(out, "by usage", "; ".join(f"{line.what} ({line.price_words})" for line in by_use(bill)), "dim")
    print_labelled(out, "unpriced", no_price(bill), "bold yellow")


def each(line: BillLine) -> str:
    """`55.04 / hour`, with the region whose price it is where that is another."""
    borrowed = f" ({line.price_region})" if line.price_region else ""
    return f"{line.unit_price_usd:,.5g} / {line.per}{borrowed}" if line.unit_price_usd is not None else line.price_words


def by_use(bill: Bill) -> list[BillLine]:
    """Lines with a price whose quantity depends on usage."""
    return [line for line in bill.lines if line.quantity is None and line.unit_price_usd is not None]


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
    made = table("nearest rejected", "place", "failed constraints", "would fit with", whole=("nearest rejected",))
    for miss in near:
        made.add_row(machines(miss.candidate), where_of(miss), "\n".join(map(rejection_text, miss.rejections)), candidate_remedy(miss))
    out.print(made)


def where_of(item: Fit | Rejected) -> str:
    return ", ".join(filter(None, [item.candidate.region, item.candidate.capacity]))
