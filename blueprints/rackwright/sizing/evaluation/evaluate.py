"""Evaluation of a candidate against goals and limits: time, cost, capacity mode, organisation. Keeps every rejection."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rackwright.catalog.rows import CapacityMode, Fabric
from rackwright.clouds import profile
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.evaluation import checkpoints
from rackwright.sizing.metrics import Goodput, Interval, Memory
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.offers.offer import Offer
from rackwright.sizing.plan import Fit, Rejected
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
    start: seconds until machines are ready. queue: seconds in the queue of flex-start.
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
    losses: dict[tuple[int, int, bool], "InterruptionLoss"] = field(default_factory=dict, compare=False)
    """Cache by accelerators, nodes and spot."""

    @staticmethod
    def of(spec: Spec, a: Assumptions) -> "GoalLimits":
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
    run, price = _run_times(offer, nodes, outcome, goals, a), offer.price_usd_per_hour
    hourly = None if price is None else price * nodes
    cost = _cost(offer, hourly, run.duration, goals)
    rejections = [*offer.rejections, *outcome.rejections, *_machine_rejections(offer, nodes, goals, a)]
    rejections += _goal_rejections(offer, run, cost, goals)
    if len(rejections) > 1:
        rejections = sorted(dict.fromkeys(rejections), key=lambda r: -r.distance)
    candidate = offer.candidate(nodes, outcome.parallelism, outcome.precision, (outcome.replicas, outcome.max_replicas))
    if outcome.memory is None or any(r.limit not in OVERRULABLE or not offer.pinned for r in rejections):
        return Rejected(candidate, tuple(rejections), cost.p50 if cost else None, run.finish.p50 if run.finish else None)
    bound = next((note for note in outcome.notes if note.kind is NoteKind.INPUT_PIPELINE), None)
    tightest = bound or _tightest(outcome.memory, bool(offer.accelerator), cost, run.finish, goals)
    return Fit(
        candidate=candidate, memory=outcome.memory, speed=outcome.speed, cost_usd=cost, usd_per_hour=hourly, duration_s=run.duration,
        evidence=outcome.evidence, goodput=run.goodput, wait_s=run.wait, overruled=tuple(rejections), tightest=(tightest,),
        notes=tuple(_notes(offer, nodes, outcome, cost, run, goals)),
    )  # fmt: skip


def _notes(offer: Offer, nodes: int, outcome: Outcome, cost: Interval | None, run: RunTimes, goals: GoalLimits) -> Iterator[Note]:
    if offer.machine.kind == "neuron":
        yield Note(NoteKind.NEURON_UNCALIBRATED)
    if offer.machine.kind == "cpu":
        yield Note(NoteKind.CPU_UNCALIBRATED)
    yield from outcome.notes
    yield from _idle(offer, nodes, outcome, run.duration)
    if run.wait:
        low, likely, high = (s / HOUR for s in (run.wait.p10, run.wait.p50, run.wait.p90))
        yield Note(NoteKind.QUEUE_ASSUMED, {"low_h": low, "likely_h": likely, "high_h": high})
    elif offer.window_s is not None and offer.prepaid_s is None and run.duration is None:
        yield Note(NoteKind.MODE_STOPS_MACHINES, {"mode": str(offer.offering.capacity), "window_h": offer.window_s / HOUR})
    o = offer.offering
    if cost is None and not profile(o.cloud).is_owned:
        kind = NoteKind.UNPRICED if goals.max_cost_usd is None else NoteKind.UNPRICED_WITH_BUDGET
        yield Note(kind, {"machine": offer.machine.name, "mode": str(o.capacity), "region": o.region})
    elif o.price_words:
        yield Note(NoteKind.PRICE_DETAIL, {"machine": offer.machine.name, "detail": o.price_words})


def _idle(offer: Offer, nodes: int, outcome: Outcome, duration: Interval | None) -> Iterator[Note]:
    """Notes about accelerators and hours that are paid for but not used."""
    bought, used = nodes * offer.machine.accelerator_count, outcome.replicas * outcome.parallelism.accelerators
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
    mode, each = offer.offering.capacity, offer.machine.accelerator_count or 1
    key = (nodes * each, nodes, mode == CapacityMode.SPOT) if goals.is_joined else (each, 1, mode == CapacityMode.SPOT)
    loss = goals.losses.get(key) or goals.losses.setdefault(key, _interruption_loss(*key, goals, a))
    work, band, start = outcome.work_s / a.goodput_routine, outcome.band, goals.start
    middle = work / (1 - loss.mid)
    duration = Interval(work * band.low / (1 - loss.low) + start.p10, middle + start.p50, work * band.high / (1 - loss.high) + start.p90)
    alone = 1 if goals.is_joined else nodes
    goodput = Goodput(a.goodput_routine * (1 - loss.mid), alone * middle / loss.between_s, loss.every_s)
    return RunTimes(duration, goals.queue if mode == CapacityMode.FLEX_START else None, goodput)


def _interruption_loss(accelerators: int, nodes: int, spot: bool, goals: GoalLimits, a: Assumptions) -> InterruptionLoss:
    """Time lost to interruptions. Machines that do not work on one job fail independently; they repeat the work since the progress that
    they recorded last, or none, and recording it costs no pause."""
    at = checkpoints.interruptions(accelerators, nodes, spot, a)
    best = checkpoints.best_interval_s(a.checkpoint_pause_s, at.between_s, a) if goals.is_joined else 0.0
    every, pause_s = goals.checkpoint_interval_s or best, a.checkpoint_pause_s if goals.is_joined else 0.0
    mid = checkpoints.lost_share(every, pause_s, at)
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


def _machine_rejections(offer: Offer, nodes: int, goals: GoalLimits, a: Assumptions) -> Iterator[Rejection]:
    """Counts, fabric and host memory."""
    m, maximum = offer.machine, goals.max_accelerators
    if maximum is not None and nodes * m.accelerator_count > maximum:
        yield Rejection(Limit.ORGANISATION, nodes * m.accelerator_count, maximum, "accelerators", Reason.ACCELERATOR_LIMIT)
    if nodes > 1 and goals.is_joined and m.fabric is Fabric.NONE:
        yield Rejection(Limit.FABRIC, reason=Reason.NO_FABRIC)
    if nodes > 1 and goals.single_node:
        yield Rejection(Limit.BLUEPRINT, nodes, 1, "machines", Reason.BOX_IS_ONE_MACHINE)
    need = a.host_base_bytes + a.host_per_accelerator_bytes * m.accelerator_count
    if m.memory_bytes is not None and m.memory_bytes < need:
        yield Rejection(Limit.HOST_MEMORY, need / GIB, m.memory_bytes / GIB, "GiB per node", Reason.HOST_MEMORY)
    if offer.nodes is not None and nodes > offer.nodes:
        yield Rejection(Limit.CAPACITY, nodes, offer.nodes, "machines", Reason.CAPACITY_COUNT, offer.capacity_id or "TPU slice")


def _goal_rejections(offer: Offer, run: RunTimes, cost: Interval | None, goals: GoalLimits) -> Iterator[Rejection]:
    """At p80: the deadline, queue time included, the longest run of the capacity mode, and the budget.

    A candidate without a published price is not rejected for the budget but ranks last.
    """
    deadline, window, budget = goals.max_duration_s, offer.window_s, goals.max_cost_usd
    if run.finish and deadline is not None and (need := p80(run.finish)) > deadline:
        unit, seconds = ("h", HOUR) if deadline >= HOUR else ("min", 60.0)
        waited = p80(run.wait) / seconds if run.wait else None
        yield Rejection(Limit.DEADLINE, need / seconds, deadline / seconds, unit, Reason.DEADLINE, amount=waited)
    if run.duration and window is not None and (need := p80(run.duration)) > window:
        reason = Reason.BLOCK_TOO_SHORT if offer.prepaid_s else Reason.MODE_TOO_SHORT
        yield Rejection(Limit.RUN_LIMIT, need / HOUR, window / HOUR, "h", reason, str(offer.offering.capacity))
    if cost and budget is not None and (need := p80(cost)) > budget:
        yield Rejection(Limit.BUDGET, need, budget, "USD", Reason.BUDGET_OF_MONTH if goals.month_h else Reason.BUDGET_OF_RUN)


def p80(i: Interval) -> float:
    return at_p80(i.p50, i.p90 / i.p50) if i.p50 > 0 else i.p50


def _tightest(memory: Memory, has_accelerator: bool, cost: Interval | None, finish: Interval | None, goals: GoalLimits) -> Note:
    """The constraint with the least headroom."""
    used, kind = memory.fill / memory.max_fill, NoteKind.DEVICE_MEMORY_USED if has_accelerator else NoteKind.HOST_MEMORY_USED
    found = Note(kind, {"used": memory.fill, "max": memory.max_fill})
    for kind, need, limit in (
        (NoteKind.DEADLINE_USED, finish, goals.max_duration_s),
        (NoteKind.BUDGET_USED, cost, goals.max_cost_usd),
    ):
        if need and limit and p80(need) / limit > used:
            used = p80(need) / limit
            found = Note(kind, {"used": used})
    return found
