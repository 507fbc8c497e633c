"""Rationale of a plan: why one machine or several, what the next smaller machine lacks, and what more machines buy."""

import math
from collections.abc import Iterator, Sequence

from rackwright.clouds import profile
from rackwright.sizing.evaluation.evaluate import p80
from rackwright.sizing.plan import Candidate, Fit, Rejected, SizingPlan
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.sizing.selection.near_ties import is_already_owned
from rackwright.sizing.selection.ranking import cheapest_without_pin
from rackwright.units import HOUR
from rackwright.wording.formatting import divided, span, tell_apart, usd
from rackwright.wording.rejections import explanation

OWN_WITHOUT_PRICE = "own servers without a price"
MIN_SPEED_UP = 0.95
"""Ratio of times above which more machines are not worth a sentence."""


def rationale(plan: SizingPlan) -> str:
    """Why the chosen candidate has one machine or several, with the numbers that decided it."""
    chosen = plan.chosen
    if chosen is None:
        return _nothing(plan.rejected)
    if chosen.candidate.pinned:
        return " ".join(_pinned(chosen, plan))
    tie = tuple(_near_tie(chosen, plan.near_tie, plan.optimize_for)) if plan.near_tie else ()
    if plan.facts.kind == "serve":
        return " ".join((*_replicas(chosen), *tie, *_smaller(chosen, plan.fits, plan.rejected)))
    if chosen.candidate.is_spread:
        return " ".join((*_horizontal(chosen, plan), *tie, *_larger(chosen, plan)))
    return " ".join((*_vertical(chosen, plan), *tie, *_smaller(chosen, plan.fits, plan.rejected), *_larger(chosen, plan)))


def _near_tie(chosen: Fit, better: Fit, optimize_for: str) -> Iterator[str]:
    """What a fit gains that is better within the uncertainty, with the p80 that decided, and why the chosen one ranks before it."""
    name = fit_name(better)
    if optimize_for == "cost" and better.paid_usd and chosen.paid_usd:
        values = f"{usd(better.paid_usd.p50)} (p80 {usd(p80(better.paid_usd))}) instead of {usd(chosen.paid_usd.p50)}"
        yield f"{name} costs {values}: equal within the uncertainty, so {_tie_reason(chosen, 'smaller')}."
        return
    finish = f" (p80 {span(p80(better.finish_s))})" if better.finish_s else ""
    values = f"{span(better.time_s)}{finish} instead of {span(chosen.time_s)}, for {usd(better.cost_usd.p50 if better.cost_usd else None)}"
    yield f"{name} takes {values}: as fast within the uncertainty, so {_tie_reason(chosen, 'cheaper')}."


def _tie_reason(chosen: Fit, advantage: str) -> str:
    return "the capacity that is already paid for ranks first" if is_already_owned(chosen) else f"the {advantage} one ranks first"


def candidate_name(c: Candidate) -> str:
    """`4 x p5.48xlarge (32 x NVIDIA H100 80GB SXM5)`."""
    if c.topology:
        return f"{c.slices} x {c.accelerator} {c.topology} ({c.nodes} x {c.machine})"
    return f"{c.nodes} x {c.machine} ({c.accelerators} x {c.accelerator}{divided(c)})"


def fit_name(fit: Fit) -> str:
    """The candidate, marked `(not buildable in this release)` where it is not."""
    return candidate_name(fit.candidate) + (f" ({fit.not_buildable.partition(':')[0]})" if fit.not_buildable else "")


def time_and_cost(fit: Fit) -> str:
    """`4.3 h for 8.02 USD`; of a server the cost of a month. Own servers may have no price in the spec."""
    if fit.cost_usd is None and profile(fit.candidate.cloud).is_owned:
        return f"{fit.finish_s.p50 / HOUR:,.1f} h ({OWN_WITHOUT_PRICE})" if fit.finish_s else OWN_WITHOUT_PRICE
    cost = usd(fit.cost_usd.p50) if fit.cost_usd else "an unpublished price"
    return f"{fit.finish_s.p50 / HOUR:,.1f} h for {cost}" if fit.finish_s else f"{cost} a month"


