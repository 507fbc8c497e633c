"""The cheapest way to answer requests on each of many machines, in the words of a plan. Knows neither catalog nor spec.

Online: the fewest replicas that meet the goals, over every way to lay one out. A batch: the way with the highest rate. Networks that
answer in whole passes are in passes.py.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.estimator.serving import decode, throughput
from rackwright.estimator.serving import memory as serving_memory
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import ServingJob
from rackwright.sizing.metrics import Limit, Memory, Rejection, Speed
from rackwright.sizing.search.outcome import Outcome
from rackwright.sizing.search.replicas import MOST, Loaded, ServingLayouts, distinct, service, spreads
from rackwright.sizing.search.target import Target, TargetArrays, rows_of
from rackwright.units import GIB

NEVER = 1e9
"""Farther off than anything that can be counted."""
WIDE = 1.5
"""Bytes per weight, above which fewer bits help."""


def best_serving(job: ServingJob, machines: TargetArrays, formats: list[str], a: Assumptions, c: Calibration) -> list[Outcome]:
    """For each target the fewest machines, of equals the fewest accelerators; where no way meets the goals the nearest.

    formats: of the weights, per target.
    """
    s = service(job, machines, formats, a, c)
    held = _held(s)
    rows, which = distinct(s, machines)
    some = s.at(rows)
    enough = some.fewest(a.max_utilisation, (held.distance <= 1)[rows])
    count = np.maximum(np.where(enough > 0, enough, MOST), max(job.min_replicas, 1))
    seen = rows_of(some.loaded(count.astype(float), a.max_utilisation), which)
    enough, count = enough[which], count[which]
    missed = _missed(job, held, enough, count, seen)
    nodes = np.ceil(count * s.ways.width / machines.per_node[s.ways.target])
    tokens = np.broadcast_to(serving_memory.kv_tokens(s.case, s.pool), nodes.shape)
    chosen, looked_at = _best(s, missed, nodes, count * s.ways.width), np.bincount(s.ways.target, minlength=len(formats))
    outcomes = []
    for i, (target, (spread, _)) in enumerate(zip(machines.targets, spreads(decode.MODELS[0], job, machines, c), strict=True)):
        row = chosen.get(i)
        if row is None:
            outcomes.append(_no_way(job, target))
            continue
        memory = held.memory(row, target, a, float(seen.running[row]) if enough[row] else 0.0)
        found = Outcome(
            s.ways.parallelism(row), memory, band=spread, evidence=spread.words, precision=formats[i], points=int(looked_at[i]) * MOST
        )
        if held.distance[row] > 1:
            found = replace(found, rejections=(_too_small(s, held, row, target),))
        elif not enough[row]:
            found = replace(found, rejections=_too_slow(job, seen, row))
        else:
            found = _deployed(job, found, seen, row, int(count[row]), int(nodes[row]), int(tokens[row]))
        outcomes.append(found)
    return outcomes


def best_batch(job: ServingJob, machines: TargetArrays, formats: list[str], a: Assumptions, c: Calibration) -> list[Outcome]:
    """Every machine of a target at once, each replica with its share of the requests: the way that is done first."""
    s, model = service(job, machines, formats, a, c), throughput.MODELS[0]
    replicas = machines.accelerators[s.ways.target] / s.ways.width
    case, held = replace(s.case, requests=np.ceil(job.requests / replicas)), _held(s)
    spread = spreads(model, job, machines, c, is_rate=True)
    factor = np.array([f for _, f in spread])[s.ways.target]
    rate = throughput.offline_tokens_per_s(case, c.of(model.name, model.kind), s.pool) * replicas * factor
    running = throughput.max_running_requests(case, s.pool)
    missed = np.where(held.distance > 1, held.distance, 0.0)
    chosen = _best(s, missed, -rate, s.ways.width)
    outcomes = []
    for i, target in enumerate(machines.targets):
        row = chosen.get(i)
        if row is None:
            outcomes.append(_no_way(job, target))
            continue
        count = int(replicas[row])
        found = Outcome(
            s.ways.parallelism(row), held.memory(row, target, a, np.inf), band=spread[i][0], evidence=spread[i][0].words,
            precision=formats[i],
            nodes=target.nodes, replicas=count, max_replicas=count, points=int(np.sum(s.ways.target == i)),
        )  # fmt: skip
        if held.distance[row] > 1:
            outcomes.append(replace(found, rejections=(_too_small(s, held, row, target),)))
            continue
        tokens, at_once = float(rate[row]), float(running[row])
        speed = Speed(tokens, tpot_s=at_once * count / tokens, concurrency=int(at_once), requests_per_s=tokens / job.output_tokens)
        outcomes.append(replace(found, speed=speed, work_s=job.requests * job.output_tokens / tokens))
    return outcomes


@dataclass(frozen=True, eq=False)
class Held:
    """Bytes on the fullest accelerator of each way. longest: one request of full length, on the pessimistic side; mean: one request
    half way through its answer; budget: what the engine may take."""

    weights: np.ndarray
    activations: np.ndarray
    fixed: np.ndarray
    longest: np.ndarray
    mean: np.ndarray
    budget: np.ndarray

    @property
    def distance(self) -> np.ndarray:
        """Need over have; more than 1 does not start, or refuses its longest request."""
        return (self.weights + self.activations + self.fixed + self.longest) / self.budget

    def memory(self, row: int, target: Target, a: Assumptions, running: float = 0.0) -> Memory:
        """With so many requests in flight, at least the longest one; as many as there is room for where that is less."""
        weights, activations, fixed, longest, mean, budget = (
            float(x[row]) for x in (self.weights, self.activations, self.fixed, self.longest, self.mean, self.budget)
        )
        kv = max(longest, min(running * mean, budget * (1 - 1e-9) - weights - activations - fixed))
        return Memory(
            float(target.chip.memory_bytes), a.serving_max_fill, weights, activations_bytes=activations, kv_bytes=kv, fixed_bytes=fixed
        )


def _held(s: ServingLayouts) -> Held:
    terms, shape = serving_memory.serving_memory(s.case, s.pool), s.ways.target.shape
    longest = serving_memory.kv_bytes_per_sequence(s.case, float(s.job.longest)) / s.cache_share
    budget = s.case.memory_share * s.case.chip.memory_bytes
    mean = serving_memory.kv_bytes_per_sequence(s.case, s.job.input_tokens + s.job.output_tokens / 2)
    every = (terms.weights, terms.activations, terms.fixed, longest, mean, budget)
    return Held(*(np.broadcast_to(x, shape) for x in every))


def _missed(job: ServingJob, held: Held, enough: np.ndarray, count: np.ndarray, seen: Loaded) -> np.ndarray:
    """How many times off the worst limit is; 0 where all are met. Ways that do not even start come last."""
    slow = np.maximum(seen.tpot_s / (job.tpot[0] if job.tpot else np.inf), seen.ttft_s / (job.ttft[0] if job.ttft else np.inf))
    over = count / job.max_replicas if job.max_replicas else np.zeros(len(count))
    late = np.where(slow > 1, np.minimum(slow, NEVER), NEVER)
    return np.where(held.distance > 1, NEVER * held.distance, np.where(enough == 0, late, np.where(over > 1, over, 0.0)))


def _best(s: ServingLayouts, missed: np.ndarray, score: np.ndarray, accelerators: np.ndarray) -> dict[int, int]:
    """Row of each target that has one: the least missed, then the least score, then the fewest accelerators and stages."""
    order = np.lexsort((s.ways.tensor, s.ways.pipeline, accelerators, score, missed, s.ways.target))[::-1]
    return dict(zip(s.ways.target[order].tolist(), order.tolist(), strict=True))


def _deployed(job: ServingJob, found: Outcome, seen: Loaded, row: int, count: int, nodes: int, kv_tokens: int) -> Outcome:
    speed = Speed(
        tokens_per_s=job.rate * job.output_tokens, ttft_s=float(seen.ttft_s[row]), tpot_s=float(seen.tpot_s[row]),
        concurrency=math.ceil(seen.running[row]), requests_per_s=job.rate, kv_tokens=kv_tokens,
    )  # fmt: skip
    most = max(count, job.max_replicas or count)
    return replace(found, speed=speed, nodes=nodes, replicas=count, max_replicas=most, rejections=_too_many(job, count))


def _too_many(job: ServingJob, count: int) -> tuple[Rejection, ...]:
    if job.max_replicas is None or count <= job.max_replicas:
        return ()
    words = "the traffic needs more replicas than max_replicas allows"
    return (Rejection(Limit.THROUGHPUT, count, job.max_replicas, "replicas", words, f"max_replicas: {count}"),)


def _too_small(s: ServingLayouts, held: Held, row: int, target: Target) -> Rejection:
    have, fewer = float(held.budget[row]), target.few_bits and float(np.broadcast_to(s.case.linear_bytes, s.ways.target.shape)[row]) > WIDE
    remedy = (f"quantization: {target.few_bits}, or " if fewer else "") + "an accelerator with more memory"
    words = "weights and one request of full length"
    return Rejection(Limit.DEVICE_MEMORY, float(held.distance[row]) * have / GIB, have / GIB, "GiB per accelerator", words, remedy)


def _too_slow(job: ServingJob, seen: Loaded, row: int) -> tuple[Rejection, ...]:
    """Limits that no number of replicas meets: an idle one is too slow already."""
    said = [
        slow(limit, float(seconds[row]), goal[0], key)
        for limit, seconds, goal, key in (
            (Limit.TPOT, seen.tpot_s, job.tpot, "tpot"),
            (Limit.TTFT, seen.ttft_s, job.ttft, "ttft"),
        )
        if goal and seconds[row] > goal[0]
    ]
    many = Rejection(Limit.THROUGHPUT, None, None, words=f"more than {MOST} replicas", remedy="a larger accelerator")
    return tuple(said) or (many,)


def slow(limit: Limit, seconds: float, goal_s: float, key: str) -> Rejection:
    remedy = f"{key}.target: {math.ceil(seconds * 1000)} ms, or quantization: fp8 where the accelerator has it"
    return Rejection(limit, seconds * 1000, goal_s * 1000, "ms", "one replica without other traffic", remedy)


def _no_way(job: ServingJob, target: Target) -> Outcome:
    words = f"tensor parallel {job.tensor} must divide {job.network.heads} heads and {target.per_node} accelerators of a node"
    return Outcome(rejections=(Rejection(Limit.GEOMETRY, None, None, words=words, remedy="leave parallelism.tensor out"),))
