"""Contents of a report, laid out by the HTML and Markdown templates. Reads plan, stack and bill; computes no number."""

from datetime import date
from typing import Any

from rackwright.cost import Bill
from rackwright.report.alternatives import frontier_rows, goodput_text, rejection_rows
from rackwright.report.document.several import several_contents
from rackwright.report.goals import limits, requested_goals, tightest_of
from rackwright.report.groups import Group, cheapest, groups, region, runner_up
from rackwright.report.preview_text import doubts, quota_words
from rackwright.report.terminal.bill import bill_rows, bill_sums, by_usage, examples, fallback_text, no_price
from rackwright.report.terminal.economics import SOLD, comparison, economics_lines, field_report_text, loads
from rackwright.report.terminal.node import requirement_lines, requirement_rows
from rackwright.report.terminal.plan import facts, open_item_rows, where_of
from rackwright.sizing.economics.serving import Economics
from rackwright.sizing.node.requirements import NodeRequirements
from rackwright.sizing.plan import Candidate, Fit, Rejected, SizingPlan, WorkloadFacts
from rackwright.sizing.selection.ranking import nearest_misses
from rackwright.spec.spec import Spec
from rackwright.wording.formatting import (
    UNKNOWN,
    accelerators,
    evidence,
    gib,
    hours,
    list_price,
    machines,
    money,
    percent,
    plural,
    readable,
    span,
    span_range,
    usd,
    usd_range,
)
from rackwright.wording.option_effects import option_text
from rackwright.wording.plan_text import economics_with_text, with_text
from rackwright.wording.rejections import candidate_remedy, rejection_text
from rackwright.wording.unit_rates import rate_text
from rackwright.workflow.stack.stack_preview import StackPreview

REJECTIONS_SHOWN = 40
RANKS_SHOWN = 10
FRONTIER_SHOWN = 8


def contents(spec: Spec, plan: SizingPlan, preview: StackPreview, today: date, economics: Economics | None = None) -> dict[str, Any]:
    """Variables of both templates. preview: stack and bill of the chosen fit. economics: of a chosen fit that serves."""
    plan = with_text(plan)
    chosen = plan.chosen
    several = several_contents(spec, plan, preview.bill) if spec.is_several else {}
    return {
        "title": plan.spec,
        "verdict": f"{machines(chosen.candidate)} in {_place(chosen.candidate)}" if chosen else "No candidate meets every goal.",
        "subtitle": _subtitle(plan, preview.bill),
        "workload": facts(plan),
        "requested": requested_goals(spec),
        "cards": _cards(spec, plan, preview),
        "goals": limits(spec, chosen, preview.bill) if chosen else (),
        "assumed": [*_assumed(chosen, preview), *(("Option", option_text(effect)) for effect in plan.options)] if chosen else (),
        "reason": plan.scaling if chosen else "",
        "frontier": frontier_rows(plan, spec.goals, FRONTIER_SHOWN, preview),
        "rejection_groups": rejection_rows(plan),
        "warnings": doubts(plan, preview),
        "before_you_build": [(code, text) for code, text, _ in open_item_rows(preview)],
        "bill": _bill(preview.bill) if preview.bill else None,
        "nearest_misses": [_rejection(miss) for miss in nearest_misses(plan)] if not chosen else [],
        "rejections": [_rejection(miss) for miss in plan.rejected[:REJECTIONS_SHOWN]],
        "rejected_count": len(plan.rejected),
        "assumptions": list(map(readable, plan.assumptions)),
        "ranking": [_ranking_row(group, preview.refusal(group.rank)) for group in groups(plan.fits)[:RANKS_SHOWN]],
        "fits_count": len(plan.fits),
        "serving": chosen is not None and chosen.duration_s is None,
        "date": today.isoformat(),
        "catalog_digest": plan.catalog_digest,
        "node": _node(plan.machine) if plan.machine else None,
        "economics": _economics(economics_with_text(economics)) if economics else None,
    } | several


def _subtitle(plan: SizingPlan, bill: Bill | None) -> str:
    """The sentence below the verdict: duration and total cost."""
    chosen = plan.chosen
    if chosen is None:
        return f"{plan.considered:,} configurations were evaluated. The nearest candidates and what would make them fit are listed below."
    total = (
        (usd(bill.total_usd, 0) if bill.has_prices else "an unknown amount")
        if bill
        else usd(chosen.cost_usd.p50 if chosen.cost_usd else None, 0)
    )
    scope = "total of the bill" if bill else "machines only"
    if chosen.duration_s is None:
        return f"About {total} a month, {scope}, at {plural(chosen.candidate.replicas, 'replica')}."
    return f"About {hours(chosen.time_s)} and {total}, {scope}."


def _time(fit: Fit) -> str:
    if fit.finish_s is not None:
        return span_range(fit.finish_s) + (f", including {span(fit.wait_s.p50)} in the queue" if fit.wait_s else "")
    if fit.speed.unloaded_s is not None:
        return f"answer {span(fit.speed.ttft_s)} under load"
    return f"first token {span(fit.speed.ttft_s)}" + (f", then {span(fit.speed.tpot_s)} each" if fit.speed.tpot_s else "")


