"""A plan on a terminal: ranking, rationale, bill of the first choice, nearest rejected candidates, next command."""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from rackwright.clouds import profile
from rackwright.diagnostics.problem import Level
from rackwright.report.alternatives import FRONTIER, frontier_rows, frontier_text, rejected_text
from rackwright.report.goals import requested_goals, tightest_of
from rackwright.report.groups import Group, groups, region
from rackwright.report.preview_text import doubts, quota_increases, quota_words
from rackwright.report.terminal.bill import bill_text, fallback_text, show_bill
from rackwright.report.terminal.layout.console import WIDTH
from rackwright.report.terminal.layout.screen import BRIEF, FULL, Detail, detail_that_fits
from rackwright.report.terminal.layout.tables import INDENT, heading, print_labelled, ranked, table, title
from rackwright.report.terminal.node import storage_text
from rackwright.report.terminal.several import show_combinations, workloads_text
from rackwright.sizing.plan import Fit, Rejected, SizingPlan, WorkloadFacts
from rackwright.sizing.selection.ranking import nearest_misses
from rackwright.sizing.unit import UNITS
from rackwright.spec.spec import Goals, Spec
from rackwright.wording.formatting import (
    accelerators,
    count,
    evidence,
    list_price,
    machines,
    machines_and_parts,
    money,
    money_range,
    percent,
    plural,
    span,
    span_range,
)
from rackwright.wording.option_effects import option_text
from rackwright.wording.rejections import candidate_remedy, rejection_text
from rackwright.wording.unit_rates import amount_text, rate_text
from rackwright.workflow.stack.stack_preview import StackPreview

ALTERNATIVES, LIMITS, MISSES = 3, 3, 3
"""Shown without `--full`: candidates after the choice, limits that reject most candidates, and nearest rejected candidates."""
MIN_SAVING = 0.01
"""Share of the cost below which the order of places or capacity modes is not mentioned."""
STYLES = {Level.ERROR: "bold red", Level.WARNING: "bold yellow"}


def show_plan(
    out: Console, plan: SizingPlan, spec: Spec, preview: StackPreview, path: Path, top: int | None = None, full: bool = False
) -> None:
    """The plan on one screen of 40 lines; without a fit, the nearest rejected candidates and their remedies.

    plan: with its sentences, as the pipeline returns it. top: candidates to show; the screen then has more lines. full: also the
    frontier, the bill by line, quotas within the defaults and the nearest rejections.
    """

    def show(to: Console, detail: Detail) -> None:
        _show_plan(to, plan, spec, preview, path, top, detail)

    show(out, FULL if full else BRIEF[0] if top else detail_that_fits(out.width, show))


def _show_plan(out: Console, plan: SizingPlan, spec: Spec, preview: StackPreview, path: Path, top: int | None, detail: Detail) -> None:
    full, lines = detail is FULL, detail.text_lines
    title(out, plan.spec, workloads_text(plan) if plan.further else facts(plan))
    print_labelled(out, "goals", requested_goals(spec), max_lines=lines)
    if plan.chosen and plan.further:
        show_combinations(out, plan, spec, plan.chosen, preview, top or 1 + ALTERNATIVES, detail)
    elif plan.chosen:
        _show_choice(out, plan, spec, plan.chosen, preview, top, detail)
    else:
        heading(out, f"No candidate meets every goal; {plan.considered:,} configurations were evaluated.")
        print_labelled(out, "why", plan.scaling if any(miss.candidate.pinned for miss in plan.rejected) else "")
    if full or not plan.chosen:
        show_misses(out, plan, lines)
    elif plan.rejected:
        print_labelled(out, "rejected", rejected_text(plan, LIMITS), max_lines=lines)
    _show_doubts(out, by_code(doubts(plan, preview)), detail)
    if preview.before_you_build:
        heading(out, "Before you build (*: `pulumi up` stops until it is settled)")
        _show_items(out, open_item_rows(preview), detail.open_items, lines, "open item")
        out.print()
    if plan.chosen and not preview.errors:
        commands = {f"choose {path}": "for `pulumi up`" if preview.stack else ""}
        commands |= {f"plan {path} --full": "" if full else "bill, quotas, rejections", f"explain {path}": "every number"}
        commands |= {f"buy {path}": "servers, switches, racks, power"} if spec.purchase else {}
        shown = {f"rackwright {command}": purpose for command, purpose in commands.items() if purpose}
        length = max(map(len, shown))
        print_labelled(out, "next", "\n".join(f"{command.ljust(length)}  # {purpose}" for command, purpose in shown.items()))
    elif not plan.chosen and plan.rejected:
        print_labelled(out, "next", f"rackwright plan {path}  # after one of these changes")


