"""Why one of two candidates ranks before the other: the first criterion of the ranking in which they differ."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rackwright.report.intervals import with_p80
from rackwright.sizing.metrics import Interval, Memory, Speed
from rackwright.sizing.node.requirements import NodeRequirements
from rackwright.sizing.plan import Candidate, Fit, Rejected, SizingPlan
from rackwright.sizing.rejection import Rejection
from rackwright.sizing.selection.near_ties import is_already_owned, near_ties, objective
from rackwright.spec.spec import Spec
from rackwright.wording.formatting import span, usd
from rackwright.wording.rationale import shortfall
from rackwright.workflow.stack.stack_preview import StackPreview

EQUAL = 1e-6
"""Relative difference up to which an objective is equal."""


@dataclass(frozen=True)
class Side:
    """A candidate with what is known about it. rank: None for a rejected one; refusal: why this release cannot build it; startup_s: of a
    run, which is billed, or the cold start of a server."""

    item: Fit | Rejected
    rank: int | None = None
    memory: Memory | None = None
    speed: Speed = field(default_factory=Speed)
    evidence: str = ""
    preview: StackPreview | None = None
    machine: NodeRequirements | None = None
    refusal: str = ""
    startup_s: float | None = None

    @property
    def candidate(self) -> Candidate:
        return self.item.candidate

    @property
    def name(self) -> str:
        return f"#{self.rank}" if self.rank else self.candidate.label

    @property
    def rejections(self) -> tuple[Rejection, ...]:
        return self.item.overruled if isinstance(self.item, Fit) else self.item.rejections

    @property
    def cost_usd(self) -> Interval | float | None:
        return self.item.cost_usd

    @property
    def paid_usd(self) -> Interval | float | None:
        """Cost with the transfers of a fit."""
        return self.item.paid_usd if isinstance(self.item, Fit) else self.item.cost_usd

    @property
    def finish_s(self) -> Interval | float | None:
        return self.item.finish_s if isinstance(self.item, Fit) else self.item.duration_s


def deciding_text(a: Side, b: Side, spec: Spec, plan: SizingPlan) -> str:
    """One or two sentences. A candidate that fails is explained by the constraints that it fails."""
    failed = [side for side in (a, b) if side.rank is None]
    if failed:
        return ". ".join(f"{side.name} fails: {'; '.join(map(shortfall, side.rejections))}" for side in failed) + "."
    first, second = sorted((a, b), key=lambda side: side.rank or 0)
    return f"{first.name} ranks before {second.name}: {next(_criteria(first, second, spec, plan))}."


def _criteria(first: Side, second: Side, spec: Spec, plan: SizingPlan) -> Iterator[str]:
    """Criteria in which the first is better, in the order of the ranking."""
    c, d = first.candidate, second.candidate
    if second.refusal and not first.refusal:
        yield f"{second.name} is {second.refusal}"
    if len(first.rejections) < len(second.rejections):
        yield f"{second.name} breaks a goal, which its pin allows: {'; '.join(map(shortfall, second.rejections))}"
    if first.cost_usd is not None and second.cost_usd is None:
        yield f"the price of {second.name} is not published, and candidates without a price rank last"
    if spec.infra.ordered and c.place != d.place:
        yield f"`infra.ordered` lists its place ({spec.infra.places[c.place].cloud}) first"
    if c.capacity != d.capacity and _position(first, spec) < _position(second, spec):
        yield f"`capacity` lists {c.capacity} before {d.capacity}"
    if plan.facts.kind != "serve" and plan.optimize_for != "time" and d.is_spread and not c.is_spread:
        yield "one machine does not depend on a network, and ranks before several unless goals.optimize_for is time"
    yield _objective(first, second, plan)


def _position(side: Side, spec: Spec) -> int:
    """Position of the capacity mode in its place; entries of blocks and reservations are named by their key."""
    capacity = spec.infra.places[side.candidate.place].capacity
    entries = [str(entry) for entry in capacity.ordered or capacity.fallback]
    return next((i for i, entry in enumerate(entries) if entry == side.candidate.capacity), 0)


def _objective(first: Side, second: Side, plan: SizingPlan) -> str:
    """Cost and time of both, each with the p80 beside its median, and whether the difference is within the uncertainty."""
    parts, ratios = [], []
    what = "cost" if (first.paid_usd, second.paid_usd) == (first.cost_usd, second.cost_usd) else "cost with transfers"
    for name, shown, pair in ((what, usd, (first.paid_usd, second.paid_usd)), ("time", span, (first.finish_s, second.finish_s))):
        one, other = pair
        if isinstance(one, Interval) and isinstance(other, Interval):
            parts.append(f"{name} {with_p80(one, shown)} against {with_p80(other, shown)}")
            ratios.append(one.p50 / other.p50)
    if first.speed.ttft_s and second.speed.ttft_s:
        name = "first token" if plan.facts.unit == "token" else "answer under load"
        parts.append(f"{name} {_latency(first)} against {_latency(second)}")
        ratios.append(first.speed.ttft_s / second.speed.ttft_s)
    if plan.optimize_for == "time":
        parts.reverse()
    if all(abs(ratio - 1) <= EQUAL for ratio in ratios):
        parts[-1:] = [f"{parts[-1]}; {_tie(first.candidate, second.candidate)}"] if parts else []
    return f"goals.optimize_for is {plan.optimize_for}; {', '.join(parts)}{_uncertainty(first, second, plan.optimize_for)}"


def _uncertainty(first: Side, second: Side, optimize_for: str) -> str:
    """Whether both are near ties of the objective, as in the ranking, and what then ranks the first one first; empty where they are not."""
    fits = [side.item for side in (first, second) if isinstance(side.item, Fit)]
    if len(fits) < 2 or not (found := near_ties(fits, optimize_for)):
        return ""
    one, other = (objective(fit, optimize_for) for fit in found)
    if abs(one / other - 1) <= EQUAL:
        return ""
    tied = "; the difference is within the uncertainty of the estimate"
    return tied if one < other else f"{tied}, so {_tie_reason(*found, optimize_for)} ranks first"


def _tie_reason(one: Fit, other: Fit, optimize_for: str) -> str:
    """The criterion of `near_ties.tie_order` in which the first is better."""
    if is_already_owned(one) != is_already_owned(other):
        return "the one on capacity that is already paid for"
    c, d = one.candidate, other.candidate
    is_smaller = (c.nodes, c.accelerators) < (d.nodes, d.accelerators)
    return "the smaller one" if is_smaller and optimize_for == "cost" else "the cheaper one"


def _latency(side: Side) -> str:
    """`389 ms at p80 (p50 214 ms)`."""
    s = side.speed
    return span(s.ttft_s) + (f" at p80 (p50 {span(s.ttft_p50_s)})" if s.ttft_p50_s else " at p80")


def _tie(c: Candidate, d: Candidate) -> str:
    """The criterion behind equal cost and time."""
    if c.price_region == c.region and d.price_region != d.region:
        return f"the price of {d.region} is that of {d.price_region}"
    if c.accelerators_per_node < d.accelerators_per_node:
        return "of equal candidates the one with smaller machines ranks first, because it scales in smaller steps"
    return "equal candidates are in order of their names"