def _cards(spec: Spec, plan: SizingPlan, preview: StackPreview) -> list[dict[str, Any]]:
    """The choice, its runner-up, and the cheapest rejected candidate."""
    if plan.chosen and plan.further:
        parts = enumerate(zip(plan.each_workload, plan.chosen.each_workload, strict=True))
        return [_card(f.workload, f.candidate, _fit_lines(f, spec.of_workload(i), p.facts, preview.refusal(1))) for i, (p, f) in parts]
    cards = [_card("Chosen", plan.chosen.candidate, _fit_lines(plan.chosen, spec, plan.facts, preview.refusal(1)))] if plan.chosen else []
    if second := runner_up(plan.fits):
        lines = _fit_lines(second[1], spec, plan.facts, preview.refusal(second[0]))
        cards.append(_card(f"Runner-up (rank {second[0]})", second[1].candidate, lines))
    if miss := cheapest(plan.rejected):
        lines = [
            ("Time", span(miss.duration_s) if miss.duration_s else ""),
            ("Machines cost", usd(miss.cost_usd)),
            ("Failed constraints", "; ".join(map(rejection_text, miss.rejections))),
            ("Meets them with", candidate_remedy(miss)),
        ]
        cards.append(_card("Cheapest rejected", miss.candidate, lines))
    return cards


def _card(role: str, candidate: Candidate, lines: list[tuple[str, str]]) -> dict[str, Any]:
    place = (accelerators(candidate), _place(candidate))
    return {"role": role, "machines": machines(candidate), "place": place, "lines": [line for line in lines if line[1]]}


def _fit_lines(fit: Fit, spec: Spec, it: WorkloadFacts, refusal: str) -> list[tuple[str, str]]:
    c = fit.candidate
    replicas = f"{plural(c.replicas, 'replica')} (up to {c.max_replicas}) of " if c.max_replicas > 1 else ""
    fabric = f" over {c.fabric.upper()}" if c.nodes > 1 and c.fabric != "none" else ""
    return [
        ("Build", refusal),
        ("Latency" if fit.duration_s is None else "Time", _time(fit)),
        ("Machines cost", usd_range(fit.cost_usd) + (" a month" if fit.duration_s is None and fit.cost_usd else "")),
        ("Hourly cost", f"{usd(fit.usd_per_hour, 2)} per hour" if fit.usd_per_hour is not None else UNKNOWN),
        ("Memory filled", f"{percent(fit.memory.fill)} of {gib(fit.memory.capacity_bytes)} each"),
        ("Parallel layout", f"{replicas}{c.parallelism}{fabric}, {c.precision}"),
        ("Goodput", goodput_text(fit)),
        ("Rate", rate_text(fit, it)),
        ("Tightest constraint", tightest_of(spec, fit)),
    ]


def _place(candidate: Candidate) -> str:
    return f"{region(candidate)}, {candidate.capacity}"


def _assumed(fit: Fit, preview: StackPreview) -> list[tuple[str, str]]:
    c = fit.candidate
    return [
        *(("Quota", text) for text in quota_words(preview) or [f"{UNKNOWN} for {c.machine}"]),
        ("Price", list_price("machine-hour", c)),
        ("Price source", c.price_source or UNKNOWN),
        ("Evidence", evidence(fit.evidence)),
    ]


def _bill(bill: Bill) -> dict[str, Any]:
    """covers: the period. rows: cells of `bill_rows`. hourly, total: sums in US dollars. notes: what the total leaves out."""
    usage, sentences = by_usage(bill, ", "), (examples(bill), no_price(bill), fallback_text(bill))
    notes = [f"Billed by usage, not in the total: {usage}." if usage else ""]
    notes += [f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences if sentence]
    sums = dict(zip(("hourly", "total"), bill_sums(bill), strict=True))
    return {"covers": bill.covers, "rows": bill_rows(bill), "notes": list(filter(None, notes)), **sums}


def _rejection(miss: Rejected) -> tuple[str, str, str, str]:
    return (
        " + ".join(map(machines, (miss.candidate, *miss.further))),
        where_of(miss),
        "; ".join(map(rejection_text, miss.rejections)),
        candidate_remedy(miss),
    )


def _ranking_row(group: Group, refusal: str) -> tuple[str, ...]:
    """(rank, machines, accelerators, place, memory, time, USD, USD per hour)."""
    fit, c = group.fit, group.fit.candidate
    place = ", ".join(filter(None, [_place(c), group.elsewhere, refusal]))
    costs = (money(fit.cost_usd.p50) if fit.cost_usd else UNKNOWN, money(fit.usd_per_hour, 2))
    return (str(group.rank), machines(c), accelerators(c), place, percent(fit.memory.fill), _time(fit), *costs)


def _node(found: NodeRequirements) -> dict[str, Any]:
    """rows: name, needed, available, reason. lines: (label, text)."""
    lines = [(label.capitalize(), text) for label, text in requirement_lines(found) if label != "node"]
    return {"rows": list(requirement_rows(found)), "lines": lines}


def _economics(e: Economics) -> dict[str, Any]:
    """sold: the unit. loads: cells of the load table. comparison: cells per accelerator. reported: a published ratio, or ""."""
    return {
        "sold": SOLD[e.unit],
        "lines": [("Scale to zero" if label == "zero" else label.capitalize(), text) for label, text in economics_lines(e)],
        "notes": e.warnings,
        "loads": loads(e),
        "comparison": list(comparison(e)),
        "reported": field_report_text(e),
    }
