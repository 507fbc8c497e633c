"""Vertical or horizontal, in one paragraph that a manager understands: what was chosen, what the next smaller lacks, what more buys."""

from collections.abc import Iterable, Iterator, Sequence

from rackwright.sizing.metrics import Limit, Rejection
from rackwright.sizing.plan import Candidate, Fit, Rejected
from rackwright.sizing.selection.naming import name, usd
from rackwright.units import HOUR

LEAST_GAIN = 0.95
"""Of the time, for more machines to be worth a word."""


def rationale(fits: Sequence[Fit], rejected: Sequence[Rejected], serves: bool, optimize_for: str) -> str:
    """Why one machine, or why many, with the numbers that decided it. Both in the order of the plan."""
    if not fits:
        return _nothing(rejected)
    chosen = fits[0]
    if chosen.candidate.pinned:
        return " ".join(_pinned(chosen, rejected))
    if serves:
        return " ".join((*_replicas(chosen), *_smaller(chosen, fits, rejected)))
    if chosen.candidate.is_spread:
        return " ".join((*_horizontal(chosen, fits, rejected, optimize_for), *_more(chosen, fits, rejected)))
    return " ".join((*_vertical(chosen, fits), *_smaller(chosen, fits, rejected), *_more(chosen, fits, rejected)))


def answer(fit: Fit) -> str:
    """`4.3 h for 8.02 USD`; of a server its month."""
    cost = usd(fit.cost_usd.p50) if fit.cost_usd else "a price that is not published"
    if fit.finish_s:
        return f"{fit.finish_s.p50 / HOUR:,.1f} h for {cost}"
    return f"{cost} a month"


def against(fit: Fit, chosen: Fit) -> str:
    """`49 % less time for 2 % more money`: what the fit gains and gives up against the chosen one."""
    cost = fit.cost_usd.p50 / chosen.cost_usd.p50 if fit.cost_usd and chosen.cost_usd and chosen.cost_usd.p50 else None
    money = "at a price that is not published" if cost is None else f"for {_change(cost, 'money')}"
    return f"{_change(fit.time_s / chosen.time_s, 'time')} {money}" if chosen.time_s else money.removeprefix("for ")


def _change(ratio: float, of: str) -> str:
    if abs(ratio - 1) < 0.005:
        return f"the same {of}"
    if ratio >= 2:
        return f"{ratio:,.1f} times the {of}"
    return f"{abs(ratio - 1) * 100:.0f} % {'more' if ratio > 1 else 'less'} {of}"


def _vertical(chosen: Fit, fits: Sequence[Fit]) -> Iterator[str]:
    c = chosen.candidate
    unit = "slice is enough: its hosts share one interconnect" if c.topology else "machine is enough"
    yield f"Vertical: one {unit}."
    yield f"{name(c)} takes {answer(chosen)} and fills {chosen.memory.fill * 100:.0f} % of its accelerator memory."
    several = [(f.cost_usd.p50, rank, f) for rank, f in enumerate(fits, 1) if f.cost_usd and f.candidate.is_spread]
    cost, rank, cheapest = min(several, key=lambda row: row[:2], default=(0.0, 0, chosen))
    if chosen.cost_usd and rank and cost < chosen.cost_usd.p50:
        other = f"rank {rank}, {name(cheapest.candidate)}, costs {usd(cost)} instead of {usd(chosen.cost_usd.p50)}"
        yield f"It comes first because it has no network to fail; {other}."


def _horizontal(chosen: Fit, fits: Sequence[Fit], rejected: Sequence[Rejected], optimize_for: str) -> Iterator[str]:
    c = chosen.candidate
    many = name(c) + ("" if c.fabric == "none" else f" over {c.fabric.upper()}")
    single = next((f for f in fits if not f.candidate.is_spread), None)
    if c.capacity_id:
        yield f"Horizontal: {c.capacity_id} holds {c.nodes} machines, and the job is spread over all of them."
    elif single is not None:
        alone = f"{name(single.candidate)}: {answer(single)}"
        yield f"Horizontal although one machine ({alone}) would do, because {_ask(single, optimize_for)}."
    else:
        yield "Horizontal: no single machine meets the goals."
        yield from _alone(c, rejected)
    yield f"{many}, spread as {c.parallelism}, takes {answer(chosen)}."
    fewer = max((r for r in rejected if _kin(r.candidate, c) and 1 < r.candidate.nodes < c.nodes), key=_nodes, default=None)
    if fewer is not None:
        yield f"With {fewer.candidate.nodes} of them: {_said(fewer.rejections[0])}."


def _ask(single: Fit, optimize_for: str) -> str:
    if single.cost_usd is None:
        return "what is not priced comes last"
    return "goals.optimize_for is time" if optimize_for == "time" else "the order of places and capacity puts it first"


def _alone(c: Candidate, rejected: Sequence[Rejected]) -> Iterator[str]:
    """The same machine alone, and the one that comes nearest alone."""
    alone = [r for r in rejected if not r.candidate.is_spread and r.candidate.capacity == c.capacity and _number(r)]
    same = next((r for r in alone if r.candidate.machine == c.machine), None)
    near = next((r for r in alone if r.distance < float("inf")), None)
    for r in dict.fromkeys(filter(None, (same, near))):
        yield f"{name(r.candidate)}: {_lack(r)}."


