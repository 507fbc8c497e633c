"""Evaluation of a candidate against goals and limits: time, cost, capacity mode, organisation. Keeps every rejection."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from rackwright.catalog.query import quota_amount
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import CapacityMode, Fabric
from rackwright.clouds import profile
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.evaluation import checkpoints
from rackwright.sizing.evaluation.accelerator_notes import number_format_notes, scaled_beyond_limit, slice_notes
from rackwright.sizing.evaluation.host_limits import fed_by_host
from rackwright.sizing.evaluation.transfers import Buckets, unpriced_transfers, written_checkpoints
from rackwright.sizing.metrics import Goodput, Interval, Memory
from rackwright.sizing.node.host_work import HostWork
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.offers.offer import Offer
from rackwright.sizing.offers.own_servers import own_cost_note
from rackwright.sizing.plan import Fit, Rejected, Transfer, WorkloadFacts
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.sizing.search.outcome import Outcome, at_p80, interval
from rackwright.spec.spec import Spec
from rackwright.units import GIB, HOUR

OVERRULABLE = {Limit.DEADLINE, Limit.BUDGET, Limit.TTFT, Limit.TPOT, Limit.LATENCY, Limit.THROUGHPUT, Limit.PRICE}
"""Constraints that a pin overrules. The others mean certain failure, or are limits of the organisation."""


@dataclass(frozen=True)
class GoalLimits:
    """Goals and limits of the spec in numbers.

    month_h: hours that the cost goal of a serving stack covers, None for runs that end. is_joined: machines work on one job.
    start: seconds until machines are ready. queue: seconds in the queue of flex-start. work: work of the run for its hosts.
    buckets: where its data is.
    """

    max_duration_s: float | None
    max_cost_usd: float | None
    max_accelerators: int | None
    month_h: float | None
    checkpoint_interval_s: float | None
    single_node: bool
    is_joined: bool
    start: Interval
    queue: Interval
    work: HostWork
    buckets: Buckets
    losses: dict[tuple[str, int, bool], "InterruptionLoss"] = field(default_factory=dict, compare=False)
    """Cache by machine, nodes and spot."""

    @staticmethod
    def of(spec: Spec, facts: WorkloadFacts, catalog: Catalog, a: Assumptions) -> "GoalLimits":
        w = spec.workload
        interval_s = getattr(getattr(w, "checkpoint", None), "interval", None)
        return GoalLimits(
            max_duration_s=spec.goals.max_duration,
            max_cost_usd=spec.goals.max_cost,
            max_accelerators=spec.limits.accelerators,
            month_h=a.month_h if w.kind == "serve" else None,
            checkpoint_interval_s=interval_s if isinstance(interval_s, float) else None,
            single_node=spec.blueprint.kind == "box",
            is_joined=w.kind not in ("serve", "batch"),
            start=interval(a.startup_s, a.startup_band),
            queue=interval(a.flex_wait_s, a.flex_wait_band),
            work=HostWork.of(spec, facts, catalog),
            buckets=Buckets.of(spec, facts, catalog),
        )


@dataclass(frozen=True)
class InterruptionLoss:
    """Share of a run that interruptions take (p10, p50, p90), seconds between two interruptions, seconds between two checkpoints."""

    low: float
    mid: float
    high: float
    between_s: float
    every_s: float


@dataclass(frozen=True)
class RunTimes:
    """Paid time, queue time before it, and goodput of a run; None for a server."""

    duration: Interval | None = None
    wait: Interval | None = None
    goodput: Goodput | None = None

    @property
    def finish(self) -> Interval | None:
        return self.duration.plus(self.wait) if self.duration and self.wait else self.duration


def evaluate(offer: Offer, nodes: int, outcome: Outcome, goals: GoalLimits, a: Assumptions) -> Fit | Rejected:
    """A Fit where every constraint holds or a pin overrules those that fail, else a Rejected with every failed constraint."""
    outcome, limit = fed_by_host(offer, nodes, outcome, goals.work)
    run, price = _run_times(offer, nodes, outcome, goals, a), offer.price_usd_per_hour
    hourly = None if price is None else price * nodes
    cost = _cost(offer, hourly, run.duration, goals)
    rejections = [*offer.rejections, *outcome.rejections, *_machine_rejections(offer, nodes, _max_nodes(offer, nodes, outcome), goals, a)]
    moved = _transfers(offer, run, goals)
    paid = sum(each.usd or 0.0 for each in moved)
    rejections += _goal_rejections(offer, run, cost and cost.plus(Interval(paid, paid, paid)), goals)
    rejections += _no_price(offer, goals) if all(r.need is not None for r in rejections) or offer.pinned else ()
    if len(rejections) > 1:
        rejections = sorted(dict.fromkeys(rejections), key=lambda r: -r.distance)
    candidate = offer.candidate(nodes, outcome.parallelism, outcome.precision, (outcome.replicas, outcome.max_replicas))
    if outcome.memory is None or any(r.limit not in OVERRULABLE or not offer.pinned for r in rejections):
        return Rejected(candidate, tuple(rejections), cost.p50 if cost else None, run.finish.p50 if run.finish else None)
    bound = limit or next((note for note in outcome.notes if note.kind is NoteKind.HOST_LIMIT_OF_SERVICE), None)
    tightest = bound or _tightest(outcome.memory, bool(offer.accelerator), cost, run.finish, goals)
    return Fit(
        candidate=candidate, memory=outcome.memory, speed=outcome.speed, cost_usd=cost, usd_per_hour=hourly, duration_s=run.duration,
        evidence=outcome.evidence, goodput=run.goodput, wait_s=run.wait, overruled=tuple(rejections), tightest=(tightest,),
        transfers=moved, notes=(*_pauses(offer, nodes, run, goals, a), *_notes(offer, nodes, outcome, cost, run, goals)),
    )  # fmt: skip


def _transfers(offer: Offer, run: RunTimes, goals: GoalLimits) -> tuple[Transfer, ...]:
    if not (goals.buckets.data or goals.buckets.checkpoints):
        return ()
    interval_s = run.goodput.checkpoint_interval_s if run.goodput else 0.0
    written = written_checkpoints(run.duration.p50 if run.duration else None, interval_s)
    return tuple(goals.buckets.transfers(offer.offering.cloud, offer.offering.region, written))


def _pauses(offer: Offer, nodes: int, run: RunTimes, goals: GoalLimits, a: Assumptions) -> Iterator[Note]:
    """Host memory without room for the copy of a checkpoint, which then pauses training until it is written."""
    checkpoint = goals.work.checkpoint_bytes
    if run.goodput is None or not run.goodput.checkpoint_interval_s or not checkpoint:
        return
    host = goals.work.checkpoint_host(offer.machine, offer.accelerator, nodes, a)
    if not host.holds(checkpoint):
        values = {"gib": checkpoint / nodes / GIB, "free_gib": (host.free_bytes or 0.0) / GIB}
        yield Note(NoteKind.CHECKPOINT_PAUSES, values | {"pause_s": checkpoints.pause_s(checkpoint, host, a)})


def _notes(offer: Offer, nodes: int, outcome: Outcome, cost: Interval | None, run: RunTimes, goals: GoalLimits) -> Iterator[Note]:
    if offer.machine.kind == "neuron":
        yield Note(NoteKind.NEURON_UNCALIBRATED)
    yield from slice_notes(offer)
    if offer.machine.kind == "cpu":
        yield Note(NoteKind.CPU_UNCALIBRATED)
    yield from number_format_notes(offer, outcome.precision, goals.is_joined)
    yield from outcome.notes
    yield from _idle(offer, nodes, outcome, run.duration)
    yield from scaled_beyond_limit(_max_nodes(offer, nodes, outcome) * offer.machine.whole_accelerators, goals.max_accelerators)
    yield from unpriced_transfers(_transfers(offer, run, goals))
    if run.wait:
        low, likely, high = (s / HOUR for s in (run.wait.p10, run.wait.p50, run.wait.p90))
        yield Note(NoteKind.QUEUE_ASSUMED, {"low_h": low, "likely_h": likely, "high_h": high})
    elif offer.window_s is not None and offer.prepaid_s is None and run.duration is None:
        yield Note(NoteKind.MODE_STOPS_MACHINES, {"mode": str(offer.offering.capacity), "window_h": offer.window_s / HOUR})
    o = offer.offering
    if profile(o.cloud).is_owned:
        yield own_cost_note(offer.machine.name, offer.own_cost)
        if cost is None and goals.max_cost_usd is not None:
            yield Note(NoteKind.OWN_BUDGET_UNCHECKED, {"budget_usd": goals.max_cost_usd})
    elif cost is None:
        kind = NoteKind.UNPRICED if goals.max_cost_usd is None else NoteKind.UNPRICED_WITH_BUDGET
        yield Note(kind, {"machine": offer.machine.name, "mode": str(o.capacity), "region": o.region})
    elif o.price_words:
        yield Note(NoteKind.PRICE_DETAIL, {"machine": offer.machine.name, "detail": o.price_words})


def _idle(offer: Offer, nodes: int, outcome: Outcome, duration: Interval | None) -> Iterator[Note]:
    """Notes about accelerators and hours that are paid for but not used."""
    m, devices = offer.machine, outcome.replicas * outcome.parallelism.accelerators
    bought, used = nodes * m.whole_accelerators, math.ceil(devices / m.sharing.parts) if m.sharing else devices
    if outcome.work_s is None and outcome.speed.requests_per_s and used <= bought / 2:
        yield Note(NoteKind.IDLE_ACCELERATORS, {"idle": bought - used, "bought": bought})
    if offer.prepaid_s is not None and duration is not None and duration.p90 < offer.prepaid_s / 2:
        values = {"paid_h": offer.prepaid_s / HOUR, "run_h": duration.p50 / HOUR}
        price = offer.price_usd_per_hour
        idle = {"idle_usd": price * nodes * (values["paid_h"] - values["run_h"])} if price else {}
        yield Note(NoteKind.BLOCK_PARTLY_USED if idle else NoteKind.BLOCK_PARTLY_USED_UNPRICED, {**values, **idle})


def _run_times(offer: Offer, nodes: int, outcome: Outcome, goals: GoalLimits, a: Assumptions) -> RunTimes:
    """Work, start-up, and time lost to checkpoints, faults and reclaims, each with its own interval."""
    if outcome.work_s is None:
        return RunTimes()
    mode = offer.offering.capacity
    count, is_spot = nodes if goals.is_joined else 1, mode == CapacityMode.SPOT
    key = (offer.machine.name, count, is_spot)
    loss = goals.losses.get(key) or goals.losses.setdefault(key, _interruption_loss(offer, count, is_spot, goals, a))
    work, band, start = outcome.work_s / a.goodput_routine, outcome.band, goals.start
    middle = work / (1 - loss.mid)
    duration = Interval(work * band.low / (1 - loss.low) + start.p10, middle + start.p50, work * band.high / (1 - loss.high) + start.p90)
    alone = 1 if goals.is_joined else nodes
    goodput = Goodput(a.goodput_routine * (1 - loss.mid), alone * middle / loss.between_s, loss.every_s)
    return RunTimes(duration, goals.queue if mode == CapacityMode.FLEX_START else None, goodput)


def _interruption_loss(offer: Offer, nodes: int, is_spot: bool, goals: GoalLimits, a: Assumptions) -> InterruptionLoss:
    """Time lost to interruptions. Machines that do not work on one job fail independently; they repeat the work since the progress that
    they recorded last, or none, and recording it costs no pause."""
    at = checkpoints.interruptions(nodes * (offer.machine.accelerator_count or 1), nodes, is_spot, a)
    host, checkpoint = goals.work.checkpoint_host(offer.machine, offer.accelerator, nodes, a), goals.work.checkpoint_bytes
    every, pause, drain = goals.checkpoint_interval_s or 0.0, 0.0, 0.0
    if goals.is_joined:
        every = every or checkpoints.auto_interval_s(checkpoint, host, at.between_s, a)
        pause, drain = checkpoints.pause_s(checkpoint, host, a), checkpoints.drain_s(checkpoint, host, a)
    mid = checkpoints.lost_share(every, pause, at, drain)
    return InterruptionLoss(mid / a.interruption_band, mid, min(mid * a.interruption_band, checkpoints.MAX_LOST_SHARE), at.between_s, every)


def _cost(offer: Offer, hourly: float | None, duration: Interval | None, goals: GoalLimits) -> Interval | None:
    if hourly is None:
        return None
    if offer.prepaid_s is not None:
        whole = hourly * offer.prepaid_s / HOUR
        return Interval(whole, whole, whole)
    if goals.month_h is not None:
        return Interval(hourly * goals.month_h, hourly * goals.month_h, hourly * goals.month_h)
    return duration.times(hourly / HOUR) if duration else None


def _max_nodes(offer: Offer, nodes: int, outcome: Outcome) -> int:
    """Machines at the maximum size: of a server those of its maximum number of replicas."""
    each, width = offer.machine.accelerator_count or 1, outcome.parallelism.accelerators
    if outcome.max_replicas <= outcome.replicas:
        return nodes
    return max(nodes, math.ceil(width / each) * math.ceil(outcome.max_replicas / max(1, each // width)))


def _machine_rejections(offer: Offer, nodes: int, max_nodes: int, goals: GoalLimits, a: Assumptions) -> Iterator[Rejection]:
    """Counts, quota, fabric and host memory. max_nodes: machines at the maximum size, which a quota must cover."""
    m, maximum = offer.machine, goals.max_accelerators
    if maximum is not None and nodes * m.whole_accelerators > maximum:
        yield Rejection(Limit.ORGANISATION, nodes * m.whole_accelerators, maximum, "accelerators", Reason.ACCELERATOR_LIMIT)
    if offer.quota is not None and max_nodes > offer.quota_nodes:
        (code, granted), (each, unit) = offer.quota, quota_amount(m)
        yield Rejection(Limit.QUOTA, max_nodes * each, granted, unit, Reason.VCPU_QUOTA, code)
    if nodes > 1 and goals.is_joined and m.fabric is Fabric.NONE:
        yield Rejection(Limit.FABRIC, reason=Reason.NO_FABRIC)
    if nodes > 1 and goals.single_node:
        yield Rejection(Limit.BLUEPRINT, nodes, 1, "machines", Reason.BOX_IS_ONE_MACHINE)
    need = a.host_base_bytes + a.host_per_accelerator_bytes * m.accelerator_count
    if m.memory_bytes is not None and m.memory_bytes < need:
        yield Rejection(Limit.HOST_MEMORY, need / GIB, m.memory_bytes / GIB, "GiB per node", Reason.HOST_MEMORY)
    if offer.available is not None and max_nodes > offer.available:
        yield Rejection(Limit.CAPACITY, max_nodes, offer.available, "machines", Reason.CAPACITY_COUNT, "servers in inventory")
    if offer.nodes is not None and nodes > offer.nodes and (goals.is_joined or not offer.slice):
        yield Rejection(Limit.CAPACITY, nodes, offer.nodes, "machines", Reason.CAPACITY_COUNT, offer.capacity_id or "TPU slice")


def _goal_rejections(offer: Offer, run: RunTimes, cost: Interval | None, goals: GoalLimits) -> Iterator[Rejection]:
    """At p80: the deadline, queue time included, the longest run of the capacity mode, and the budget.

    The budget is compared with the cost of the machines here; `within_budget` compares the whole bill.
    """
    deadline, window, budget = goals.max_duration_s, offer.window_s, goals.max_cost_usd
    if run.finish and deadline is not None and (need := p80(run.finish)) > deadline:
        unit, seconds = ("h", HOUR) if deadline >= HOUR else ("min", 60.0)
        waited = p80(run.wait) / seconds if run.wait else None
        median = run.finish.p50 / seconds
        yield Rejection(Limit.DEADLINE, need / seconds, deadline / seconds, unit, Reason.DEADLINE, amount=waited, p50=median)
    if run.duration and window is not None and (need := p80(run.duration)) > window:
        reason = Reason.BLOCK_TOO_SHORT if offer.prepaid_s else Reason.MODE_TOO_SHORT
        mode, median = str(offer.offering.capacity), run.duration.p50 / HOUR
        yield Rejection(Limit.RUN_LIMIT, need / HOUR, window / HOUR, "h", reason, mode, p50=median)
    if cost and budget is not None and (need := p80(cost)) > budget:
        reason, median = (Reason.BUDGET_OF_MONTH, None) if goals.month_h else (Reason.BUDGET_OF_RUN, cost.p50)
        yield Rejection(Limit.BUDGET, need, budget, "USD", reason, p50=median)


def _no_price(offer: Offer, goals: GoalLimits) -> Iterator[Rejection]:
    """A candidate without a published price never satisfies a budget, also where it fails a number that the spec can change. Machines
    that the user owns cost nothing more."""
    o = offer.offering
    if goals.max_cost_usd is not None and offer.price_usd_per_hour is None and not profile(o.cloud).is_owned:
        yield Rejection(Limit.PRICE, reason=Reason.NO_PRICE, subject=f"{offer.machine.name} {o.capacity} in {o.region}")


def p80(i: Interval) -> float:
    return at_p80(i.p50, i.p90 / i.p50) if i.p50 > 0 else i.p50


def _tightest(memory: Memory, has_accelerator: bool, cost: Interval | None, finish: Interval | None, goals: GoalLimits) -> Note:
    """The constraint with the least headroom."""
    used, kind = memory.fill / memory.max_fill, NoteKind.DEVICE_MEMORY_USED if has_accelerator else NoteKind.HOST_MEMORY_USED
    found = Note(kind, {"used": memory.fill, "max": memory.max_fill})
    for kind, need, limit in (
        (NoteKind.DEADLINE_SHARE, finish, goals.max_duration_s),
        (NoteKind.BUDGET_SHARE, cost, goals.max_cost_usd),
    ):
        if need and limit and p80(need) / limit > used:
            used = p80(need) / limit
            found = Note(kind, {"used": used, "median": need.p50 / limit})
    return found
