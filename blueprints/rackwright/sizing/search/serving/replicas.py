"""Replicas of a server on many machines at once: ways to lay one out, what a number of them would see, and how few are enough.

Latency and cache are the estimator's, for the mean request; percentiles come from here: requests in flight scatter like arrivals
(Poisson), waiting has the exponential tail of M/G/1 (Pollaczek-Khinchine). Does not depend on the catalog or the spec.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from rackwright.estimator.calibration.coefficients import Calibration, FittedModel
from rackwright.estimator.case import Num
from rackwright.estimator.model.block_scales import uneven_shard
from rackwright.estimator.serving import decode, memory
from rackwright.estimator.serving.case import ServingCase
from rackwright.estimator.serving.first_token import TtftCoefficients, extra_parts, first_token_seconds
from rackwright.estimator.serving.iteration import DecodeCoefficients, prefill_seconds, running_requests, token_seconds
from rackwright.estimator.serving.speculation import rate_quantiles, time_quantiles
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import ServingJob, linear_bytes
from rackwright.sizing.metrics import ParallelLayout
from rackwright.sizing.search.outcome import Spread
from rackwright.sizing.search.target import TargetArrays, rows_of

MAX_REPLICAS = 1024
"""Maximum number of replicas searched."""
MIN_PERCENTILE = 95
"""Minimum percentile of time in which a replica has memory for its running requests."""
TRIALS_PER_ROUND = 10
"""Replica counts tried per round."""
LOWEST_RATE, HIGHEST_RATE = 1e-4, 1e5
"""Requests/s of one replica between which its highest rate is searched."""
RATE_ROUNDS = 7
"""Rounds of TRIALS_PER_ROUND rates; the last step is 1 part in 10^6 of the rate."""
PRIOR = DecodeCoefficients()
"""Decode coefficients that the first-token model was fitted with; the estimator uses the same."""
WIDENED = {"decode": time_quantiles, "offline": rate_quantiles}
"""Fitted model -> its quantiles under speculative decoding."""
NORMAL = {50: 0.0, 90: 1.282, 95: 1.645, 99: 2.326}


@dataclass(frozen=True, eq=False)
class ReplicaShapes:
    """Shape of a replica on a target: tensor ways and pipeline stages."""

    target: np.ndarray
    tensor: np.ndarray
    pipeline: np.ndarray

    @property
    def width(self) -> np.ndarray:
        return self.tensor * self.pipeline

    def parallelism(self, row: int) -> ParallelLayout:
        return ParallelLayout(tensor=int(self.tensor[row]), pipeline=int(self.pipeline[row]))


def replica_shapes(job: ServingJob, machines: TargetArrays) -> ReplicaShapes:
    """Inside one machine, unless stages are pinned: then online replicas of whole machines too. Tensor parallelism keeps key and value
    heads whole or copied evenly; stages are powers of two. On Neuron one device or all of a machine, unless pinned: what a pod is given
    (https://awsdocs-neuron.readthedocs-hosted.com/en/latest/deploy/infrastructure/scheduler.html). On TPU all chips of a machine: a pod
    requests them together (https://cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus). On a divided accelerator one part: parts
    do not reach each other's memory (https://docs.nvidia.com/datacenter/tesla/mig-user-guide/deployment-considerations.html)."""
    pinned = job.tensor or job.pipeline
    by_size = {size: _layouts(job, size) for size in {t.per_node for t in machines.targets}}
    rows = [
        (i, *way)
        for i, t in enumerate(machines.targets)
        for way in by_size[t.per_node]
        if (pinned or not t.neuron or way in ((1, 1), (t.per_node, 1)))
        and (not t.sharing or way == (1, 1))
        and (not t.is_whole_machine or way == (t.per_node, 1))
    ]
    target, tensor, pipeline = np.array(rows, dtype=float).reshape(-1, 3).T
    return ReplicaShapes(target.astype(int), tensor, pipeline)


def block_scaled_shard(job: ServingJob, tensor: int) -> tuple[float, float]:
    """Width of a network of FP8 blocks, and of its shard that splits a block; zeros where no block is split."""
    return uneven_shard(job.network, tensor) if job.native == "fp8" and job.precision in ("auto", "fp8") else (0.0, 0.0)


def _layouts(job: ServingJob, per_node: int) -> list[tuple[int, int]]:
    n = job.network

    def fits(t: int) -> bool:
        keys = not n.kv_heads or n.kv_heads % t == 0 or t % n.kv_heads == 0
        return per_node % t == 0 and (n.heads or 1) % t == 0 and keys and not block_scaled_shard(job, t)[1]

    tensors = [t for t in range(1, per_node + 1) if fits(t) and job.tensor in (None, t)]
    stages = [job.pipeline] if job.pipeline else [1 << i for i in range(per_node.bit_length()) if 1 << i <= max(n.layers, 1)]
    wide = bool(job.pipeline) and not job.ends and stages[0] <= max(n.layers, 1)
    return [(t, p) for t in tensors for p in stages if per_node % (t * p) == 0 or (wide and t == per_node)]


@dataclass(frozen=True, eq=False)
class ReplicaLoad:
    """Load of each replica shape: seconds at the requested percentiles, pessimistic; running: peak concurrent requests."""

    ttft_s: np.ndarray
    tpot_s: np.ndarray
    running: np.ndarray
    carries: np.ndarray
    ok: np.ndarray


@dataclass(frozen=True, eq=False)
class ServingLayouts:
    """Every replica shape with its memory and latency models.

    *_slow: pessimistic over median time. cache_share: pessimistic share of the cache.
    """

    job: ServingJob
    ways: ReplicaShapes
    case: ServingCase
    decode: DecodeCoefficients
    ttft: TtftCoefficients
    pool: memory.CacheCoefficients
    token_slow: np.ndarray
    first_slow: np.ndarray
    cache_share: np.ndarray

    @property
    def room(self) -> np.ndarray:
        return memory.max_sequences(self.case, self.pool) * self.cache_share

    def at(self, rows: np.ndarray) -> "ServingLayouts":
        return replace(
            self, ways=rows_of(self.ways, rows), case=rows_of(self.case, rows), token_slow=self.token_slow[rows],
            first_slow=self.first_slow[rows], cache_share=self.cache_share[rows],
        )  # fmt: skip

    def loaded(self, replicas: Num, max_utilisation: float) -> ReplicaLoad:
        """Load with the traffic spread evenly over the replicas."""
        job, k = self.job, self.decode
        case = replace(self.case, rate=job.rate / replicas)
        mean = running_requests(case, k)
        late = mean * self.token_slow
        tpot_at, ttft_at = (goal[1] if goal else 50 for goal in (job.tpot, job.ttft))
        peak, felt = _peak(late, max(tpot_at, MIN_PERCENTILE)), _peak(late, tpot_at)
        prompt = prefill_seconds(case, k)
        carries = (case.rate * prompt <= max_utilisation) & (peak <= self.room)
        tpot = token_seconds(case, k, np.maximum(felt, 1.0), prompt) * self.token_slow
        ttft = (first_token_seconds(case, PRIOR, self.ttft, mean) + self._tail(case, prompt, ttft_at)) * self.first_slow
        ok = carries & (tpot <= (job.tpot[0] if job.tpot else np.inf)) & (ttft <= (job.ttft[0] if job.ttft else np.inf))
        return ReplicaLoad(ttft, tpot, peak, carries, ok)

    def _tail(self, case: ServingCase, prompt: Num, percentile: int) -> Num:
        """Additional seconds of the percentile over the mean."""
        job, busy = self.job, np.minimum(case.rate * prompt, 1 - 1e-6)
        scatter = math.exp(lognormal_sigma(job.input_tokens, job.input_p95) ** 2)
        mean = prompt * busy / (2 * (1 - busy))
        late = prompt * scatter / (2 * (1 - busy)) * np.log(np.maximum(busy / (1 - percentile / 100), 1.0))
        own = prefill_seconds(case, self.decode, job.input_p95) - prompt if percentile >= 90 else 0.0
        return np.maximum(late - mean, 0.0) + own

    def fewest(self, max_utilisation: float, among: np.ndarray) -> np.ndarray:
        """Minimum replicas of each shape that meet the goals; 0 where MAX_REPLICAS do not, or outside `among`. Search by tenths."""
        count = len(self.ways.target)
        low, high, never = np.zeros(count, dtype=int), np.full(count, MAX_REPLICAS), np.ones(count, dtype=bool)
        searched = np.flatnonzero(among)
        never[searched] = ~self.at(searched).loaded(float(MAX_REPLICAS), max_utilisation).ok
        while len(searched := np.flatnonzero(~never & (high - low > 1))):
            steps, span = np.arange(1, TRIALS_PER_ROUND + 1), (high - low)[searched]
            tried = np.clip(low[searched][:, None] + -(-span[:, None] * steps // (TRIALS_PER_ROUND + 1)), 1, high[searched][:, None])
            ok = self.at(np.repeat(searched, TRIALS_PER_ROUND)).loaded(tried.ravel().astype(float), max_utilisation).ok.reshape(tried.shape)
            low[searched] = np.maximum(low[searched], np.where(ok, 0, tried).max(axis=1))
            high[searched] = np.minimum(high[searched], np.where(ok, tried, MAX_REPLICAS).min(axis=1))
        return np.where(never, 0, high)

    def highest_rate(self, max_utilisation: float) -> np.ndarray:
        """Requests/s of one replica of each shape up to which it meets the goals; 0 where it misses them without traffic. As `fewest`."""
        count = len(self.ways.target)
        low, high = np.full(count, LOWEST_RATE), np.full(count, HIGHEST_RATE)
        never = ~self.loaded(self.job.rate / low, max_utilisation).ok
        steps, rows = np.arange(1, TRIALS_PER_ROUND + 1) / (TRIALS_PER_ROUND + 1), np.repeat(np.arange(count), TRIALS_PER_ROUND)
        for _ in range(RATE_ROUNDS):
            tried = low[:, None] * (high / low)[:, None] ** steps
            ok = self.at(rows).loaded(self.job.rate / tried.ravel(), max_utilisation).ok.reshape(tried.shape)
            low, high = np.where(ok, tried, low[:, None]).max(axis=1), np.where(ok, high[:, None], tried).min(axis=1)
        return np.where(never, 0.0, low)

    def at_median(self, machines: TargetArrays, c: Calibration) -> "ServingLayouts":
        """The layouts with the median of the latency instead of its p80."""
        tpot, ttft = (np.array([f for _, f in interval_factors(m, self.job, machines, c)])[self.ways.target] for m in decode.MODELS)
        return replace(self, token_slow=tpot, first_slow=ttft)


def distinct_shapes(s: ServingLayouts, machines: TargetArrays) -> tuple[np.ndarray, np.ndarray]:
    """Shapes that differ in latency or cache, and the index of each shape among them."""
    names = {name: i for i, name in enumerate(dict.fromkeys(t.accelerator for t in machines.targets))}
    chip, wires = s.case.chip, s.case.links
    named = np.array([names[t.accelerator] for t in machines.targets])[s.ways.target]
    inside = s.ways.tensor <= wires.domain
    columns = (named, chip.memory_bytes, wires.scale_up_bytes_per_s, wires.scale_out_bytes_per_s, inside, s.ways.tensor, s.ways.pipeline)
    rows = list(zip(*(np.asarray(c).tolist() for c in columns), strict=True))
    first: dict[tuple, int] = {}
    for row, key in enumerate(rows):
        first.setdefault(key, row)
    place = {key: i for i, key in enumerate(first)}
    return np.array(list(first.values()), dtype=int), np.array([place[key] for key in rows], dtype=int)


def serving_layouts(job: ServingJob, machines: TargetArrays, formats: list[str], a: Assumptions, c: Calibration) -> ServingLayouts:
    """Layouts of a service. formats: of weights and products, per target."""
    w = replica_shapes(job, machines)
    chip = replace(machines.chip, peak_flops=np.array([t.peak(f) for t, f in zip(machines.targets, formats, strict=True)]))
    element_bytes = np.array([linear_bytes(f) for f in formats])
    default_tokens = default_batched_tokens(job, machines, a)[w.target]
    case = ServingCase(
        network=job.network, chip=rows_of(chip, w.target), links=rows_of(machines.wires, w.target), tensor=w.tensor, pipeline=w.pipeline,
        linear_bytes=element_bytes[w.target], kv_element=job.kv_element, input=job.input_tokens, output=job.output_tokens,
        cached_share=job.cached_share, memory_share=a.serving_max_fill, batched_tokens=_batched_tokens(job, default_tokens),
        max_context=float(job.longest),
        engine=job.engine, open_loop=float(not job.ends), concurrency=np.inf, max_sequences=0.0 if job.ends else float(a.max_sequences),
        adapters=float(job.loras), adapter_rank=float(job.lora_rank), **dict(job.speculation),
    )  # fmt: skip
    case = replace(case, extra_parts=extra_parts(case, default_tokens, job.is_chunked))
    (tpot, ttft), kv = decode.MODELS, memory.MODELS[0]
    token, first = (np.array([s.p80 * f for s, f in interval_factors(m, job, machines, c)])[w.target] for m in (tpot, ttft))
    cache = np.array([1 / s.p80 * f for s, f in interval_factors(kv, job, machines, c, is_rate=True, is_cache=True)])[w.target]
    return ServingLayouts(job, w, case, c.of(tpot.name, tpot.kind), c.of(ttft.name, ttft.kind), c.of(kv.name, kv.kind), token, first, cache)


def default_batched_tokens(job: ServingJob, machines: TargetArrays, a: Assumptions) -> np.ndarray:
    """The server's default of tokens per iteration, per target."""
    is_small = memory.has_small_vllm_defaults(machines.chip) & (job.engine == "vllm") & (not job.ends)
    return np.where(is_small, np.minimum(memory.SMALL_VLLM_BATCHED_TOKENS, a.batched_tokens), a.batched_tokens)


def _batched_tokens(job: ServingJob, default: np.ndarray) -> np.ndarray:
    """Tokens per iteration. Without chunked prefill an iteration must hold the longest request (vLLM, SchedulerConfig)."""
    given = np.full(default.shape, float(job.batched_tokens)) if job.batched_tokens else default
    return given if job.is_chunked else np.maximum(given, job.longest)


def interval_factors(
    model: FittedModel, job: ServingJob, machines: TargetArrays, c: Calibration, is_rate: bool = False, is_cache: bool = False
) -> list[tuple[Spread, float]]:
    """Spread per target and the factor of the user's own runs. Cache predictions use the runs of every accelerator generation."""
    by_chip: dict[str, tuple[Spread, float]] = {}
    for t in machines.targets:
        if t.accelerator not in by_chip:
            case = ServingCase(job.network, t.chip, t.wires, engine=job.engine, **dict(job.speculation))
            generation = t.chip.evidence_group if not is_cache else ""
            found = c.residual(model.name, model.classes(case), generation)
            found = WIDENED[model.name](found, case) if model.name in WIDENED else found
            spread = Spread.of_rate(found) if is_rate else Spread.of_time(found)
            by_chip[t.accelerator] = spread.widened(t.slowdown), c.factor(model.name, model.classes(case), t.chip.evidence_group)
    return [by_chip[t.accelerator] for t in machines.targets]


def _peak(running: Num, percentile: float) -> Num:
    """Concurrent requests that are exceeded in (100 - percentile) % of the time: Poisson occupancy of an infinite server."""
    return running + NORMAL[int(percentile)] * np.sqrt(np.maximum(running, 0.0))


def lognormal_sigma(mean: float, p95: float) -> float:
    """Spread of request lengths from mean and 95th percentile; 0 when they are equal. ln(p95 / mean) = 1.645 s - s^2 / 2."""
    ratio = math.log(max(p95 / mean, 1.0))
    return 1.645 - math.sqrt(max(1.645**2 - 2 * ratio, 0.0))
