"""A candidate against the goals: time, money, capacity mode, the organisation's limits. Every question is asked; the answers are kept."""

import math
from dataclasses import dataclass

from rackwright.sizing import storage
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.candidates import Offer
from rackwright.sizing.outcome import Outcome, at_p80, interval
from rackwright.sizing.plan import GIB, Fit, Interval, Limit, Memory, Rejected, Rejection
from rackwright.spec.spec import Spec

SOFT = {Limit.DEADLINE, Limit.BUDGET, Limit.TTFT, Limit.TPOT, Limit.THROUGHPUT, Limit.PRICE}
"""What a pin may overrule; everything else is certain failure or the organisation's word."""
HOUR = 3600.0


@dataclass(frozen=True)
class Goals:
    """The spec's goals and limits in numbers. month_h: hours that a cost goal of a serving stack covers, None for runs that end;
    joined: whether machines work on one job, and so talk to one another."""

    max_duration_s: float | None
    max_cost_usd: float | None
    max_accelerators: int | None
    month_h: float | None
    checkpoint_interval_s: float | None
    single_node: bool
    joined: bool

    @staticmethod
    def of(spec: Spec, a: Assumptions) -> "Goals":
        w = spec.workload
        interval_s = getattr(getattr(w, "checkpoint", None), "interval", None)
        return Goals(
            max_duration_s=spec.goals.max_duration,
            max_cost_usd=spec.goals.max_cost or getattr(w, "budget", None),
            max_accelerators=spec.limits.accelerators,
            month_h=a.month_h if w.kind == "serve" else None,
            checkpoint_interval_s=interval_s if isinstance(interval_s, float) else None,
            single_node=spec.blueprint.kind == "box",
            joined=w.kind not in ("serve", "batch"),
        )


def judge(offer: Offer, nodes: int, found: Outcome, goals: Goals, a: Assumptions) -> Fit | Rejected:
    """A Fit when nothing speaks against it, or when a pin overrules all that does."""
    duration = _duration(offer, nodes, found, goals, a)
    hourly = None if offer.price_usd_per_hour is None else offer.price_usd_per_hour * nodes
    cost = _cost(offer, hourly, duration, goals)
    asked = (*found.rejections, *_place(offer, nodes, goals, a), *_time(offer, duration, goals), *_money(offer, cost, goals))
    rejections = tuple(sorted(dict.fromkeys((*offer.rejections, *asked)), key=lambda r: -r.distance))
    candidate = offer.candidate(nodes, found.parallelism, found.precision, (found.replicas, found.max_replicas))
    hard = [r for r in rejections if r.limit not in SOFT or not offer.pinned]
    if hard or found.memory is None:
        remedy = "; ".join(dict.fromkeys(r.remedy for r in rejections if r.remedy))
        return Rejected(candidate, rejections, remedy, cost.p50 if cost else None, duration.p50 if duration else None)
    warnings = [f"pinned although it breaks a goal: {r}" for r in rejections] + list(_idle(offer, nodes, found, duration))
    if cost is None:
        warnings.append(f"price not published for {offer.machine.name} {offer.offering.capacity} in {offer.offering.region}: ranked last")
    elif offer.offering.price_words:
        warnings.append(f"{offer.machine.name}: {offer.offering.price_words}")
    return Fit(
        candidate=candidate, memory=found.memory, speed=found.speed, cost_usd=cost, usd_per_hour=hourly, duration_s=duration,
        binding=_binding(found.memory, found, cost, duration, goals), warnings=tuple(warnings), evidence=found.evidence,
    )  # fmt: skip


def _idle(offer: Offer, nodes: int, found: Outcome, duration: Interval | None):
    """What the numbers do not show: hours and accelerators paid and not used, and waiting for machines."""
    bought, used = nodes * offer.machine.accelerator_count, found.replicas * found.parallelism.accelerators
    if found.work_s is None and found.speed.requests_per_s and used <= bought / 2:
        yield f"{bought - used} of {bought} accelerators are paid for and idle"
    if offer.prepaid_s is not None and duration is not None and duration.p90 < offer.prepaid_s / 2:
        paid, price = offer.prepaid_s / HOUR, offer.price_usd_per_hour
        idle = f", {price * nodes * (paid - duration.p50 / HOUR):,.0f} USD idle" if price else ""
        yield f"the block is paid for {paid:,.0f} h and the run takes about {duration.p50 / HOUR:,.1f} h of them{idle}"
    if offer.offering.capacity == "flex-start":
        yield "the wait until flex-start gives machines is not in the duration"


