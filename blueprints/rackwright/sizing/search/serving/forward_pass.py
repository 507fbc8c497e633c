"""Networks that respond in whole forward passes (diffusion, vision, speech, encoders): one accelerator per replica, samples in batches.

A batch job uses the batch with the highest rate. A service runs waiting requests together, and gets replicas until it meets its rate and
its latency goal. Does not depend on the catalog or the spec.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.estimator.predict_samples import SamplePrediction
from rackwright.estimator.result import MemoryTerms
from rackwright.estimator.sample_case import SampleCase
from rackwright.estimator.serving.batch_queue import latency_percentile
from rackwright.estimator.serving.transcript import writing_seconds
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import ServingJob, linear_bytes, lora_overhead, weight_bytes
from rackwright.sizing.metrics import Memory, Speed
from rackwright.sizing.rejection import Limit, Reason, Rejection, Remedy, answer_rejection
from rackwright.sizing.search.outcome import Outcome, Spread
from rackwright.sizing.search.target import Target
from rackwright.units import GIB

BATCHES = 2 ** np.arange(10)
"""Samples per pass that are searched: 1 to 512."""
NEAR_BEST = 0.99
"""Share of the highest rate from which a smaller batch is used."""
MORE_REPLICAS = 1.1
"""Replicas over the fewest, up to which a smaller batch is used: the latency of large batches is known less well."""
MAX_REPLICAS = 4096
DEFAULT_PERCENTILE = 95


@dataclass(frozen=True, eq=False)
class PassTable:
    """Passes of one accelerator by batch size. seconds: median until a batch is complete. memory: per accelerator."""

    batch: np.ndarray
    seconds: np.ndarray
    memory: MemoryTerms
    capacity_bytes: float
    spread: Spread

    def fits(self, a: Assumptions) -> np.ndarray:
        return np.broadcast_to(self.memory.total, self.batch.shape) <= self.capacity_bytes * a.serving_max_fill

    def memory_of(self, row: int, a: Assumptions) -> Memory:
        terms = (self.memory.weights, self.memory.activations, self.memory.fixed)
        weights, activations, fixed = (float(np.broadcast_to(term, self.batch.shape)[row]) for term in terms)
        return Memory(self.capacity_bytes, a.serving_max_fill, weights, activations_bytes=activations, fixed_bytes=fixed)


def forward_pass_outcomes(
    job: ServingJob, targets: tuple[Target, ...], formats: list[str], a: Assumptions, c: Calibration
) -> list[Outcome]:
    """One outcome per target. formats: of weights and products. Targets with equal accelerators share one table and one replica."""
    found: dict[tuple[str, float, str], Outcome] = {}
    outcomes = []
    for target, numbers in zip(targets, formats, strict=True):
        key = (target.accelerator, float(target.chip.memory_bytes), numbers)
        if key not in found:
            table = pass_table(job, target, numbers, c)
            found[key] = (_best_rate if job.ends else _service)(job, table, target, numbers, a)
        outcomes.append(_deployed(job, found[key], target, numbers))
    return outcomes


def pass_table(job: ServingJob, target: Target, numbers: str, c: Calibration) -> PassTable:
    """Time and memory of every batch size on the accelerator of a target, under torch.compile. A pinned batch size is the largest.

    A speech model keeps keys and values of its cross-attention and of the written text: 2 values of 16 bit per decoder layer. Half of its
    layers are those of the decoder (arXiv 2212.04356).
    """
    limit = job.batch_size
    batch = np.append(BATCHES[limit > BATCHES], limit) if limit else BATCHES
    n, thin = job.network, lora_overhead(job.network, job.loras, job.lora_rank)
    case = SampleCase(
        network=n, chip=replace(target.chip, peak_flops=target.peak(numbers)), batch=batch * job.sample.guidance, numbers=numbers,
        compiled=1.0, operation=job.sample.operation, passes=job.sample.passes,
        weight_bytes=weight_bytes(n, numbers) + job.loras * thin * 2.0 * n.total,
    )  # fmt: skip
    found = SamplePrediction.of(case, c)
    seconds = np.broadcast_to(found.batch_s, batch.shape) * (1 + thin)
    if job.sample.written_tokens:
        read = job.sample.decoder_parameters * linear_bytes(numbers)
        seconds = seconds + job.sample.passes * writing_seconds(n, case.chip, batch, job.sample.written_tokens, read)
    cache = 2.0 * n.layers * n.hidden * (n.sample_tokens + job.sample.written_tokens) * bool(job.sample.written_tokens)
    memory = replace(found.memory, activations=found.memory.activations + batch * cache)
    return PassTable(batch, seconds, memory, float(target.chip.memory_bytes), Spread.of_time(found.residuals).widened(target.slowdown))


def _best_rate(job: ServingJob, table: PassTable, target: Target, numbers: str, a: Assumptions) -> Outcome:
    """The smallest batch near the highest rate that fits; the requested batch where the spec sets it."""
    fits, rate = table.fits(a), table.batch / table.seconds
    if rejections := _memory_rejections(job, table, fits, target, numbers, a):
        row = len(table.batch) - 1 if job.batch_size else 0
        return _outcome(table, row, rejections, a)
    row = len(table.batch) - 1 if job.batch_size else int(np.argmax(rate >= NEAR_BEST * rate[fits].max()))
    return replace(_outcome(table, row, (), a), speed=Speed(samples_per_s=float(rate[row]), batch_size=int(table.batch[row])))


def _service(job: ServingJob, table: PassTable, target: Target, numbers: str, a: Assumptions) -> Outcome:
    """The smallest batch limit that needs about the fewest replicas; times are those of p80."""
    fits = table.fits(a)
    if rejections := _memory_rejections(job, table, fits, target, numbers, a):
        return _outcome(table, 0, rejections, a)
    slow = replace(table, seconds=table.seconds * table.spread.p80)
    percentile = job.ttft[1] if job.ttft else DEFAULT_PERCENTILE
    rows = np.flatnonzero(fits)
    counts = {int(row): _replicas(job, slow, int(row), percentile, a) for row in rows}
    row = min(r for r in counts if counts[r] <= math.floor(MORE_REPLICAS * min(counts.values())))
    count, alone = counts[row], float(slow.seconds[0])
    latency = _latency(slow, row, job.rate / count, percentile)
    speed = Speed(
        samples_per_s=float(table.batch[row] / table.seconds[row]), ttft_s=latency, concurrency=int(table.batch[row]),
        ttft_p50_s=_latency(table, row, job.rate / count, percentile),
        requests_per_s=job.rate, unloaded_s=float(table.seconds[0]), batch_size=int(table.batch[row]),
    )  # fmt: skip
    late = answer_rejection(alone, job.ttft, job.latency_key, target.quantization(linear_bytes(numbers)))
    if not late and job.ttft_s and latency > job.ttft_s:
        late = (Rejection(Limit.LATENCY, latency * 1000, job.ttft_s * 1000, "ms", Reason.REPLICAS_SEARCHED, subject=f"{MAX_REPLICAS:,}"),)
    if job.max_replicas is not None and count > job.max_replicas:
        late += (Rejection(Limit.THROUGHPUT, count, job.max_replicas, "replicas", Reason.REPLICA_LIMIT),)
    maximum = max(count, job.max_replicas or count)
    return replace(_outcome(table, row, late, a), speed=speed, replicas=count, max_replicas=maximum)


def _replicas(job: ServingJob, table: PassTable, row: int, percentile: int, a: Assumptions) -> int:
    """The fewest replicas within the planned utilisation and, where any number meets it, the latency goal."""
    top = float(table.batch[row] / table.seconds[row])
    low = max(math.ceil(job.rate / (top * a.max_utilisation)), job.min_replicas, 1)
    goal = job.ttft_s
    if goal is None or table.seconds[0] > goal:
        return low
    high = low
    while high < MAX_REPLICAS and _latency(table, row, job.rate / high, percentile) > goal:
        low, high = high + 1, high * 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _latency(table, row, job.rate / middle, percentile) <= goal else (middle + 1, high)
    return high


def _latency(table: PassTable, row: int, rate: float, percentile: int) -> float:
    """Seconds to the answer under load; a pass is linear in its batch, between batches of one and of this row."""
    batch, one, full = float(table.batch[row]), float(table.seconds[0]), float(table.seconds[row])
    each = (full - one) / (batch - 1) if batch > 1 else one
    return float(latency_percentile(rate, max(one - each, 0.0), each, batch, percentile))


def _outcome(table: PassTable, row: int, rejections: tuple[Rejection, ...], a: Assumptions) -> Outcome:
    return Outcome(
        memory=table.memory_of(row, a), band=table.spread, evidence=table.spread.words, rejections=rejections, points=len(table.batch)
    )


def _deployed(job: ServingJob, found: Outcome, target: Target, numbers: str) -> Outcome:
    """The outcome of one replica on the machines of a target."""
    found, speed, each = replace(found, precision=numbers), found.speed, found.speed.samples_per_s
    if each is None:
        return replace(found, nodes=target.nodes)
    if not job.ends:
        speed = replace(speed, units_per_s=each * found.replicas * job.sample.units)
        return replace(found, speed=speed, nodes=math.ceil(found.replicas / target.per_node))
    count = target.accelerators
    rate = count * each
    speed = replace(speed, samples_per_s=rate, concurrency=speed.batch_size, requests_per_s=rate, units_per_s=rate * job.sample.units)
    return replace(found, speed=speed, work_s=job.requests / rate, nodes=target.nodes, replicas=count, max_replicas=count)


def _memory_rejections(
    job: ServingJob, table: PassTable, fits: np.ndarray, target: Target, numbers: str, a: Assumptions
) -> tuple[Rejection, ...]:
    """Rejection where not even one sample fits, or not the batch size of the spec; the largest that fits is the remedy."""
    row = len(table.batch) - 1 if job.batch_size else 0
    if fits[row]:
        return ()
    need, have = float(np.broadcast_to(table.memory.total, table.batch.shape)[row]), table.capacity_bytes * a.serving_max_fill
    if job.batch_size and fits[0]:
        low, one = table.memory_of(0, a), table.memory_of(row, a)
        each = (one.activations_bytes - low.activations_bytes) / max(float(table.batch[row]) - 1, 1.0)
        largest = max(int((have - low.total_bytes) / each) + 1, 1) if each else 1
        remedies: tuple[str, ...] = (f"batch_size: {largest}", Remedy.LARGER_ACCELERATOR)
        reason, subject = Reason.BATCH_MEMORY, str(job.batch_size)
    else:
        remedies = (*target.quantization(linear_bytes(numbers)), Remedy.LARGER_ACCELERATOR)
        reason, subject = Reason.SAMPLE_MEMORY, ""
    return (Rejection(Limit.DEVICE_MEMORY, need / GIB, have / GIB, "GiB per accelerator", reason, subject, remedies=remedies),)
