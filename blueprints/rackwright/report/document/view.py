"""Contents of a report, laid out by the HTML and Markdown templates. Reads plan, stack and bill; computes no number."""

from dataclasses import dataclass
from datetime import date

from rackwright.cost import Bill
from rackwright.report.alternatives import frontier_rows, goodput_text, rejection_rows
from rackwright.report.document.sections import EconomicsSection, MachineSection, economics_section, machine_section
from rackwright.report.goals import Goal, limits, requested_goals, tightest
from rackwright.report.groups import Group, cheapest, groups, region, runner_up
from rackwright.report.terminal.plan import by_use, cents, each, facts, no_price, where_of
from rackwright.sizing.economics.serving import Economics
from rackwright.sizing.plan import Assumption, Candidate, Fit, Rejected, SizingPlan
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
from rackwright.wording.plan_text import economics_with_text, with_text
from rackwright.wording.rejections import candidate_remedy, rejection_text
from rackwright.workflow.stack_preview import StackPreview, doubts, quota_words

REJECTIONS_SHOWN = 40
RANKS_SHOWN = 10
FRONTIER_SHOWN = 8


@dataclass(frozen=True)
class Card:
    """One candidate on the first page: role, machines, place, then (name, text) lines."""

    role: str
    what: str
    where: tuple[str, str]
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class BillRow:
    what: str
    quantity: str
    each: str
    dated: str
    hourly: str
    total: str


@dataclass(frozen=True)
class BillView:
    covers: str
    rows: tuple[BillRow, ...]
    hourly: str
    total: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ReportView:
    title: str
    verdict: str
    under: str
    workload: str
    requested: str
    cards: tuple[Card, ...]
    goals: tuple[Goal, ...]
    assumed: tuple[tuple[str, str], ...]
    reason: str
    frontier: tuple[tuple[str, ...], ...]
    causes: tuple[tuple[str, ...], ...]
    warnings: tuple[tuple[str, str], ...]
    before_you_build: tuple[tuple[str, str], ...]
    bill: BillView | None
    misses: tuple[tuple[str, str, str, str], ...]
    rejections: tuple[tuple[str, str, str, str], ...]
    rejected_count: int
    assumptions: tuple[Assumption, ...]
    ranking: tuple[tuple[str, ...], ...]
    fits_count: int
    serving: bool
    feasible: bool
    made_on: str
    catalog_digest: str
    machine: MachineSection | None
    economics: EconomicsSection | None


def view(spec: Spec, plan: SizingPlan, preview: StackPreview, today: date, economics: Economics | None = None) -> ReportView:
    """Contents of a report. preview: stack and bill of the chosen fit. economics: of a chosen fit that serves."""
    plan = with_text(plan)
    chosen = plan.chosen
    return ReportView(
        title=plan.spec,
        verdict=_verdict(plan),
        under=_subtitle(plan, preview.bill),
        workload=facts(plan),
        requested=requested_goals(spec),
        cards=_cards(spec, plan, preview),
        goals=limits(spec, chosen, preview.bill) if chosen else (),
        assumed=_assumed(chosen, preview) if chosen else (),
        reason=plan.scaling,
        frontier=tuple(frontier_rows(plan, spec.goals, FRONTIER_SHOWN, preview)),
        causes=tuple(rejection_rows(plan)),
        warnings=tuple((str(level), words) for level, words in doubts(plan, preview)),
        before_you_build=tuple((problem.code, problem.advice) for problem in preview.before_you_build),
        bill=_bill(preview.bill) if preview.bill else None,
        misses=tuple(_rejection(miss) for miss in nearest_misses(plan)) if not chosen else (),
        rejections=tuple(_rejection(item) for item in plan.rejected[:REJECTIONS_SHOWN]),
        rejected_count=len(plan.rejected),
        assumptions=tuple(map(readable, plan.assumptions)),
        ranking=tuple(_rank(group, preview.refusal(group.rank)) for group in groups(plan.fits)[:RANKS_SHOWN]),
        fits_count=len(plan.fits),
        serving=chosen is not None and chosen.duration_s is None,
        feasible=chosen is not None,
        made_on=today.isoformat(),
        catalog_digest=plan.catalog_digest,
        machine=machine_section(plan.machine),
        economics=economics_section(economics_with_text(economics) if economics else None),
    )


def _verdict(plan: SizingPlan) -> str:
    chosen = plan.chosen
    if chosen is None:
        return "No candidate meets every goal."
    return f"{machines(chosen.candidate)} in {region(chosen.candidate)}, {chosen.candidate.capacity}"


def _subtitle(plan: SizingPlan, bill: Bill | None) -> str:
    """The sentence below the verdict: duration and total cost."""
    chosen = plan.chosen
    if chosen is None:
        return f"{plan.considered:,} configurations were evaluated. The nearest candidates and what would make them fit are listed below."
    total = usd(bill.total_usd, 0) if bill else usd(chosen.cost_usd.p50 if chosen.cost_usd else None, 0)
    scope = "total of the bill" if bill else "machines only"
    if chosen.duration_s is None:
        return f"About {total} a month, {scope}, at {plural(chosen.candidate.replicas, 'replica')}."
    return f"About {hours(chosen.time_s)} and {total}, {scope}."