def _smaller(chosen: Fit, fits: Sequence[Fit], rejected: Sequence[Rejected]) -> Iterator[str]:
    """The dearest single machine that costs less per hour: what it lacks, or what it gives up where it would do."""
    c, below = chosen.candidate, chosen.usd_per_hour or 0.0

    def hourly(item: Fit | Rejected) -> float:
        return (item.candidate.price_usd_per_hour or 0.0) * item.candidate.nodes

    def smaller(item: Fit | Rejected) -> bool:
        o = item.candidate
        return (
            o.capacity == c.capacity and not o.is_spread and o.machine + o.topology != c.machine + c.topology and 0 < hourly(item) < below
        )

    would = max(filter(smaller, fits), key=hourly, default=None)
    fails = max((r for r in rejected if smaller(r) and _number(r)), key=hourly, default=None)
    if fails is not None and (would is None or hourly(fails) > hourly(would)):
        yield f"The next smaller, {name(fails.candidate)}: {_lack(fails)}."
    elif would is not None:
        yield f"The next smaller, {name(would.candidate)}, would do too: {answer(would)}, {against(would, chosen)}."


def _more(chosen: Fit, fits: Sequence[Fit], rejected: Sequence[Rejected]) -> Iterator[str]:
    c = chosen.candidate
    larger = [f for f in fits if _kin(f.candidate, c) and f.candidate.nodes > c.nodes]
    refused = [r for r in rejected if _kin(r.candidate, c) and r.candidate.nodes > c.nodes]
    if larger:
        first = min(larger, key=_nodes)
        more = "More buys time" if first.time_s < LEAST_GAIN * chosen.time_s else "More would only add a network"
        yield f"{more}: {name(first.candidate)} takes {answer(first)}, {against(first, chosen)}."
    elif refused:
        yield f"More of them would not do: {_lack(min(refused, key=_nodes))}."


def _nodes(item: Fit | Rejected) -> int:
    return item.candidate.nodes


def _kin(one: Candidate, other: Candidate) -> bool:
    """More or fewer of the same: machines, or chips of one kind of slice."""
    bought = one.capacity == other.capacity and one.region == other.region and one.capacity_id == other.capacity_id
    same = one.accelerator == other.accelerator if one.topology and other.topology else one.machine == other.machine
    return bought and same and one.slices == other.slices


def _number(r: Rejected) -> Rejection | None:
    """The worst limit that has numbers on both sides."""
    return next((x for x in r.rejections if x.need is not None and x.have is not None), None)


def _lack(r: Rejected) -> str:
    """The two worst limits."""
    return "; ".join(map(_said, r.rejections[:2]))


def _said(x: Rejection) -> str:
    """`deadline: 44.8 h needed, 24.0 allowed, 1.87 times off`."""
    if x.need is None or x.have is None:
        return f"{x.limit}: {x.words}"
    whole = min(x.need, x.have) >= 100 or (x.need % 1, x.have % 1) == (0, 0)
    shown = [tuple(f"{v:,.{digits}f}" for v in (x.need, x.have)) for digits in range(0 if whole else 1, 4)]
    need, have = next((pair for pair in shown if pair[0] != pair[1]), shown[0])
    return f"{x.limit}: {need} {x.unit} needed, {have} allowed{_far(x.distance)}"


def _far(distance: float) -> str:
    if distance == float("inf"):
        return ""
    return ", less than 1 % off" if distance < 1.005 else f", {distance:,.{2 if distance < 1.95 else 1}f} times off"


def _replicas(chosen: Fit) -> Iterator[str]:
    c = chosen.candidate
    width = f"{c.parallelism.tensor} accelerators" if c.parallelism.tensor > 1 else "one accelerator"
    yield f"Vertical first: one replica fits {width} of {c.machine}, so no replica spans machines."
    if c.replicas == 1:
        yield f"One replica carries the traffic, for {answer(chosen)}."
        return
    rate = f" for {chosen.speed.requests_per_s:g} requests/s" if chosen.speed.requests_per_s else ""
    held = "1 machine" if c.nodes == 1 else f"{c.nodes} machines"
    yield f"Then horizontal: {c.replicas} replicas on {held} are needed{rate} within the latency goals, for {answer(chosen)}."


def _pinned(chosen: Fit, rejected: Iterable[Rejected]) -> Iterator[str]:
    """The pin wins; whoever pays is told against what."""
    yield f"The place is pinned to {name(chosen.candidate)}, and the pin wins: it takes {answer(chosen)}."
    if chosen.overruled:
        yield f"It breaks {' and '.join(map(_said, chosen.overruled))}."
    free = [r for r in rejected if all(x.limit is Limit.PIN for x in r.rejections) and r.cost_usd is not None]
    best = min(free, key=lambda r: (r.cost_usd or 0.0, r.candidate.label), default=None)
    if best is None or chosen.cost_usd is None or best.cost_usd is None:
        return
    time = f"{best.duration_s / HOUR:,.1f} h for " if best.duration_s else ""
    extra = chosen.cost_usd.p50 - best.cost_usd
    said = f"the pin costs {usd(extra)} more" if extra > 0 else f"the pin saves {usd(-extra)}"
    yield f"Without it the cheapest that meets the goals is {name(best.candidate)}: {time}{usd(best.cost_usd)}; {said}."


def _nothing(rejected: Sequence[Rejected]) -> str:
    counts: dict[Limit, int] = {}
    for r in rejected:
        counts[r.rejections[0].limit] = counts.get(r.rejections[0].limit, 0) + 1
    worst = sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:3]
    return "Nothing meets every goal" + (": " + ", ".join(f"{n} fail on {limit}" for limit, n in worst) if worst else "")