def compared_with(fit: Fit, chosen: Fit) -> str:
    """`49 % less time for 2 % more money`: what the fit gains and gives up against the chosen one."""
    ratio = fit.cost_usd.p50 / chosen.cost_usd.p50 if fit.cost_usd and chosen.cost_usd and chosen.cost_usd.p50 else None
    unpriced = OWN_WITHOUT_PRICE if fit.cost_usd is None and profile(fit.candidate.cloud).is_owned else "at an unpublished price"
    money = unpriced if ratio is None else f"for {_change(ratio, 'money')}"
    return f"{_change(fit.time_s / chosen.time_s, 'time')} {money}" if chosen.time_s else money.removeprefix("for ")


def _change(ratio: float, of: str) -> str:
    if abs(ratio - 1) < 0.005:
        return f"the same {of}"
    if ratio >= 2:
        return f"{ratio:,.1f} times the {of}"
    return f"{abs(ratio - 1) * 100:.0f} % {'more' if ratio > 1 else 'less'} {of}"


def _vertical(chosen: Fit, plan: SizingPlan) -> Iterator[str]:
    c = chosen.candidate
    yield f"Vertical: one {'slice is enough; its hosts share one interconnect' if c.topology else 'machine is enough'}."
    yield f"{candidate_name(c)} takes {time_and_cost(chosen)} and fills {chosen.memory.fill * 100:.0f} % of its accelerator memory."
    priced = (row for row in enumerate(plan.fits, 1) if row[1].cost_usd and not row[1].not_buildable)
    several = [(f.cost_usd.p50, rank, f) for rank, f in priced if f.cost_usd and f.candidate.is_spread]
    cost, rank, cheapest = min(several, key=lambda row: row[:2], default=(0.0, 0, chosen))
    if plan.optimize_for != "time" and chosen.cost_usd and rank and cost < chosen.cost_usd.p50:
        other = f"rank {rank}, {fit_name(cheapest)}, costs {usd(cost)} instead of {usd(chosen.cost_usd.p50)}"
        yield f"It ranks first because one machine does not depend on a network; {other}."


def _horizontal(chosen: Fit, plan: SizingPlan) -> Iterator[str]:
    c = chosen.candidate
    single = next((f for f in plan.fits if not f.candidate.is_spread), None)
    if c.capacity_id:
        yield f"Horizontal: {c.capacity_id} holds {c.nodes} machines, and the job uses all of them."
    elif single is not None:
        alone = f"{candidate_name(single.candidate)}: {time_and_cost(single)}"
        order = "goals.optimize_for is time" if plan.optimize_for == "time" else "places and capacity modes are ordered"
        order = "candidates without a published price rank last" if single.cost_usd is None else order
        order = f"that stack is {single.not_buildable.partition(':')[0]}" if single.not_buildable else order
        yield f"Horizontal although one machine ({alone}) meets the goals, because {order}."
    else:
        yield "Horizontal: no single machine meets the goals."
        yield from _alone(c, plan.rejected)
    fabric = "" if c.fabric == "none" else f" over {c.fabric.upper()}"
    yield f"{candidate_name(c)}{fabric}, spread as {c.parallelism}, takes {time_and_cost(chosen)}."
    smaller = (r for r in plan.rejected if _same_machine(r.candidate, c) and 1 < r.candidate.nodes < c.nodes)
    fewer = max(smaller, key=_nodes, default=None)
    if fewer is not None:
        yield f"With {fewer.candidate.nodes} machines: {shortfall(fewer.rejections[0])}."


