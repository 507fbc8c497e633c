"""Serving on each target. Does not depend on the catalog or the spec.

Online: the fewest replicas that meet the goals, over all replica shapes. Batch: the shape with the highest rate. Networks without
generation are in `forward_pass`.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.estimator.serving import decode, throughput
from rackwright.estimator.serving import memory as serving_memory
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import ServingJob, linear_bytes
from rackwright.sizing.metrics import Memory, Speed
from rackwright.sizing.rejection import Limit, Reason, Rejection, Remedy, latency_rejections
from rackwright.sizing.search.outcome import Outcome
from rackwright.sizing.search.serving.disaggregation import PooledLayouts, pooled
from rackwright.sizing.search.serving.replicas import (
    LOWEST_RATE,
    MAX_REPLICAS,
    ReplicaLoad,
    ServingLayouts,
    block_scaled_shard,
    distinct_shapes,
    interval_factors,
    serving_layouts,
)
from rackwright.sizing.search.target import Target, TargetArrays, rows_of
from rackwright.units import GIB

UNREACHABLE = 1e9
"""Distance beyond any computed one."""


def best_serving(job: ServingJob, machines: TargetArrays, formats: list[str], a: Assumptions, c: Calibration) -> list[Outcome]:
    """Per target the fewest machines, then the fewest accelerators; the nearest shape where none meets the goals.

    formats: of the weights, per target.
    """
    s = serving_layouts(job, machines, formats, a, c)
    memories = _replica_memory(s)
    rows, which = distinct_shapes(s, machines)
    some, enough = _fewest(s.at(rows), a.max_utilisation, (memories.distance <= 1)[rows])
    count = np.maximum(np.where(enough > 0, enough, sum(job.pools or ()) or MAX_REPLICAS), max(job.min_replicas, 1))
    load = rows_of(some.loaded(count.astype(float), a.max_utilisation), which)
    enough, count = enough[which], count[which]
    s = some.spread(s, which) if isinstance(some, PooledLayouts) else s
    missed = _shortfalls(job, memories, enough, count, load)
    nodes = np.ceil(count * s.ways.width / machines.per_node[s.ways.target])
    tokens = np.broadcast_to(serving_memory.kv_tokens(s.case, s.pool), nodes.shape)
    chosen, looked_at = _best(s, missed, nodes, count * s.ways.width), np.bincount(s.ways.target, minlength=len(formats))
    medians = _medians(s, machines, np.array(sorted(chosen.values()), dtype=int), count, a, c)
    outcomes = []
    for i, (target, (spread, _)) in enumerate(zip(machines.targets, interval_factors(decode.MODELS[0], job, machines, c), strict=True)):
        row = chosen.get(i)
        if row is None:
            outcomes.append(_no_layout(job, target))
            continue
        memory = memories.memory(row, target, a, float(load.running[row]) if enough[row] else 0.0)
        found = Outcome(
            s.ways.parallelism(row), memory, band=spread, evidence=spread.words, precision=formats[i],
            points=int(looked_at[i]) * MAX_REPLICAS,
        )  # fmt: skip
        if memories.distance[row] > 1:
            found = replace(found, rejections=(_memory_rejection(s, memories, row, target),))
        elif not enough[row]:
            found = replace(found, rejections=_overload_rejections(job, target, formats[i], load, row))
        else:
            found = _deployed(
                job, found, load, row, int(count[row]), int(nodes[row]), int(tokens[row]), medians[row], _prefill_replicas(s, row, count)
            )
        outcomes.append(found)
    return outcomes


def _fewest(s: ServingLayouts, max_utilisation: float, among: np.ndarray) -> tuple[ServingLayouts, np.ndarray]:
    """The layouts with their pools, where the service is disaggregated, and the minimum replicas of each; 0 where no number is enough."""
    return pooled(s, max_utilisation, among) if s.job.pools else (s, s.fewest(max_utilisation, among))


def _prefill_replicas(s: ServingLayouts, row: int, count: np.ndarray) -> int | None:
    return max(round(float(s.prefill_share[row] * count[row])), 1) if isinstance(s, PooledLayouts) else None


def _overload_rejections(job: ServingJob, target: Target, numbers: str, load: ReplicaLoad, row: int) -> tuple[Rejection, ...]:
    """Rejections of the latency, or of a number of replicas that does not carry the traffic."""
    fewer = target.quantization(linear_bytes(numbers))
    late = latency_rejections(float(load.ttft_s[row]), float(load.tpot_s[row]), job.ttft_s, job.tpot_s, fewer)
    return late or (_too_few(job),)


def _too_few(job: ServingJob) -> Rejection:
    if job.pools and all(job.pools):
        prefill, answers = map(str, job.pools)
        return Rejection(
            Limit.THROUGHPUT, reason=Reason.POOLS_TOO_SMALL, subject=prefill, detail=answers, remedies=("disaggregation: auto",)
        )
    return Rejection(Limit.THROUGHPUT, reason=Reason.REPLICAS_SEARCHED, subject=str(MAX_REPLICAS))


def best_batch(job: ServingJob, machines: TargetArrays, formats: list[str], a: Assumptions, c: Calibration) -> list[Outcome]:
    """All machines of a target at once; the shape with the highest rate."""
    s, model = serving_layouts(job, machines, formats, a, c), throughput.MODELS[0]
    replicas = machines.accelerators[s.ways.target] / s.ways.width
    case, memory = replace(s.case, requests=np.ceil(job.requests / replicas)), _replica_memory(s)
    spread = interval_factors(model, job, machines, c, is_rate=True)
    factor = np.array([f for _, f in spread])[s.ways.target]
    rate = throughput.offline_tokens_per_s(case, c.of(model.name, model.kind), s.pool) * replicas * factor
    running = throughput.max_running_requests(case, s.pool)
    missed = np.where(memory.distance > 1, memory.distance, 0.0)
    chosen = _best(s, missed, -rate, s.ways.width)
    outcomes = []
    for i, target in enumerate(machines.targets):
        row = chosen.get(i)
        if row is None:
            outcomes.append(_no_layout(job, target))
            continue
        count = int(replicas[row])
        found = Outcome(
            s.ways.parallelism(row), memory.memory(row, target, a, np.inf), band=spread[i][0], evidence=spread[i][0].words,
            precision=formats[i],
            nodes=target.nodes, replicas=count, max_replicas=count, points=int(np.sum(s.ways.target == i)),
        )  # fmt: skip
        if memory.distance[row] > 1:
            outcomes.append(replace(found, rejections=(_memory_rejection(s, memory, row, target),)))
            continue
        tokens, at_once = float(rate[row]), float(running[row])
        tpot_s = at_once * count / tokens if job.has_later_tokens else None
        speed = Speed(tokens, tpot_s=tpot_s, concurrency=int(at_once), requests_per_s=tokens / job.output_tokens)
        outcomes.append(replace(found, speed=speed, work_s=job.requests * job.output_tokens / tokens))
    return outcomes


def highest_rates(
    job: ServingJob, machines: TargetArrays, formats: list[str], a: Assumptions, c: Calibration
) -> tuple[ServingLayouts, np.ndarray, ReplicaLoad]:
    """Every shape with the highest requests/s of one replica within the goals, and its load at that rate; 0 where it meets them never."""
    s = serving_layouts(job, machines, formats, a, c)
    rows, which = distinct_shapes(s, machines)
    some = s.at(rows)
    fits = (_replica_memory(s).distance <= 1)[rows]
    some, _ = _fewest(some, a.max_utilisation, fits) if job.pools else (some, None)
    rate = np.where(fits, some.highest_rate(a.max_utilisation), 0.0)
    load = some.loaded(job.rate / np.maximum(rate, LOWEST_RATE), a.max_utilisation)
    return s, rate[which], rows_of(load, which)


@dataclass(frozen=True, eq=False)
class ReplicaMemory:
    """Bytes on the fullest accelerator of each shape.

    longest: one request of full length, pessimistic. mean: one request at half of its response. budget: limit of the engine.
    """

    weights: np.ndarray
    activations: np.ndarray
    fixed: np.ndarray
    longest: np.ndarray
    mean: np.ndarray
    budget: np.ndarray

    @property
    def distance(self) -> np.ndarray:
        """Ratio of needed to available memory; above 1 the engine does not start or refuses its longest request."""
        return (self.weights + self.activations + self.fixed + self.longest) / self.budget

    def memory(self, row: int, target: Target, a: Assumptions, running: float = 0.0) -> Memory:
        """Memory with `running` concurrent requests, at least the longest request, at most the available memory."""
        weights, activations, fixed, longest, mean, budget = (
            float(x[row]) for x in (self.weights, self.activations, self.fixed, self.longest, self.mean, self.budget)
        )
        kv = max(longest, min(running * mean, budget * (1 - 1e-9) - weights - activations - fixed))
        return Memory(
            float(target.chip.memory_bytes), a.serving_max_fill, weights, activations_bytes=activations, kv_bytes=kv, fixed_bytes=fixed
        )


def _replica_memory(s: ServingLayouts) -> ReplicaMemory:
    terms, shape = serving_memory.serving_memory(s.case, s.pool), s.ways.target.shape
    longest = serving_memory.kv_bytes_per_sequence(s.case, float(s.job.longest)) / s.cache_share
    budget = s.case.memory_share * s.case.chip.memory_bytes
    mean = serving_memory.kv_bytes_per_sequence(s.case, s.job.input_tokens + s.job.output_tokens / 2)
    every = (terms.weights, terms.activations, terms.fixed, longest, mean, budget)
    return ReplicaMemory(*(np.broadcast_to(x, shape) for x in every))


def _shortfalls(job: ServingJob, memory: ReplicaMemory, enough: np.ndarray, count: np.ndarray, load: ReplicaLoad) -> np.ndarray:
    """Distance of the worst constraint; 0 where all are met. Shapes that do not start come last."""
    slow = np.maximum(load.tpot_s / (job.tpot[0] if job.tpot else np.inf), load.ttft_s / (job.ttft[0] if job.ttft else np.inf))
    over = count / job.max_replicas if job.max_replicas else np.zeros(len(count))
    late = np.where(slow > 1, np.minimum(slow, UNREACHABLE), UNREACHABLE)
    return np.where(memory.distance > 1, UNREACHABLE * memory.distance, np.where(enough == 0, late, np.where(over > 1, over, 0.0)))


def _best(s: ServingLayouts, missed: np.ndarray, score: np.ndarray, accelerators: np.ndarray) -> dict[int, int]:
    """Row per target: the smallest shortfall, then the lowest score, then the fewest accelerators and stages."""
    order = np.lexsort((s.ways.tensor, s.ways.pipeline, accelerators, score, missed, s.ways.target))[::-1]
    return dict(zip(s.ways.target[order].tolist(), order.tolist(), strict=True))


def _medians(
    s: ServingLayouts, machines: TargetArrays, rows: np.ndarray, count: np.ndarray, a: Assumptions, c: Calibration
) -> dict[int, tuple[float, float]]:
    """Medians of the first token's time and the time per token, per row with its number of replicas, at the percentiles of the goals."""
    load = s.at(rows).at_median(machines, c).loaded(count[rows].astype(float), a.max_utilisation)
    return dict(zip(rows.tolist(), zip(load.ttft_s.tolist(), load.tpot_s.tolist(), strict=True), strict=True))


