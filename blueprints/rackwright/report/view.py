"""What a report says, once; HTML and Markdown only lay it out. Reads the SizingPlan, the StackPlan and the bill, computes nothing new."""

from dataclasses import dataclass
from datetime import date

from rackwright.cost import Bill
from rackwright.report.words import UNKNOWN, count, gib, percent, span, span_range, usd, usd_range
from rackwright.sizing.plan import Fit, Rejected, SizingPlan
from rackwright.spec.spec import Spec

REJECTIONS_SHOWN = 40


@dataclass(frozen=True)
class Card:
    """One candidate on page one."""

    role: str
    what: str
    where: str
    time: str
    cost: str
    per_hour: str
    memory: str
    words: str


@dataclass(frozen=True)
class Goal:
    """A limit of the spec beside what was chosen: the pessimistic side of the interval is what counts."""

    name: str
    limit: str
    expected: str
    share: float | None


@dataclass(frozen=True)
class View:
    title: str
    verdict: str
    workload: str
    cards: tuple[Card, ...]
    goals: tuple[Goal, ...]
    assumed: tuple[tuple[str, str], ...]
    reason: str
    warnings: tuple[str, ...]
    bill: Bill | None
    no_bill: str
    rejections: tuple[tuple[str, str, str], ...]
    rejected_count: int
    assumptions: tuple[tuple[str, str, str], ...]
    ranking: tuple[tuple[str, ...], ...]
    serving: bool
    feasible: bool
    made_on: str
    catalog_digest: str


def view(spec: Spec, plan: SizingPlan, bill: Bill | None, no_bill: str, quota: tuple[tuple[str, str], ...], today: date) -> View:
    chosen = plan.chosen
    serving = chosen is not None and chosen.duration_s is None
    return View(
        title=plan.spec,
        verdict=_verdict(plan, serving),
        workload=_workload(plan),
        cards=_cards(plan),
        goals=_goals(spec, chosen) if chosen else (),
        assumed=(*quota, *_prices(chosen)) if chosen else (),
        reason=" ".join(filter(None, [plan.scaling, chosen.why if chosen else ""])),
        warnings=(*plan.warnings, *(chosen.warnings if chosen else ())),
        bill=bill,
        no_bill=no_bill,
        rejections=tuple(_rejection(item) for item in plan.rejected[:REJECTIONS_SHOWN]),
        rejected_count=len(plan.rejected),
        assumptions=tuple((item.name.replace("_", " "), f"{item.value} {item.unit}".strip(), item.source) for item in plan.assumptions),
        ranking=tuple(_rank(rank, fit) for rank, fit in enumerate(plan.fits[:10], 1)),
        serving=serving,
        feasible=chosen is not None,
        made_on=today.isoformat(),
        catalog_digest=plan.catalog_digest,
    )


def _verdict(plan: SizingPlan, serving: bool) -> str:
    chosen = plan.chosen
    if chosen is None:
        return f"None of {plan.considered:,} candidates meets every goal."
    what = f"{what_of(chosen)} in {chosen.candidate.region}, {chosen.candidate.capacity}"
    if serving:
        return f"{what}: about {usd(chosen.cost_usd.p50, 0)} a month."
    return f"{what}: {span(chosen.duration_s.p50 if chosen.duration_s else None)}, about {usd(chosen.cost_usd.p50, 0)}."


def _workload(plan: SizingPlan) -> str:
    facts = plan.facts
    active = "" if facts.active_parameters == facts.parameters else f", {count(facts.active_parameters)} of them active"
    tokens = f", {count(facts.tokens)} tokens" if facts.tokens else ""
    return f"{facts.name}: {facts.kind} of {facts.model}, {count(facts.parameters)} parameters{active}{tokens}"


def what_of(item: Fit | Rejected) -> str:
    chosen = item.candidate
    return f"{chosen.slices} × {chosen.accelerator} {chosen.topology}" if chosen.topology else f"{chosen.nodes} × {chosen.machine}"


def time_of(fit: Fit) -> str:
    if fit.duration_s is not None:
        return span_range(fit.duration_s)
    return f"first token {span(fit.speed.ttft_s)}, then {span(fit.speed.tpot_s)} each"


def _cards(plan: SizingPlan) -> tuple[Card, ...]:
    cards = [_card(role, fit) for role, fit in zip(("Chosen", "Runner-up"), plan.fits, strict=False)]
    cheapest = min((r for r in plan.rejected if r.cost_usd), key=lambda r: (r.cost_usd, r.candidate.label), default=None)
    if cheapest:
        place = f"{cheapest.candidate.region}, {cheapest.candidate.capacity}"
        time = span(cheapest.duration_s) if cheapest.duration_s else ""
        why = "; ".join(map(str, cheapest.rejections))
        cards.append(Card("Cheapest rejected", what_of(cheapest), place, time, usd(cheapest.cost_usd, 0), "", "", why))
    return tuple(cards)


def _card(role: str, fit: Fit) -> Card:
    chosen = fit.candidate
    return Card(
        role=role,
        what=what_of(fit),
        where=f"{chosen.region}, {chosen.capacity}",
        time=time_of(fit),
        cost=usd_range(fit.cost_usd) + (" a month" if fit.duration_s is None else ""),
        per_hour=f"{usd(fit.usd_per_hour)} per hour",
        memory=f"{percent(fit.memory.fill)} of {gib(fit.memory.capacity_bytes)}",
        words=f"{chosen.parallelism}. Limited by {fit.binding}." if fit.binding else f"{chosen.parallelism}.",
    )


def _goals(spec: Spec, fit: Fit) -> tuple[Goal, ...]:
    goals, workload = [], spec.workload
    if spec.goals.max_duration and fit.duration_s:
        limit = spec.goals.max_duration
        goals.append(Goal("Duration", span(limit), span_range(fit.duration_s), fit.duration_s.p90 / limit))
    if spec.goals.max_cost:
        limit = spec.goals.max_cost
        goals.append(Goal("Cost", usd(limit, 0), usd_range(fit.cost_usd), fit.cost_usd.p90 / limit))
    for name, label, expected in (("ttft", "First token", fit.speed.ttft_s), ("tpot", "Each token", fit.speed.tpot_s)):
        goal = getattr(workload, name, None)
        if goal and expected:
            goals.append(Goal(f"{label}, p{goal.percentile}", span(goal.target), span(expected), expected / goal.target))
    allowed = fit.memory.max_fill
    goals.append(Goal("Accelerator memory", f"{percent(allowed)} filled", percent(fit.memory.fill), fit.memory.fill / allowed))
    return tuple(goals)


def _prices(fit: Fit) -> tuple[tuple[str, str], ...]:
    chosen = fit.candidate
    price = usd(chosen.price_usd_per_hour, 2) + (" per node and hour" if chosen.price_usd_per_hour is not None else "")
    words = ", ".join(filter(None, [chosen.price_region, chosen.price_as_of]))
    return (("Price", f"{price} ({words})" if words else price), ("Price source", chosen.price_source or UNKNOWN), ("Evidence", fit.evidence))


def _rejection(item: Rejected) -> tuple[str, str, str]:
    why = "; ".join(map(str, item.rejections))
    remedy = item.remedy or next((r.remedy for r in item.rejections if r.remedy), "")
    return f"{what_of(item)}, {item.candidate.region}, {item.candidate.capacity}", why, remedy


def _rank(rank: int, fit: Fit) -> tuple[str, ...]:
    chosen = fit.candidate
    return (str(rank), what_of(fit), f"{chosen.region}, {chosen.capacity}", percent(fit.memory.fill), time_of(fit), usd_range(fit.cost_usd))
