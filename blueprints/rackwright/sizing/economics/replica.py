"""Rate of one replica of a service on each accelerator, by the search of the plan: the same latency model, percentiles and layouts."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from rackwright.catalog.rows import Accelerator, Machine
from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.estimator.result import PredictionInterval
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.evaluation.host_limits import decoding_s, fed_machine
from rackwright.sizing.job import ServingJob
from rackwright.sizing.metrics import ParallelLayout
from rackwright.sizing.node.host_work import HostWork
from rackwright.sizing.plan import Fit
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.sizing.search.cpu_only import CpuMachine, evaluate_cpu
from rackwright.sizing.search.outcome import Outcome, Spread
from rackwright.sizing.search.search import search, weight_format
from rackwright.sizing.search.serving.best_serving import highest_rates
from rackwright.sizing.search.serving.replicas import HIGHEST_RATE, LOWEST_RATE
from rackwright.sizing.search.target import Target, TargetArrays

BISECTIONS = 24
"""Halvings of the logarithm of a rate; the last step is 1 part in 10^6 of it."""
UNUSABLE = {Limit.PRECISION, Limit.DATA}
"""Constraints that no layout and no load changes."""


@dataclass(frozen=True)
class Replica:
    """A replica on a number of accelerators.

    planned_requests_per_s: highest rate within the goals at p80 of the latency, the rate that a plan counts with. requests_per_s: its
    interval. host_requests_per_s: what the host of its machine feeds to all of its replicas, None where it limits nothing. ttft_s, tpot_s,
    concurrency: at the planned rate. rejections: why the replica is not possible; then it has no numbers.
    `wording.plan_text` fills in refused.
    """

    accelerator: str
    accelerators: int
    requests_per_s: PredictionInterval | None = None
    ttft_s: float | None = None
    tpot_s: float | None = None
    concurrency: int = 1
    evidence: str = ""
    refused: str = ""
    rejections: tuple[Rejection, ...] = ()
    planned_requests_per_s: float | None = None
    layout: ParallelLayout = field(default_factory=ParallelLayout)
    host_requests_per_s: float | None = None

    def on_machine(self, accelerators: int) -> int:
        """Replicas that a machine holds and its host feeds at the planned rate. accelerators: of the machine."""
        room, planned = accelerators // self.accelerators if self.accelerators else 1, self.planned_requests_per_s
        fed = int(self.host_requests_per_s / planned * (1 + 1e-9)) if self.host_requests_per_s and planned else room
        return max(min(room, fed), min(room, 1))


Replicas = dict[Target, tuple[Replica, ...]]
"""Replicas of each target, one per layout that meets the goals; one with rejections where none does."""


def of_fit(fit: Fit, replicas: Sequence[Replica], job: ServingJob) -> Replica:
    """The replica of a fit at the rate that its number of replicas implies: so many carry the traffic, and one fewer does not.

    A fit that a pin keeps although it misses a goal has the rejected replica.
    """
    found = next((r for r in replicas if r.layout == fit.candidate.parallelism), replicas[0])
    highest, count = found.planned_requests_per_s, fit.candidate.replicas
    if highest is None or found.requests_per_s is None:
        return found
    too_few = job.rate / (count - 1) * (1 - 1e-9) if count > max(job.min_replicas, 1) else math.inf
    planned = min(max(highest, job.rate / count), too_few)
    return replace(found, planned_requests_per_s=planned, requests_per_s=found.requests_per_s.scaled(planned / highest))


def fed_replica(replica: Replica, machine: Machine, accelerator: Accelerator | None, work: HostWork, a: Assumptions) -> Replica:
    """The replica at the rate that the host of its machine feeds within the planned utilisation, where that is lower."""
    planned, interval = replica.planned_requests_per_s, replica.requests_per_s
    if not planned or interval is None or machine.kind == "cpu" or replica.accelerators > machine.accelerator_count:
        return replica
    on_machine = machine.accelerator_count // replica.accelerators
    alone = planned / a.max_utilisation / replica.accelerators
    fed = fed_machine(machine, accelerator, alone, work)
    host = fed.samples_per_s * a.max_utilisation
    share = min(host / on_machine / planned, 1.0) if fed.term else 1.0
    if replica.ttft_s and work.has_samples:
        per_s = planned * share * on_machine
        replica = replace(replica, ttft_s=replica.ttft_s + decoding_s(machine, accelerator, per_s, alone, work))
    if fed.term is None:
        return replica
    return replace(replica, planned_requests_per_s=planned * share, requests_per_s=interval.scaled(share), host_requests_per_s=host)


def replicas_on(job: ServingJob, targets: Sequence[Target], a: Assumptions, c: Calibration) -> Replicas:
    """Replicas of a service on each target, without its traffic and its replica limits."""
    if not targets:
        return {}
    targets = tuple(dict.fromkeys(targets))
    machines, one = TargetArrays.of(targets), replace(job, min_replicas=1, max_replicas=None)
    outcomes = search(one, machines, a, c)
    found: dict[Target, list[Replica]] = {t: [] for t in targets}
    for target, replica in _generating(one, machines, outcomes, a, c) if job.generates else _sampled(one, machines, a, c):
        found[target].append(replica)
    for target, outcome in zip(targets, outcomes, strict=True):
        unusable = tuple(r for r in outcome.rejections if r.limit in UNUSABLE)
        if unusable or not found[target]:
            found[target] = [_refused(target.accelerator, replace(outcome, rejections=unusable or outcome.rejections))]
    return {t: tuple(replicas) for t, replicas in found.items()}


def cpu_replica(job: ServingJob, name: str, machine: CpuMachine, a: Assumptions) -> Replica:
    """A replica on a whole CPU machine: the rate beyond which the search rejects it."""
    outcome = evaluate_cpu(replace(job, rate=float("inf"), min_replicas=1, max_replicas=None), machine, a)
    able = next((r.have for r in outcome.rejections if r.reason is Reason.CPU_ENGINE_RATE), None)
    others = tuple(r for r in outcome.rejections if r.reason is not Reason.CPU_ENGINE_RATE)
    if others or not able:
        return _refused(name, replace(outcome, rejections=others), 0)
    return _replica(name, 0, able, outcome)


def _generating(
    job: ServingJob, machines: TargetArrays, outcomes: Sequence[Outcome], a: Assumptions, c: Calibration
) -> Iterator[tuple[Target, Replica]]:
    s, rates, load = highest_rates(job, machines, [weight_format(job, t) for t in machines.targets], a, c)
    for row, (place, rate) in enumerate(zip(s.ways.target.tolist(), rates.tolist(), strict=True)):
        if rate:
            target, layout = machines.targets[place], s.ways.parallelism(row)
            tpot = float(load.tpot_s[row]) if job.has_later_tokens else None
            yield (
                target,
                Replica(
                    target.accelerator, layout.accelerators, _interval(rate, outcomes[place].band), float(load.ttft_s[row]), tpot,
                    max(round(float(load.running[row])), 1), outcomes[place].evidence, planned_requests_per_s=rate, layout=layout,
                ),
            )  # fmt: skip


def _sampled(job: ServingJob, machines: TargetArrays, a: Assumptions, c: Calibration) -> Iterator[tuple[Target, Replica]]:
    """Replicas of networks that answer in whole forward passes: one accelerator each, so that equal ones have equal replicas."""
    known: dict[tuple[str, float], Replica | None] = {}
    for target in machines.targets:
        key = target.accelerator, float(target.chip.memory_bytes)
        if key not in known:
            known[key] = _sampled_replica(job, target, a, c)
        if replica := known[key]:
            yield target, replica


def _sampled_replica(job: ServingJob, target: Target, a: Assumptions, c: Calibration) -> Replica | None:
    """None where the goals are missed without traffic."""
    alone = TargetArrays.of([target])

    def at(rate: float) -> Outcome:
        return search(replace(job, rate=rate), alone, a, c)[0]

    def is_met(rate: float) -> bool:
        outcome = at(rate)
        return outcome.replicas <= 1 and not outcome.rejections

    rate = _highest_rate(is_met)
    return _replica(target.accelerator, at(rate).parallelism.accelerators, rate, at(rate)) if rate else None


def _highest_rate(meets: Callable[[float], bool]) -> float:
    """Highest rate that meets the goals; 0 for none."""
    low, high = LOWEST_RATE, HIGHEST_RATE
    if not meets(low):
        return 0.0
    for _ in range(BISECTIONS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low


def _replica(name: str, accelerators: int, rate: float, found: Outcome) -> Replica:
    speed = found.speed
    return Replica(
        name, accelerators, _interval(rate, found.band), speed.ttft_s, speed.tpot_s, speed.concurrency or 1, found.evidence,
        planned_requests_per_s=rate, layout=found.parallelism,
    )  # fmt: skip


def _refused(name: str, outcome: Outcome, accelerators: int | None = None) -> Replica:
    count = outcome.parallelism.accelerators if accelerators is None else accelerators
    return Replica(name, count, rejections=outcome.rejections, layout=outcome.parallelism)


def _interval(planned: float, band: Spread) -> PredictionInterval:
    """Interval of a rate that was planned at p80 of its latency."""
    median = planned * band.p80
    return PredictionInterval(median / band.high, median, median / band.low, band.runs)