def _deployed(
    job: ServingJob,
    found: Outcome,
    load: ReplicaLoad,
    row: int,
    count: int,
    nodes: int,
    kv_tokens: int,
    median: tuple[float, float],
    prefill: int | None,
) -> Outcome:
    tpot_s = float(load.tpot_s[row]) if job.has_later_tokens else None
    speed = Speed(
        tokens_per_s=job.rate * job.output_tokens, ttft_s=float(load.ttft_s[row]), tpot_s=tpot_s,
        concurrency=math.ceil(load.running[row]), requests_per_s=job.rate, kv_tokens=kv_tokens,
        prefill_replicas=prefill, ttft_p50_s=median[0], tpot_p50_s=median[1] if job.has_later_tokens else None,
    )  # fmt: skip
    maximum = max(count, job.max_replicas or count)
    over = Rejection(Limit.THROUGHPUT, count, job.max_replicas, "replicas", Reason.REPLICA_LIMIT)
    rejections = (over,) if job.max_replicas is not None and count > job.max_replicas else ()
    return replace(found, speed=speed, nodes=nodes, replicas=count, max_replicas=maximum, rejections=rejections)


def _memory_rejection(s: ServingLayouts, memory: ReplicaMemory, row: int, target: Target) -> Rejection:
    have, width = float(memory.budget[row]), float(np.broadcast_to(s.case.linear_bytes, s.ways.target.shape)[row])
    need, saved = float(memory.distance[row]) * have, float(memory.weights[row]) * (1 - 1 / width)
    remedies = (*(target.quantization(width) if need - saved <= have else ()), Remedy.LARGER_ACCELERATOR)
    return Rejection(Limit.DEVICE_MEMORY, need / GIB, have / GIB, "GiB per accelerator", Reason.REPLICA_MEMORY, remedies=remedies)


def _no_layout(job: ServingJob, target: Target) -> Outcome:
    width, shard = block_scaled_shard(job, job.tensor or 1)
    if shard:
        split = Rejection(Limit.GEOMETRY, reason=Reason.REPLICA_BLOCKS, subject=str(job.tensor), detail=f"{shard:g}", amount=width)
        return Outcome(rejections=(split,))
    tensor, heads = str(job.tensor), str(job.network.heads)
    pin = Rejection(Limit.GEOMETRY, reason=Reason.REPLICA_TENSOR, subject=tensor, detail=heads, amount=target.per_node)
    return Outcome(rejections=(pin,))