def open_item_rows(preview: StackPreview) -> list[tuple[str, str, str]]:
    """(code, text, style) of every open item, those that stop an update first and with a star."""
    items = sorted(preview.before_you_build, key=lambda problem: not problem.blocks_update)
    return [(f"{problem.code}{' *' * problem.blocks_update}", problem.advice, "bold") for problem in items]


def by_code(doubts: Iterable[tuple[Level, str]]) -> list[tuple[str, str, str]]:
    """(label, text, style); problems of one code in one line, errors first."""
    found: dict[tuple[Level, str], list[str]] = {}
    for level, text in sorted(doubts, key=lambda doubt: doubt[0] is not Level.ERROR):
        code = re.match(r"[A-Z]+-\w+: ", text)
        found.setdefault((level, code.group() if code else text), []).append(text)
    return [
        (level, texts[0] + (f" (and {len(texts) - 1} more like it)" if len(texts) > 1 else ""), STYLES[level])
        for (level, _), texts in found.items()
    ]


def _show_doubts(out: Console, items: list[tuple[str, str, str]], detail: Detail) -> None:
    errors = sum(label == Level.ERROR for label, _, _ in items)
    shown = None if detail.warnings is None else max(errors, detail.warnings)
    _show_items(out, items, shown, detail.text_lines, "warning")


def _show_items(out: Console, items: list[tuple[str, str, str]], shown: int | None, lines: int | None, noun: str) -> None:
    for label, text, style in items[:shown]:
        print_labelled(out, label, text, style, lines)
    if shown is not None and len(items) > shown:
        out.print(Text(f"{' ' * INDENT}{plural(len(items) - shown, 'more ' + noun)}: --full", style="dim"))


def facts(plan: SizingPlan) -> str:
    """`finetune of llama-3.1-70b, 70.6B parameters, 1.35B tokens`; `batch of vit-l-16, 304M parameters, 50M images of 224x224`."""
    it = plan.facts
    active = "" if it.parameters == it.active_parameters else f" ({count(it.active_parameters)} active)"
    trained = f", {count(it.trainable_parameters)} trained" if 0 < it.trainable_parameters < it.parameters else ""
    tokens = f", {count(it.tokens)} tokens" if it.tokens else ""
    if it.unit not in ("token", "request"):
        tokens = f", {amount_text(it)}"
    size = f", {count(it.parameters)} parameters{active}" if it.parameters else ""
    kind = f"{it.kind} ({it.objective})" if it.objective else it.kind
    return f"{kind} of {it.model}{size}{trained}{tokens}" if it.model else f"{it.kind} workload"


def _show_choice(out: Console, plan: SizingPlan, spec: Spec, chosen: Fit, preview: StackPreview, top: int | None, detail: Detail) -> None:
    full, labelled = detail is FULL, partial(print_labelled, out, max_lines=detail.text_lines)
    rows = groups(plan.fits)
    shown = rows[: top or 1 + ALTERNATIVES]
    refused = {preview.refusal(rank) for rank in range(1, len(plan.fits) + 1)}
    if len(refused) == 1 and (reason := refused.pop()):
        labelled("build", f"{reason} ({plural(len(plan.fits), 'candidate')}, all of them)", "bold yellow")
        preview = replace(preview, refusals=())
    out.print()
    out.print(_ranking(shown, preview, plan.facts, chosen.duration_s is None, out.width))
    if len(rows) > len(shown):
        out.print(Text(f"    {len(rows) - len(shown)} more candidates: --top {len(rows)}", style="dim"))
    out.print()
    labelled("why", plan.scaling)
    labelled("order", order_text(plan, spec))
    if full:
        show_frontier(out, plan, spec.goals, preview)
    if startup := next((item for item in plan.assumptions if item.name == "startup_s"), None) if chosen.duration_s else None:
        assert chosen.finish_s
        labelled("time", f"{span_range(chosen.finish_s)}, of it about {span(float(startup.value))} start-up, which is billed")
    if preview.bill and not full:
        labelled("bill", bill_text(preview.bill))
        labelled("fallback", fallback_text(preview.bill))
    labelled("rate", rate_text(chosen, plan.facts))
    labelled("options", "\n".join(map(option_text, plan.options)))
    labelled("tightest", tightest_of(spec, chosen))
    labelled("storage", storage_text(plan.machine))
    labelled("prices", list_price("machine-hour", chosen.candidate))
    ranges = "; ranges are p10 to p90" if chosen.duration_s and chosen.evidence != "prior only" else ""
    labelled("evidence", evidence(chosen.evidence) + ranges)
    for text in quota_words(preview) if full else filter(None, [quota_increases(preview)]):
        labelled("quota", text)
    if preview.bill and full:
        show_bill(out, preview.bill)