def time_of(fit: Fit) -> str:
    if fit.finish_s is not None:
        return span_range(fit.finish_s) + (f", including {span(fit.wait_s.p50)} in the queue" if fit.wait_s else "")
    return f"first token {span(fit.speed.ttft_s)}, then {span(fit.speed.tpot_s)} each"


def _cards(spec: Spec, plan: SizingPlan, preview: StackPreview) -> tuple[Card, ...]:
    cards = [_card("Chosen", plan.chosen, spec, preview.refusal(1))] if plan.chosen else []
    if second := runner_up(plan.fits):
        cards.append(_card(f"Runner-up (rank {second[0]})", second[1], spec, preview.refusal(second[0])))
    if miss := cheapest(plan.rejected):
        cards.append(_rejected_card(miss))
    return tuple(cards)


def _card(role: str, fit: Fit, spec: Spec, refusal: str) -> Card:
    lines = (
        ("Build", refusal),
        ("Latency" if fit.duration_s is None else "Time", time_of(fit)),
        ("Machines cost", usd_range(fit.cost_usd) + (" a month" if fit.duration_s is None and fit.cost_usd else "")),
        ("Hourly cost", f"{usd(fit.usd_per_hour, 2)} per hour" if fit.usd_per_hour is not None else UNKNOWN),
        ("Memory filled", f"{percent(fit.memory.fill)} of {gib(fit.memory.capacity_bytes)} each"),
        ("Parallel layout", _spread(fit.candidate)),
        ("Goodput", goodput_text(fit)),
        ("Tightest constraint", tightest(limits(spec, fit))),
    )
    return Card(role, machines(fit.candidate), _place(fit.candidate), tuple(line for line in lines if line[1]))


def _rejected_card(miss: Rejected) -> Card:
    lines = (
        ("Time", span(miss.duration_s) if miss.duration_s else ""),
        ("Machines cost", usd(miss.cost_usd)),
        ("Failed constraints", "; ".join(map(rejection_text, miss.rejections))),
        ("Would fit with", candidate_remedy(miss)),
    )
    return Card("Cheapest rejected", machines(miss.candidate), _place(miss.candidate), tuple(line for line in lines if line[1]))


def _place(candidate: Candidate) -> tuple[str, str]:
    return accelerators(candidate), f"{region(candidate)}, {candidate.capacity}"


def _spread(candidate: Candidate) -> str:
    copies = f"{plural(candidate.replicas, 'replica')} (up to {candidate.max_replicas}) of " if candidate.max_replicas > 1 else ""
    fabric = f" over {candidate.fabric.upper()}" if candidate.nodes > 1 and candidate.fabric != "none" else ""
    return f"{copies}{candidate.parallelism}{fabric}, {candidate.precision}"


def _assumed(fit: Fit, preview: StackPreview) -> tuple[tuple[str, str], ...]:
    chosen = fit.candidate
    price, source = list_price("machine and hour", chosen), chosen.price_source or UNKNOWN
    quota = [("Quota", words) for words in quota_words(preview)] or [("Quota", f"{UNKNOWN} for {chosen.machine}")]
    return (*quota, ("Price", price), ("Price source", source), ("Evidence", evidence(fit.evidence)))


def _bill(bill: Bill) -> BillView:
    rows = tuple(
        BillRow(line.what, line.quantity_words, each(line), line.price_date or UNKNOWN, cents(line.hourly_usd), cents(line.total_usd))
        for line in bill.lines
        if line.total_usd is not None
    )
    used = ", ".join(f"{line.what} ({line.price_words})" for line in by_use(bill))
    missing = no_price(bill)
    notes = (f"Billed by usage, not in the total: {used}." if used else "", f"{missing[0].upper()}{missing[1:]}." if missing else "")
    return BillView(bill.covers, rows, cents(bill.hourly_usd), cents(bill.total_usd), tuple(filter(None, notes)))


def _rejection(item: Rejected) -> tuple[str, str, str, str]:
    return machines(item.candidate), where_of(item), "; ".join(map(rejection_text, item.rejections)), candidate_remedy(item)


def _rank(group: Group, refusal: str) -> tuple[str, ...]:
    fit, chosen = group.fit, group.fit.candidate
    where = ", ".join(filter(None, [f"{region(chosen)}, {chosen.capacity}", group.elsewhere, refusal]))
    costs = (money(fit.cost_usd.p50) if fit.cost_usd else UNKNOWN, money(fit.usd_per_hour, 2))
    return (str(group.rank), machines(chosen), accelerators(chosen), where, percent(fit.memory.fill), time_of(fit), *costs)
