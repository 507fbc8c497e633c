"""Replicas of a server on many machines at once: ways to lay one out, what a number of them would see, and how few are enough.

Latency and cache are the estimator's, for the mean request; percentiles come from here: requests in flight scatter like arrivals
(Poisson), waiting has the exponential tail of M/G/1 (Pollaczek-Khinchine). Knows neither catalog nor spec.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from rackwright.estimator.calibration.coefficients import Calibration, FittedModel
from rackwright.estimator.case import Num
from rackwright.estimator.serving import decode, memory
from rackwright.estimator.serving.case import ServingCase
from rackwright.estimator.serving.first_token import TtftCoefficients, first_token_seconds
from rackwright.estimator.serving.iteration import DecodeCoefficients, prefill_seconds, running_requests, token_seconds
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import ServingJob, linear_bytes
from rackwright.sizing.metrics import ParallelLayout
from rackwright.sizing.search.outcome import Spread
from rackwright.sizing.search.target import TargetArrays, rows_of

MOST = 1024
"""Replicas that are looked at, at most."""
LEAST_PERCENTILE = 95
"""Share of the time, in per cent, in which a replica has room for the requests that run, whatever latency is asked for."""
ROUND = 10
"""Numbers of replicas tried at once."""
PRIOR = DecodeCoefficients()
"""Beside which the first token's coefficients were fitted: the estimator asks it the same way."""
NORMAL = {50: 0.0, 90: 1.282, 95: 1.645, 99: 2.326}


@dataclass(frozen=True, eq=False)
class Ways:
    """One replica on a target: accelerators that share each layer, and stages."""

    target: np.ndarray
    tensor: np.ndarray
    pipeline: np.ndarray

    @property
    def width(self) -> np.ndarray:
        return self.tensor * self.pipeline

    def parallelism(self, row: int) -> ParallelLayout:
        return ParallelLayout(tensor=int(self.tensor[row]), pipeline=int(self.pipeline[row]))


def ways(job: ServingJob, machines: TargetArrays) -> Ways:
    """Inside one machine, unless stages are pinned: then online replicas of whole machines too. Tensor parallelism keeps key and value
    heads whole or copied evenly; stages are powers of two. On Neuron one device or all of a machine, unless pinned: what a pod is given
    (https://awsdocs-neuron.readthedocs-hosted.com/en/latest/deploy/infrastructure/scheduler.html)."""
    pinned = job.tensor or job.pipeline
    by_size = {size: _layouts(job, size) for size in {t.per_node for t in machines.targets}}
    rows = [
        (i, *way)
        for i, t in enumerate(machines.targets)
        for way in by_size[t.per_node]
        if pinned or not t.neuron or way in ((1, 1), (t.per_node, 1))
    ]
    target, tensor, pipeline = np.array(rows, dtype=float).reshape(-1, 3).T
    return Ways(target.astype(int), tensor, pipeline)


def _layouts(job: ServingJob, per_node: int) -> list[tuple[int, int]]:
    n = job.network

    def fits(t: int) -> bool:
        keys = not n.kv_heads or n.kv_heads % t == 0 or t % n.kv_heads == 0
        return per_node % t == 0 and (n.heads or 1) % t == 0 and keys

    tensors = [t for t in range(1, per_node + 1) if fits(t) and job.tensor in (None, t)]
    stages = [job.pipeline] if job.pipeline else [1 << i for i in range(per_node.bit_length()) if 1 << i <= max(n.layers, 1)]
    wide = bool(job.pipeline) and not job.ends and stages[0] <= max(n.layers, 1)
    return [(t, p) for t in tensors for p in stages if per_node % (t * p) == 0 or (wide and t == per_node)]


@dataclass(frozen=True, eq=False)
class Loaded:
    """What each way sees: seconds at the percentiles asked for, on the pessimistic side; running: requests, at their peak."""

    ttft_s: np.ndarray
    tpot_s: np.ndarray
    running: np.ndarray
    carries: np.ndarray
    ok: np.ndarray


