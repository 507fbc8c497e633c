"""A plan on a terminal: the ranking, the whole bill of its first line, the nearest misses, what to do next."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from rackwright.cost import Bill, BillLine
from rackwright.diagnostics.problem import Level
from rackwright.report.alternatives import FRONTIER, frontier_rows, frontier_words, rejected_words
from rackwright.report.formatting import (
    accelerators,
    count,
    evidence,
    list_price,
    machines,
    money,
    money_range,
    percent,
    plural,
    refusal,
    span,
    span_range,
)
from rackwright.report.goals import asked, limits, tightest
from rackwright.report.groups import Group, groups, region
from rackwright.report.terminal.node import sentences
from rackwright.report.terminal.tables import ranked, say, table, title
from rackwright.sizing.plan import Candidate, Fit, Rejected, SizingPlan
from rackwright.sizing.selection.ranking import nearest_misses
from rackwright.spec.spec import Goals, Spec
from rackwright.workflow.stack_preview import StackPreview, doubts, quota_words

MISSES = 3


def show_plan(out: Console, plan: SizingPlan, spec: Spec, preview: StackPreview, top: int, path: Path) -> None:
    """Everything an engineer reads before `choose`. With no fit: the nearest misses and what would make each feasible."""
    title(out, plan.spec, facts(plan))
    say(out, "goals", asked(spec))
    if plan.chosen:
        _show_choice(out, plan, spec, plan.chosen, preview, top)
    else:
        out.print(Text(f"\nNothing meets every goal; {plan.considered:,} ways to run it were looked at.", style="bold"))
    show_misses(out, plan)
    for level, words in doubts(plan, preview):
        say(out, level, words, "bold red" if level is Level.ERROR else "bold yellow")
    if preview.before_you_build:
        out.print(Text("\nBefore you build", style="bold"))
        for problem in preview.before_you_build:
            say(out, problem.code, problem.advice)
        out.print()
    if plan.chosen and not preview.errors:
        record = f"rackwright choose {path} records #1 for `pulumi up`; " if preview.stack else ""
        say(out, "next", f"{record}rackwright explain {path} says why")


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
        out.print(Text(f"    and {len(lines) - top} more; --top {len(lines)} shows them", style="dim"))
    out.print()
    say(out, "why", plan.scaling)
    show_frontier(out, plan, spec.goals)
    say(out, "tightest", tightest(limits(spec, chosen)))
    say(out, "prices", list_price("machine-hour", chosen.candidate))
    ranges = "; the ranges hold four times in five (p10 to p90)" if chosen.duration_s and chosen.evidence != "prior only" else ""
    say(out, "speed", evidence(chosen.evidence) + ranges)
    for label, words in sentences(plan.machine):
        say(out, label, words)
    for words in quota_words(preview):
        say(out, "quota", words)
    if preview.bill:
        show_bill(out, preview.bill)


def show_frontier(out: Console, plan: SizingPlan, goals: Goals | None = None) -> None:
    """Points of the frontier with the choice among them; a sentence where they are one."""
    if words := frontier_words(plan, goals):
        say(out, "frontier", words)
        return
    out.print(Text("\nwhat cannot be beaten on cost and time at once, and the choice:", style="bold"))
    made = table(*FRONTIER, right=("time", "USD", "memory free"), whole=("rank",))
    for row in frontier_rows(plan, goals):
        made.add_row(*row)
    out.print(made)
    out.print()


def _ranking(lines: list[Group], preview: StackPreview, serving: bool) -> Text:
    measures = ("TTFT", "TPOT", "USD/h", "USD a month") if serving else ("time, p10 to p90", "USD/h", "machines USD, p10 to p90")
    rows = [
        (_cells(line, serving), ", ".join(filter(None, [*_where(line.fit.candidate), line.elsewhere, preview.refusal(line.rank)])))
        for line in lines
    ]
    return ranked(rows, ("#", "machines", "memory", *measures))


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
    """Every line with its price date; what is not in the sum is named under it."""
    out.print()
    columns = (f"bill for {bill.covers}", "quantity", "USD each", "dated", "USD/h", "USD")
    made = table(*columns, right=("quantity", "USD/h", "USD"), whole=("dated",))
    for line in bill.lines:
        if line.total_usd is not None:
            made.add_row(line.what, line.quantity_words, each(line), line.price_date, cents(line.hourly_usd), cents(line.total_usd))
    made.add_row(*(Text(cell, style="bold") for cell in ("sum", "", "", "", cents(bill.hourly_usd), cents(bill.total_usd))))
    out.print(made)
    say(out, "by use", "; ".join(f"{line.what} ({line.price_words})" for line in by_use(bill)), "dim")
    say(out, "unknown", no_price(bill), "bold yellow")


def each(line: BillLine) -> str:
    """`55.04 / hour`, with the region whose price it is where that is another."""
    borrowed = f" ({line.price_region})" if line.price_region else ""
    return f"{line.unit_price_usd:,.5g} / {line.per}{borrowed}" if line.unit_price_usd is not None else line.price_words


def by_use(bill: Bill) -> list[BillLine]:
    """Lines with a price whose quantity only use will tell."""
    return [line for line in bill.lines if line.quantity is None and line.unit_price_usd is not None]


def no_price(bill: Bill) -> str:
    return "not in the sum, the catalog has no price: " + ", ".join(bill.unknown) if bill.unknown else ""


def cents(value: float | None) -> str:
    """Dollars and cents; less than a cent is not nothing."""
    return "< 0.01" if value is not None and 0 < value < 0.005 else money(value, 2)


def show_misses(out: Console, plan: SizingPlan) -> None:
    """The nearest of each machine, with the distance and the remedy."""
    near = nearest_misses(plan, MISSES)
    if not near:
        return
    out.print()
    say(out, "rejected", rejected_words(plan))
    out.print("the nearest:" if plan.fits else "The nearest misses:")
    made = table("machines", "where", "why not", "what would make it fit", whole=("machines",))
    for miss in near:
        made.add_row(machines(miss.candidate), where_of(miss), "\n".join(map(refusal, miss.rejections)), remedy(miss))
    out.print(made)


def where_of(item: Fit | Rejected) -> str:
    return ", ".join(filter(None, [item.candidate.region, item.candidate.capacity]))


def remedy(miss: Rejected) -> str:
    """What would make it feasible: the candidate's own remedy, else that of every limit it breaks."""
    return miss.remedy or "; ".join(dict.fromkeys(r.remedy for r in miss.rejections if r.remedy)) or "nothing that a spec can say"