def _alone(c: Candidate, rejected: Sequence[Rejected]) -> Iterator[str]:
    """The same machine alone, and the single machine that is nearest to the goals."""
    alone = [r for r in rejected if not r.candidate.is_spread and r.candidate.capacity == c.capacity and _has_numbers(r)]
    same = next((r for r in alone if r.candidate.machine == c.machine), None)
    near = next((r for r in alone if r.distance < float("inf")), None)
    for r in dict.fromkeys(filter(None, (same, near))):
        yield f"{candidate_name(r.candidate)}: {_shortfalls(r)}."


def _smaller(chosen: Fit, fits: Sequence[Fit], rejected: Sequence[Rejected]) -> Iterator[str]:
    """The cheapest candidate for the same work with less accelerator memory or fewer accelerators, one that can be built first; where none
    meets the goals, what the nearest one lacks."""
    c = chosen.candidate

    def smaller(item: Fit | Rejected) -> bool:
        o = item.candidate
        other = o.machine + o.topology != c.machine + c.topology and o.capacity == c.capacity
        less = _memory_bytes(o) < _memory_bytes(c) or o.accelerators < c.accelerators
        return other and (c.is_spread or not o.is_spread) and o.accelerator_memory_bytes > 0 and less

    priced = ((bool(f.not_buildable), f.cost_usd.p50, rank, f) for rank, f in enumerate(fits) if f.cost_usd and smaller(f))
    *_, fit = min(priced, key=lambda row: row[:3], default=(None,))
    if fit is not None:
        other = f"{time_and_cost(fit)}, {compared_with(fit, chosen)}"
        yield f"The next smaller, {fit_name(fit)}, also meets the goals: {other}."
        return
    misses = (r for r in rejected if smaller(r) and r.distance < math.inf)
    miss = min(misses, key=lambda r: (round(r.distance, 2), (r.candidate.price_usd_per_hour or 0.0) * r.candidate.nodes), default=None)
    if miss is not None:
        yield f"The next smaller, {candidate_name(miss.candidate)}: {_shortfalls(miss)}."


def _memory_bytes(c: Candidate) -> float:
    """Accelerator memory in all."""
    return c.accelerators * c.accelerator_memory_bytes


def _larger(chosen: Fit, plan: SizingPlan) -> Iterator[str]:
    c = chosen.candidate

    def larger(item: Fit | Rejected) -> bool:
        return _same_machine(item.candidate, c) and item.candidate.nodes > c.nodes

    fit: Fit | None = min(filter(larger, plan.fits), key=_nodes, default=None)
    miss: Rejected | None = min(filter(larger, plan.rejected), key=_nodes, default=None)
    if fit is not None:
        gain = "More machines save time" if fit.time_s < MIN_SPEED_UP * chosen.time_s else "More machines would only add a network"
        yield f"{gain}: {fit_name(fit)} takes {time_and_cost(fit)}, {compared_with(fit, chosen)}."
    elif miss is not None:
        yield f"Scaling out is not possible: {_shortfalls(miss)}."


def _nodes(item: Fit | Rejected) -> int:
    return item.candidate.nodes


def _same_machine(one: Candidate, other: Candidate) -> bool:
    """Whether two candidates differ in their number of machines alone, or in the chips of one kind of slice."""
    place = one.capacity == other.capacity and one.region == other.region and one.capacity_id == other.capacity_id
    same = one.accelerator == other.accelerator if one.topology and other.topology else one.machine == other.machine
    return place and same and one.slices == other.slices


def _has_numbers(r: Rejected) -> bool:
    return any(x.need is not None and x.have is not None for x in r.rejections)


def _shortfalls(r: Rejected) -> str:
    """The two worst constraints."""
    return "; ".join(
        f"{r.candidate.machine} has no RDMA fabric" if x.reason is Reason.NO_FABRIC else shortfall(x) for x in r.rejections[:2]
    )


