"""The cheapest way to serve on given hardware: tensor width and replicas for the traffic. Knows neither catalog nor spec."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from rackwright.estimate.network import Network
from rackwright.sizing import memory, serving
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.outcome import Outcome, at_p80
from rackwright.sizing.plan import GIB, Limit, Memory, Parallelism, Rejection, Speed
from rackwright.sizing.priors import decode
from rackwright.sizing.serving import Engine, Load
from rackwright.sizing.target import Target

LEAST_PERCENTILE = 95
"""Share of the time, in per cent, in which a replica has room for the requests that run, whatever latency is asked for."""
REPLICAS = np.arange(1, 1025, dtype=float)
"""Numbers of replicas that are looked at, all at once."""


@dataclass(frozen=True)
class ServingJob:
    """Requests in numbers. rate: per second, 0 for a batch of `requests`; ttft, tpot: (seconds, percentile); longest: tokens of the
    longest request; generates False: `passes` forward passes per request (diffusion, vision, encoder); precision: of the weights, auto
    for `native`, the format they are published in; products: of the arithmetic, where that was said."""

    network: Network
    generates: bool
    precision: str
    kv_element: float
    engine: str
    input_tokens: float
    input_p95: float
    output_tokens: float
    output_p95: float
    longest: int
    cached_share: float
    rate: float
    requests: float
    ttft: tuple[float, int] | None
    tpot: tuple[float, int] | None
    min_replicas: int = 1
    max_replicas: int | None = None
    tensor: int | None = None
    products: str = "auto"
    native: str = "bf16"
    passes: float = 1.0

    @property
    def ends(self) -> bool:
        """A batch, done once its requests are."""
        return self.requests > 0

    def load(self, rate) -> Load:
        return Load(self.input_tokens, self.input_p95, self.output_tokens, self.output_p95, rate, self.cached_share)


@lru_cache(maxsize=4096)
def best_serving(job: ServingJob, machine: Target, peak_flops: float, precision: str, a: Assumptions) -> Outcome:
    """For each tensor width that geometry allows inside one node, the fewest replicas; of these the fewest accelerators.

    Where none meets the goals: the width whose worst limit is nearest.
    """
    widths = _widths(job, machine.per_node)
    if not widths:
        return Outcome(precision=precision, rejections=(_no_width(job, machine),))
    search = _serve_one if job.generates else _serve_samples
    found = [search(job, replace(machine, nodes=1), t, peak_flops, precision, a) for t in widths]
    points = len(found) * len(REPLICAS)
    good = [o for o in found if not o.rejections]
    if good:
        return replace(min(good, key=lambda o: (o.nodes, o.replicas * o.parallelism.tensor, o.parallelism.tensor)), points=points)
    nearest = min(found, key=lambda o: (max(r.distance for r in o.rejections), len(o.rejections), o.parallelism.tensor))
    return replace(nearest, points=points)


def _no_width(job: ServingJob, machine: Target) -> Rejection:
    words = f"tensor parallel {job.tensor} must divide {job.network.heads} heads and {machine.per_node} accelerators of a node"
    return Rejection(Limit.GEOMETRY, None, None, words=words, remedy="leave parallelism.tensor out")


def _widths(job: ServingJob, per_node: int) -> list[int]:
    """Whole key and value heads on each accelerator, or whole copies of them; one accelerator where nothing is generated."""
    n = job.network

    def fits(t: int) -> bool:
        keys = not n.kv_heads or n.kv_heads % t == 0 or t % n.kv_heads == 0
        return per_node % t == 0 and (n.heads or 1) % t == 0 and keys

    most = per_node if job.generates else 1
    return [t for t in range(1, most + 1) if fits(t) and job.tensor in (None, t)]


def _engine(job: ServingJob, machine: Target, tensor: int, peak_flops: float, precision: str) -> Engine:
    weights = serving.weight_bytes(job.network, precision)
    link = machine.wires.scale_up_bytes_per_s
    coefficients = decode(job.engine, job.network.is_moe, machine.accelerator)
    return Engine(
        peak_flops, machine.chip.memory_bytes, machine.chip.bandwidth_bytes_per_s, tensor, link, weights, job.kv_element, coefficients
    )


def _cache_limit(job: ServingJob, machine: Target, e: Engine, a: Assumptions) -> tuple[float, Rejection | None]:
    """Room for the cache, and the refusal when not even the longest request fits."""
    n = job.network
    longest = float(serving.kv_bytes_per_sequence(n, job.longest, e.tensor, e.kv_element))
    room = serving.cache_room_bytes(n, e, a)
    if room >= longest:
        return room, None
    have = e.memory_bytes * a.serving_max_fill
    need = have - room + longest
    wide = e.weights_bytes > n.linear * 1.5
    remedy = (f"quantization: {machine.few_bits}, or " if wide and machine.few_bits else "") + "an accelerator with more memory"
    words = "weights and one request of full length"
    return room, Rejection(Limit.DEVICE_MEMORY, need / GIB, have / GIB, "GiB per accelerator", words, remedy)


def _serve_one(job: ServingJob, machine: Target, tensor: int, peak_flops: float, precision: str, a: Assumptions) -> Outcome:
    n, e = job.network, _engine(job, machine, tensor, peak_flops, precision)
    room, refused = _cache_limit(job, machine, e, a)
    outcome = Outcome(
        Parallelism(tensor=tensor), _memory(job, e, 0.0, a), band=e.coefficients.band, evidence=e.coefficients.words, precision=precision
    )
    if refused:
        return replace(outcome, rejections=(refused,))
    state = _loaded(job, e, room, a)
    enough = np.flatnonzero(state.ok)
    per_node = machine.per_node // tensor
    if not len(enough):
        return replace(outcome, rejections=state.floor(job, len(REPLICAS) - 1))
    replicas = max(int(REPLICAS[enough[0]]), job.min_replicas, 1)
    row = min(replicas, len(REPLICAS)) - 1
    rejections: tuple[Rejection, ...] = ()
    if job.max_replicas is not None and replicas > job.max_replicas:
        words, remedy = "the traffic needs more replicas than max_replicas allows", f"max_replicas: {replicas}"
        rejections = (Rejection(Limit.THROUGHPUT, replicas, job.max_replicas, "replicas", words, remedy),)
    running = float(state.running[row])
    held = running * float(serving.kv_bytes_per_sequence(n, job.input_tokens + job.output_tokens / 2, tensor, job.kv_element))
    return replace(
        outcome,
        memory=_memory(job, e, held, a),
        speed=Speed(
            tokens_per_s=job.rate * job.output_tokens,
            ttft_s=float(state.ttft[row]),
            tpot_s=float(state.tpot[row]),
            concurrency=math.ceil(running),
            requests_per_s=job.rate,
            kv_tokens=int(room / max(float(serving.kv_bytes_per_sequence(n, 1, tensor, job.kv_element)), 1.0)),
        ),
        nodes=math.ceil(replicas / per_node),
        replicas=replicas,
        max_replicas=max(replicas, job.max_replicas or replicas),
        rejections=rejections,
    )


@dataclass(frozen=True, eq=False)
class _Loaded:
    """What each number of replicas would see: percentile values on the pessimistic (p80) side, and which limits hold."""

    ttft: np.ndarray
    tpot: np.ndarray
    running: np.ndarray
    utilisation: np.ndarray
    most_running: float
    idle_ttft: float
    idle_tpot: float
    within: dict[Limit, np.ndarray]

    @property
    def ok(self) -> np.ndarray:
        return np.logical_and.reduce(list(self.within.values()))

    def floor(self, job: ServingJob, row: int) -> tuple[Rejection, ...]:
        """Limits that no number of replicas meets: an idle replica is too slow already."""
        said = []
        if not self.within[Limit.TPOT][row]:
            said.append(_slow(Limit.TPOT, self.idle_tpot, job.tpot, "tpot"))
        if not self.within[Limit.TTFT][row]:
            said.append(_slow(Limit.TTFT, self.idle_ttft, job.ttft, "ttft"))
        many = Rejection(Limit.THROUGHPUT, None, None, words=f"more than {len(REPLICAS)} replicas", remedy="a larger accelerator")
        return tuple(said) or (many,)


def _slow(limit: Limit, seconds: float, goal: tuple[float, int] | None, key: str) -> Rejection:
    target = goal[0] if goal else 0.0
    remedy = f"{key}.target: {math.ceil(seconds * 1000)} ms, or quantization: fp8 where the accelerator has it"
    return Rejection(limit, seconds * 1000, target * 1000, "ms", "one replica without other traffic", remedy)


def _loaded(job: ServingJob, e: Engine, room: float, a: Assumptions) -> _Loaded:
    n = job.network
    load = job.load(job.rate / REPLICAS)
    slow = at_p80(1.0, e.coefficients.band)
    tpot_percentile = job.tpot[1] if job.tpot else 50
    ttft_percentile = job.ttft[1] if job.ttft else 50
    mean = serving.running_at(n, e, load, a)
    mean = np.where(np.isfinite(mean), mean * slow, 1e9)
    peak = serving.peak_running(mean, max(tpot_percentile, LEAST_PERCENTILE))
    felt = serving.peak_running(mean, tpot_percentile)
    tpot = serving.decode_seconds(n, e, np.maximum(felt, 1.0), load, a) * slow
    first = serving.first_token(n, e, load, ttft_percentile, tpot, a)
    ttft = first.seconds * at_p80(1.0, a.first_token_band)
    per_request = float(serving.kv_bytes_per_sequence(n, load.context, e.tensor, e.kv_element))
    most = min(room / max(per_request, 1.0), float(a.max_sequences))
    within = {
        Limit.THROUGHPUT: (first.utilisation <= a.max_utilisation) & (peak <= most),
        Limit.TPOT: tpot <= (job.tpot[0] if job.tpot else np.inf),
        Limit.TTFT: ttft <= (job.ttft[0] if job.ttft else np.inf),
    }
    return _Loaded(ttft, tpot, peak, first.utilisation, most, float(ttft[-1]), float(tpot[-1]), within)


def _memory(job: ServingJob, e: Engine, kv_bytes: float, a: Assumptions) -> Memory:
    activations = a.batched_tokens * a.batched_token_bytes * job.network.hidden / 4096 / e.tensor
    return Memory(
        capacity_bytes=float(e.memory_bytes),
        max_fill=a.serving_max_fill,
        weights_bytes=e.weights_bytes / e.tensor,
        activations_bytes=activations,
        kv_bytes=max(kv_bytes, float(serving.kv_bytes_per_sequence(job.network, job.longest, e.tensor, e.kv_element))),
        fixed_bytes=serving.workspace_bytes(job.network, e, a) - activations,
    )


def _serve_samples(job: ServingJob, machine: Target, tensor: int, peak_flops: float, precision: str, a: Assumptions) -> Outcome:
    """One forward pass per request; replicas for the rate at the utilisation limit, latency of an M/M/1 queue on each."""
    n = job.network
    flops = n.flops_per_sample or 2.0 * n.matmul * job.input_tokens
    seconds = flops * job.passes / (peak_flops * a.sample_efficiency)
    weights = serving.weight_bytes(n, precision)
    have = machine.chip.memory_bytes * a.serving_max_fill
    workspace = memory.sample_bytes(n, flops, a) * a.sample_workspace
    held = Memory(
        float(machine.chip.memory_bytes), a.serving_max_fill, weights, activations_bytes=workspace, fixed_bytes=a.serving_fixed_bytes
    )
    rejections = []
    if held.total_bytes > have:
        need, fewer = held.total_bytes / GIB, f"quantization: {machine.few_bits}, or " if machine.few_bits else ""
        remedy = f"{fewer}an accelerator with more memory"
        rejections.append(Rejection(Limit.DEVICE_MEMORY, need, have / GIB, "GiB per accelerator", remedy=remedy))
    slow = at_p80(seconds, a.sample_band)
    replicas = max(math.ceil(job.rate * slow / a.max_utilisation), job.min_replicas, 1)
    latency = slow / (1 - min(job.rate * slow / replicas, a.max_utilisation))
    if job.ttft and latency > job.ttft[0]:
        rejections.append(_slow(Limit.TTFT, latency, job.ttft, "ttft"))
    if job.max_replicas is not None and replicas > job.max_replicas:
        rejections.append(Rejection(Limit.THROUGHPUT, replicas, job.max_replicas, "replicas", remedy=f"max_replicas: {replicas}"))
    return Outcome(
        Parallelism(), held, Speed(samples_per_s=1 / seconds, ttft_s=latency, concurrency=1, requests_per_s=job.rate),
        band=a.sample_band, evidence="prior only", precision=precision, nodes=math.ceil(replicas / machine.per_node),
        replicas=replicas, max_replicas=max(replicas, job.max_replicas or replicas), rejections=tuple(rejections),
    )  # fmt: skip


@lru_cache(maxsize=4096)
def best_batch(job: ServingJob, machine: Target, peak_flops: float, precision: str, a: Assumptions) -> Outcome:
    """Offline inference on all nodes at once: the tensor width with the highest throughput at the cache's limit."""
    found = [_batch_one(job, machine, t, peak_flops, precision, a) for t in _widths(job, machine.per_node)]
    if not found:
        return Outcome(precision=precision, rejections=(_no_width(job, machine),))
    return replace(min(found, key=lambda o: (len(o.rejections), o.work_s or math.inf, o.parallelism.tensor)), points=len(found))