def _duration(offer: Offer, nodes: int, found: Outcome, goals: Goals, a: Assumptions) -> Interval | None:
    """Work, what checkpoints, faults and reclaims cost, and the start; each with its own spread, the wider the longer."""
    if found.work_s is None:
        return None
    ran = interval(found.work_s / (a.goodput_small if nodes < 64 else a.goodput_large), found.band)
    start = interval(a.startup_s, a.startup_band)
    lost = (0.0, 0.0, 0.0)
    if offer.offering.capacity == "spot":
        between = storage.time_between_failures_s(nodes * offer.machine.accelerator_count, nodes, True, a)
        every = goals.checkpoint_interval_s or storage.best_interval_s(a.checkpoint_window_s, between, a)
        share = storage.lost_share(every, a.checkpoint_window_s, between, a)
        lost = (share / a.spot_loss_band, share, min(share * a.spot_loss_band, 0.95))
    low, mid, high = lost
    return Interval(ran.p10 / (1 - low) + start.p10, ran.p50 / (1 - mid) + start.p50, ran.p90 / (1 - high) + start.p90)


def _cost(offer: Offer, hourly: float | None, duration: Interval | None, goals: Goals) -> Interval | None:
    if hourly is None:
        return None
    if offer.prepaid_s is not None:
        whole = hourly * offer.prepaid_s / HOUR
        return Interval(whole, whole, whole)
    if goals.month_h is not None:
        return Interval(hourly * goals.month_h, hourly * goals.month_h, hourly * goals.month_h)
    return duration.times(hourly / HOUR) if duration else None


def _place(offer: Offer, nodes: int, goals: Goals, a: Assumptions):
    """Counts, fabric and host memory."""
    accelerators = nodes * offer.machine.accelerator_count
    if goals.max_accelerators is not None and accelerators > goals.max_accelerators:
        remedy = f"limits.accelerators: {accelerators}"
        yield Rejection(Limit.ORGANISATION, accelerators, goals.max_accelerators, "accelerators", remedy=remedy)
    if nodes > 1 and goals.joined and offer.machine.fabric == "none":
        words, remedy = f"{nodes} of them have no fabric for one job", "a machine with EFA, TCPX, RoCE or ICI"
        yield Rejection(Limit.FABRIC, None, None, words=words, remedy=remedy)
    if nodes > 1 and goals.single_node:
        yield Rejection(Limit.BLUEPRINT, nodes, 1, "machines", "a box is one machine", "blueprint.kind: training-cluster")
    host = offer.machine.memory_bytes
    need = a.host_base_bytes + a.host_per_accelerator_bytes * offer.machine.accelerator_count
    if host is not None and host < need:
        yield Rejection(Limit.HOST_MEMORY, need / GIB, host / GIB, "GiB per node", remedy="a larger size of the same family")
    if offer.nodes is not None and nodes > offer.nodes:
        yield Rejection(Limit.CAPACITY, nodes, offer.nodes, "machines", f"{offer.capacity_id or 'the slice'} has so many")


def _time(offer: Offer, duration: Interval | None, goals: Goals):
    """The deadline and the mode's longest run, on the pessimistic side."""
    if duration is None:
        return
    need = p80(duration)
    if goals.max_duration_s is not None and need > goals.max_duration_s:
        unit, seconds = ("h", HOUR) if goals.max_duration_s >= HOUR else ("min", 60.0)
        remedy = f"max_duration: {math.ceil(need / seconds)}{unit}"
        yield Rejection(Limit.DEADLINE, need / seconds, goals.max_duration_s / seconds, unit, "p80 of the estimate", remedy)
    if offer.window_s is not None and need > offer.window_s:
        mode = "the block's last half hour is lost" if offer.prepaid_s else str(offer.offering.capacity)
        remedy = "a longer block, or one of more machines" if offer.prepaid_s else "more machines, or on-demand"
        yield Rejection(Limit.RUN_LIMIT, need / HOUR, offer.window_s / HOUR, "h", f"p80 of the estimate; {mode}", remedy)


def _money(offer: Offer, cost: Interval | None, goals: Goals):
    if goals.max_cost_usd is None:
        return
    if cost is None:
        if offer.price_usd_per_hour is None and offer.machine.cloud != "kubernetes":
            yield Rejection(Limit.PRICE, None, None, words="not published", remedy="ask the seller, and drop max_cost")
        return
    need = p80(cost)
    if need > goals.max_cost_usd:
        words = "USD a month" if goals.month_h else "p80 of the estimate"
        yield Rejection(Limit.BUDGET, need, goals.max_cost_usd, "USD", words, f"max_cost: {math.ceil(need)} USD")


def p80(i: Interval) -> float:
    return at_p80(i.p50, i.p90 / i.p50) if i.p50 > 0 else i.p50


def _binding(memory: Memory, found: Outcome, cost: Interval | None, duration: Interval | None, goals: Goals) -> str:
    """The limit with least head-room, in words."""
    uses = {f"{memory.fill:.0%} of accelerator memory, {memory.max_fill:.0%} allowed": memory.fill / memory.max_fill}
    if duration and goals.max_duration_s:
        used = p80(duration) / goals.max_duration_s
        uses[f"deadline: {used:.0%} used at p80"] = used
    if cost and goals.max_cost_usd:
        used = p80(cost) / goals.max_cost_usd
        uses[f"budget: {used:.0%} used at p80"] = used
    return max(uses, key=lambda words: uses[words])