@dataclass(frozen=True, eq=False)
class ServingLayouts:
    """Every way, with what is known of its memory and of its latency. *_slow: pessimistic over median
    time; cache_share: of the cache, what is there on the pessimistic side."""

    job: ServingJob
    ways: Ways
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

    def loaded(self, replicas: Num, max_utilisation: float) -> Loaded:
        """With the traffic spread evenly over so many replicas of each way."""
        job, k = self.job, self.decode
        case = replace(self.case, rate=job.rate / replicas)
        mean = running_requests(case, k)
        late = mean * self.token_slow
        tpot_at, ttft_at = (goal[1] if goal else 50 for goal in (job.tpot, job.ttft))
        peak, felt = _peak(late, max(tpot_at, LEAST_PERCENTILE)), _peak(late, tpot_at)
        prompt = prefill_seconds(case, k)
        carries = (case.rate * prompt <= max_utilisation) & (peak <= self.room)
        tpot = token_seconds(case, k, np.maximum(felt, 1.0)) * self.token_slow
        ttft = (first_token_seconds(case, PRIOR, self.ttft, mean) + self._tail(case, prompt, ttft_at)) * self.first_slow
        ok = carries & (tpot <= (job.tpot[0] if job.tpot else np.inf)) & (ttft <= (job.ttft[0] if job.ttft else np.inf))
        return Loaded(ttft, tpot, peak, carries, ok)

    def _tail(self, case: ServingCase, prompt: Num, percentile: int) -> Num:
        """What the percentile waits and reads longer than the mean."""
        job, busy = self.job, np.minimum(case.rate * prompt, 1 - 1e-6)
        scatter = math.exp(lognormal_sigma(job.input_tokens, job.input_p95) ** 2)
        mean = prompt * busy / (2 * (1 - busy))
        late = prompt * scatter / (2 * (1 - busy)) * np.log(np.maximum(busy / (1 - percentile / 100), 1.0))
        own = prefill_seconds(case, self.decode, job.input_p95) - prompt if percentile >= 90 else 0.0
        return np.maximum(late - mean, 0.0) + own

    def fewest(self, max_utilisation: float, among: np.ndarray) -> np.ndarray:
        """Replicas of each way that meet the goals, 0 where MOST do not, or that are not `among` those to look at. By tenths: more
        replicas never see more load."""
        count = len(self.ways.target)
        low, high, never = np.zeros(count, dtype=int), np.full(count, MOST), np.ones(count, dtype=bool)
        asked = np.flatnonzero(among)
        never[asked] = ~self.at(asked).loaded(float(MOST), max_utilisation).ok
        while len(asked := np.flatnonzero(~never & (high - low > 1))):
            steps, span = np.arange(1, ROUND + 1), (high - low)[asked]
            tried = np.clip(low[asked][:, None] + -(-span[:, None] * steps // (ROUND + 1)), 1, high[asked][:, None])
            ok = self.at(np.repeat(asked, ROUND)).loaded(tried.ravel().astype(float), max_utilisation).ok.reshape(tried.shape)
            low[asked] = np.maximum(low[asked], np.where(ok, 0, tried).max(axis=1))
            high[asked] = np.minimum(high[asked], np.where(ok, tried, MOST).min(axis=1))
        return np.where(never, 0, high)


def distinct(s: ServingLayouts, machines: TargetArrays) -> tuple[np.ndarray, np.ndarray]:
    """Ways that differ in what latency and cache depend on, and which of them each way is: one accelerator of a machine of eight is as
    good as one of a machine of two."""
    names = {name: i for i, name in enumerate(dict.fromkeys(t.accelerator for t in machines.targets))}
    chip, wires = s.case.chip, s.case.wires
    named = np.array([names[t.accelerator] for t in machines.targets])[s.ways.target]
    inside = s.ways.tensor <= wires.domain
    columns = (named, chip.memory_bytes, wires.scale_up_bytes_per_s, wires.scale_out_bytes_per_s, inside, s.ways.tensor, s.ways.pipeline)
    rows = list(zip(*(np.asarray(c).tolist() for c in columns), strict=True))
    first: dict[tuple, int] = {}
    for row, key in enumerate(rows):
        first.setdefault(key, row)
    place = {key: i for i, key in enumerate(first)}
    return np.array(list(first.values()), dtype=int), np.array([place[key] for key in rows], dtype=int)


def service(job: ServingJob, machines: TargetArrays, formats: list[str], a: Assumptions, c: Calibration) -> ServingLayouts:
    """formats: of the weights, per target, which are also what the matrices multiply in."""
    w = ways(job, machines)
    chip = replace(machines.chip, peak_flops=np.array([t.peak(f) for t, f in zip(machines.targets, formats, strict=True)]))
    held = np.array([linear_bytes(f) for f in formats])
    case = ServingCase(
        network=job.network, chip=rows_of(chip, w.target), wires=rows_of(machines.wires, w.target), tensor=w.tensor, pipeline=w.pipeline,
        linear_bytes=held[w.target], kv_element=job.kv_element, input=job.input_tokens, output=job.output_tokens,
        cached_share=job.cached_share, memory_share=a.serving_max_fill, batched_tokens=a.batched_tokens, max_context=float(job.longest),
        engine=job.engine, open_loop=float(not job.ends), concurrency=np.inf, max_sequences=0.0 if job.ends else float(a.max_sequences),
        adapters=float(job.loras), adapter_rank=float(job.lora_rank),
    )  # fmt: skip
    (tpot, ttft), kv = decode.MODELS, memory.MODELS[0]
    token, first = (np.array([s.p80 * f for s, f in spreads(m, job, machines, c)])[w.target] for m in (tpot, ttft))
    cache = np.array([1 / s.p80 * f for s, f in spreads(kv, job, machines, c, is_rate=True, is_cache=True)])[w.target]
    return ServingLayouts(job, w, case, c.of(tpot.name, tpot.kind), c.of(ttft.name, ttft.kind), c.of(kv.name, kv.kind), token, first, cache)


def spreads(
    model: FittedModel, job: ServingJob, machines: TargetArrays, c: Calibration, is_rate: bool = False, is_cache: bool = False
) -> list[tuple[Spread, float]]:
    """Of each target, with what the user's own runs multiply the prediction with; asked once of each accelerator. A cache is counted,
    so that its runs speak of every generation."""
    by_chip: dict[str, tuple[Spread, float]] = {}
    for t in machines.targets:
        if t.accelerator not in by_chip:
            case = ServingCase(job.network, t.chip, t.wires, engine=job.engine)
            kin = t.chip.kin if not is_cache else ""
            found = c.residual(model.name, model.classes(case), kin)
            spread = Spread.of_rate(found) if is_rate else Spread.of_time(found)
            by_chip[t.accelerator] = spread, c.factor(model.name, model.classes(case), t.chip.kin)
    return [by_chip[t.accelerator] for t in machines.targets]


def _peak(running: Num, percentile: float) -> Num:
    """Requests in flight that are exceeded in only (100 - percentile) % of the time: Poisson occupancy of an infinite server."""
    return running + NORMAL[int(percentile)] * np.sqrt(np.maximum(running, 0.0))


def lognormal_sigma(mean: float, p95: float) -> float:
    """Spread of request lengths from mean and 95th percentile; 0 when they are equal. ln(p95 / mean) = 1.645 s - s^2 / 2."""
    ratio = math.log(max(p95 / mean, 1.0))
    return 1.645 - math.sqrt(max(1.645**2 - 2 * ratio, 0.0))