def _batch_one(job: ServingJob, machine: Target, tensor: int, peak_flops: float, precision: str, a: Assumptions) -> Outcome:
    replicas = machine.nodes * (machine.per_node // tensor)
    if not job.generates:
        one = _serve_samples(replace(job, rate=0.0, ttft=None, max_replicas=None), machine, tensor, peak_flops, precision, a)
        work_s = job.requests / ((one.speed.samples_per_s or 0.0) * replicas)
        return replace(one, work_s=work_s, nodes=machine.nodes, replicas=replicas, max_replicas=replicas)
    n, e = job.network, _engine(job, machine, tensor, peak_flops, precision)
    room, refused = _cache_limit(job, machine, e, a)
    whole = Parallelism(tensor=tensor)
    if refused:
        return Outcome(whole, _memory(job, e, 0.0, a), precision=precision, nodes=machine.nodes, rejections=(refused,))
    held = float(serving.kv_bytes_per_sequence(n, job.input_tokens + job.output_tokens, tensor, job.kv_element))
    running = max(min(room / held, job.requests / replicas), 1.0)
    tpot = float(serving.decode_seconds(n, e, running, job.load(0.0), a))
    rate = running / tpot * replicas
    speed = Speed(tokens_per_s=rate, tpot_s=tpot, concurrency=int(running), requests_per_s=rate / job.output_tokens)
    return Outcome(
        whole, _memory(job, e, running * held, a), speed, work_s=job.requests * job.output_tokens / rate,
        band=max(e.coefficients.band, a.batch_band),
        evidence=e.coefficients.words, precision=precision, nodes=machine.nodes, replicas=replicas, max_replicas=replicas,
    )  # fmt: skip