def shortfall(x: Rejection) -> str:
    """`deadline: 44.8 h at p80 (p50 38.2), 24.0 allowed, 1.87 times the limit`."""
    if x.need is None or x.have is None:
        return f"{x.limit}: {explanation(x)}"
    need, have = tell_apart(x.need, x.have)
    beyond = f", {x.distance:,.{2 if x.distance < 1.95 else 1}f} times the limit" if x.distance < float("inf") else ""
    beyond = ", less than 1 % beyond the limit" if x.distance < 1.005 else beyond
    median = tell_apart(x.need, x.p50)[1] if x.p50 is not None and x.p50 != x.need else ""
    needed = f"at p80 (p50 {median})" if median else "needed"
    return f"{x.limit}: {need} {x.unit} {needed}, {have} allowed{beyond}"


def _replicas(chosen: Fit) -> Iterator[str]:
    c = chosen.candidate
    count = c.parallelism.accelerators
    if count > c.accelerators_per_node:
        each = math.ceil(count / c.accelerators_per_node)
        yield f"Horizontal: one replica ({c.parallelism}) takes {count} accelerators, so it spans {each} x {c.machine}."
    else:
        one = "one part of an accelerator" if c.sharing else "one accelerator"
        width = f"({c.parallelism}) fits {count} accelerators" if count > 1 else f"fits {one}"
        yield f"Vertical first: one replica {width} of {c.machine}, so no replica spans machines."
    if c.replicas == 1:
        yield f"One replica carries the traffic, for {time_and_cost(chosen)}."
        return
    rate = f" for {chosen.speed.requests_per_s:g} requests/s" if chosen.speed.requests_per_s else ""
    machines = "1 machine" if c.nodes == 1 else f"{c.nodes} machines"
    yield f"Then horizontal: {c.replicas} replicas on {machines} are needed{rate} within the latency goals, for {time_and_cost(chosen)}."


def _pinned(chosen: Fit, plan: SizingPlan) -> Iterator[str]:
    """The pinned machines, the goals they break, and the cheapest candidate without the pin."""
    yield f"The machines are pinned to {candidate_name(chosen.candidate)}: {time_and_cost(chosen)}."
    if chosen.overruled:
        yield f"They break {' and '.join(map(shortfall, chosen.overruled))}."
    best = cheapest_without_pin(plan.fits, plan.rejected)
    if chosen.cost_usd is None:
        return
    if best is None or best.cost_usd is None:
        if not chosen.overruled:
            changed = ", so the pin of the type changes nothing" if plan.optimize_for == "cost" else ""
            yield f"No other machine type that meets the goals is cheaper{changed}."
        return
    time = f"{best.duration_s / HOUR:,.1f} h for " if best.duration_s else ""
    extra = chosen.cost_usd.p50 - best.cost_usd
    difference = f"the pin costs {usd(extra)} more" if extra > 0 else f"the pin saves {usd(-extra)}"
    cheapest = f"{candidate_name(best.candidate)}, {time}{usd(best.cost_usd)}"
    yield f"Without the pin the cheapest candidate that meets the goals is {cheapest}; {difference}."


def _nothing(rejected: Sequence[Rejected]) -> str:
    """Why the pinned machines fail, and what the pin excludes; without a pin the constraints that reject most candidates."""
    pinned, free = next((r for r in rejected if r.candidate.pinned), None), cheapest_without_pin((), rejected)
    if pinned:
        best = f" Without the pin the cheapest candidate that meets the goals is {candidate_name(free.candidate)}, " if free else ""
        cost = f"{usd(free.cost_usd)}." if free else ""
        return f"The pinned {candidate_name(pinned.candidate)} fails: {'; '.join(map(shortfall, pinned.rejections))}.{best}{cost}"
    counts: dict[Limit, int] = {}
    for r in rejected:
        counts[r.rejections[0].limit] = counts.get(r.rejections[0].limit, 0) + 1
    worst = sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:3]
    return "No candidate meets every goal" + (": " + ", ".join(f"{n} fail on {limit}" for limit, n in worst) if worst else "")