def order_text(plan: SizingPlan, spec: Spec) -> str:
    """What the order of places or capacity modes costs, or that only on-demand capacity was considered; empty where neither applies."""
    chosen = plan.fits[0]
    place = spec.infra.places[chosen.candidate.place]
    priced = [(fit.cost_usd.p50, rank, fit) for rank, fit in enumerate(plan.fits, 1) if fit.cost_usd and not fit.not_buildable]
    if chosen.cost_usd and plan.optimize_for == "cost" and priced:
        cost, rank, cheapest = min(priced, key=lambda row: row[:2])
        c = cheapest.candidate
        saved = 1 - cost / chosen.cost_usd.p50
        if saved >= MIN_SAVING and (c.place, c.capacity) != (chosen.candidate.place, chosen.candidate.capacity):
            key = "capacity" if c.place == chosen.candidate.place else "infra"
            where = ", ".join(filter(None, (machines_and_parts(c), c.region, c.capacity)))
            return f"`{key}: {{ordered: ...}}` ranks it first; #{rank} ({where}) costs {percent(saved)} less"
    if "capacity" not in place.model_fields_set and profile(place.cloud).sells("spot"):
        return "only on-demand capacity was considered (default); `capacity: {ordered: [spot, on-demand]}` also considers spot"
    return ""


def show_frontier(out: Console, plan: SizingPlan, goals: Goals | None = None, preview: StackPreview | None = None) -> None:
    """The Pareto frontier as a table, or as a sentence where the choice is its only point."""
    if text := frontier_text(plan, goals):
        print_labelled(out, "frontier", text)
        return
    heading(out, "Cost/time Pareto frontier, machines only")
    rows = frontier_rows(plan, goals, preview=preview)
    out.print(table(FRONTIER, rows, right=("time", "USD", "memory headroom"), whole=("rank",)))
    out.print()


def _ranking(lines: list[Group], preview: StackPreview, it: WorkloadFacts, serving: bool, width: int) -> Text:
    is_wide = width >= WIDTH
    trained = ("time (p10 to p90)", "USD/h", "machines, USD (p10 to p90)") if is_wide else ("time", "USD/h", "machines, USD")
    whole = it.unit != "token"
    served = ("latency", f"{UNITS[it.unit].plural}/s" if it.unit == "image" else "samples/s") if whole else ("TTFT", "TPOT")
    metrics = (*served, "USD/h", "USD/month") if serving else trained
    rows = []
    for line in lines:
        fit, c = line.fit, line.fit.candidate
        run = span_range(fit.finish_s) if is_wide else span(fit.time_s)
        each = span(fit.speed.tpot_s) if fit.speed.tpot_s else "-"
        second = f"{(fit.speed.samples_per_s or 0) * c.replicas:,.1f}" if whole else each
        time = (span(fit.speed.ttft_s), second) if serving else (run,)
        cost = money_range(fit.cost_usd) if is_wide or not fit.cost_usd else money(fit.cost_usd.p50)
        costs = (money(fit.usd_per_hour, 2), cost)
        fabric = c.fabric.upper() if c.nodes > 1 and c.fabric != "none" else ""
        replicas = plural(c.replicas, "replica") if c.max_replicas > 1 else ""
        capacity = f"{c.capacity} {c.capacity_id}".strip()
        details = (accelerators(c), replicas, fabric, region(c), capacity, line.elsewhere, preview.refusal(line.rank))
        rows.append(((str(line.rank), machines(c), percent(fit.memory.fill), *time, *costs), ", ".join(filter(None, details))))
    return ranked(rows, ("#", "machines", "memory", *metrics), width)


def show_misses(out: Console, plan: SizingPlan, lines: int | None = None) -> None:
    """The nearest rejected candidate of each machine, with its failed constraints and remedy. lines: of each text."""
    near = nearest_misses(plan, MISSES)
    if near:
        out.print()
        print_labelled(out, "rejected", rejected_text(plan), max_lines=lines)
        heading(out, "nearest rejected candidates")
    for miss in near:
        out.print(f"{' + '.join(map(machines_and_parts, (miss.candidate, *miss.further)))}, {where_of(miss)}")
        print_labelled(out, "  fails", "\n".join(map(rejection_text, miss.rejections)), max_lines=lines)
        print_labelled(out, "  remedy", candidate_remedy(miss), max_lines=lines)


def where_of(item: Fit | Rejected) -> str:
    return ", ".join(filter(None, [item.candidate.region, item.candidate.capacity]))
