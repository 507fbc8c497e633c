"""Networks that respond in whole forward passes (diffusion, vision, encoders), one accelerator per replica. No run is published.

Latency is that of an M/M/1 queue on each replica. Does not depend on the catalog or the spec.
"""

import math
from dataclasses import replace

from rackwright.estimator import samples
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import ServingJob, linear_bytes, lora_overhead, weight_bytes
from rackwright.sizing.metrics import Memory, Speed
from rackwright.sizing.rejection import Limit, Reason, Rejection, Remedy, latency_rejections
from rackwright.sizing.search.outcome import UNKNOWN, Outcome
from rackwright.sizing.search.target import Target
from rackwright.units import GIB


def forward_pass_outcome(job: ServingJob, target: Target, numbers: str, a: Assumptions) -> Outcome:
    """One concurrent request per accelerator. numbers: format of weights and products."""
    n = replace(job.network, flops_per_sample=job.network.flops_per_sample or 2.0 * job.network.matmul * job.input_tokens)
    chip = replace(target.chip, peak_flops=target.peak(numbers))
    thin = lora_overhead(n, job.loras, job.lora_rank)
    seconds = float(samples.pass_seconds(n, chip, 1.0)) * job.passes * (1 + thin)
    terms = samples.forward_memory(n, 1.0, weight_bytes(n, numbers) + job.loras * thin * 2.0 * n.total)
    capacity = float(chip.memory_bytes)
    memory = Memory(
        capacity, a.serving_max_fill, float(terms.weights), activations_bytes=float(terms.activations), fixed_bytes=float(terms.fixed)
    )
    found = Outcome(memory=memory, band=UNKNOWN, evidence=UNKNOWN.words, precision=numbers)
    have = capacity * a.serving_max_fill
    if memory.total_bytes > have:
        remedies = (*target.quantization(linear_bytes(numbers)), Remedy.LARGER_ACCELERATOR)
        full = Rejection(Limit.DEVICE_MEMORY, memory.total_bytes / GIB, have / GIB, "GiB per accelerator", remedies=remedies)
        found = replace(found, rejections=(full,))
    if not job.ends:
        return _online(job, target, found, seconds, a)
    count = target.accelerators
    speed = Speed(samples_per_s=count / seconds, concurrency=1, requests_per_s=count / seconds)
    return replace(found, speed=speed, work_s=job.requests * seconds / count, nodes=target.nodes, replicas=count, max_replicas=count)


def _online(job: ServingJob, target: Target, found: Outcome, seconds: float, a: Assumptions) -> Outcome:
    late = seconds * UNKNOWN.p80
    count = max(math.ceil(job.rate * late / a.max_utilisation), job.min_replicas, 1)
    latency = late / (1 - min(job.rate * late / count, a.max_utilisation))
    fewer = target.quantization(linear_bytes(found.precision))
    rejections = [*found.rejections, *latency_rejections(latency, None, job.ttft_s, remedies=fewer)]
    if job.max_replicas is not None and count > job.max_replicas:
        rejections.append(Rejection(Limit.THROUGHPUT, count, job.max_replicas, "replicas", Reason.REPLICA_LIMIT))
    speed = Speed(samples_per_s=1 / seconds, ttft_s=latency, concurrency=1, requests_per_s=job.rate)
    return replace(
        found, speed=speed, nodes=math.ceil(count / target.per_node), replicas=count, max_replicas=max(count, job.max_replicas or count),
        rejections=tuple(rejections),
    )  # fmt: skip
