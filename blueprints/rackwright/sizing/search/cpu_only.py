"""Small models on CPU machines: memory against RAM, a roofline for speed.

Prior only, within a factor 2 either way: no published run calibrates it. Does not depend on the catalog or the spec.
"""

from dataclasses import dataclass, replace

from rackwright.estimator import samples
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import Job, ServingJob, TrainingJob, weight_bytes
from rackwright.sizing.metrics import Memory, Speed
from rackwright.sizing.rejection import Limit, Reason, Rejection, answer_rejection, latency_rejections, model_size_rejection
from rackwright.sizing.search import cpu_roofline
from rackwright.sizing.search.outcome import UNKNOWN, Outcome, max_concurrency
from rackwright.units import GIB

LAYER_BYTES = 34.0
"""Bytes kept for backward per token, hidden unit and layer, attention recomputed (Korthikanti et al. 2022, arXiv 2205.05198, section 4)."""
TRAINING_SHARE = 0.5
"""Share of the forward rate in training: backward reads and writes more per product; rackwright's choice 2026-11, not measured."""
SIXTEEN = ("bf16", "fp16")


@dataclass(frozen=True)
class CpuMachine:
    """A CPU machine. vcpus, memory_bytes: of the whole machine."""

    core: cpu_roofline.Core
    vcpus: int
    memory_bytes: float

    @property
    def flops(self) -> float:
        return self.core.bf16_flops * self.vcpus * cpu_roofline.COMPUTE_SHARE

    @property
    def bytes_per_s(self) -> float:
        return self.core.bandwidth_bytes_per_s * self.vcpus * cpu_roofline.MEMORY_SHARE


def evaluate_cpu(job: Job, machine: CpuMachine, a: Assumptions) -> Outcome:
    """Outcome on one machine; several CPU machines are not supported."""
    if isinstance(job, TrainingJob):
        return _training(job, machine)
    if isinstance(job, ServingJob):
        return _generation(job, machine, a) if job.generates else _forward_passes(job, machine, a)
    return Outcome(rejections=(Rejection(Limit.DATA, reason=Reason.CUSTOM_ON_CPU),))


def _training(job: TrainingJob, machine: CpuMachine) -> Outcome:
    n, r = job.network, job.recipe
    if job.method not in ("full", "lora"):
        return Outcome(rejections=(Rejection(Limit.DATA, reason=Reason.CPU_METHOD, detail=job.method),))
    activations = samples.activation_bytes(n, 1.0) if job.sampled else LAYER_BYTES * job.sequence * n.hidden * n.layers
    frozen = r.frozen_bytes * n.total if r.is_adapter else 0.0
    memory = Memory(
        machine.memory_bytes, cpu_roofline.FREE_MEMORY, frozen + r.weight_bytes * r.trainable, r.gradient_bytes * r.trainable,
        r.optimizer_bytes * r.trainable, activations_bytes=float(activations) * r.activation_scale,
    )  # fmt: skip
    states = memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes
    step = float(job.flops_per_sequence * job.batch / (machine.flops * TRAINING_SHARE) + 2 * states / machine.bytes_per_s)
    speed = Speed(None if job.sampled else job.batch * job.timed_length / step, job.batch / step, step)
    rejections = (*_memory_rejections(memory), *_model_size_rejections(n.active), *_format_rejections(job.precision, (*SIXTEEN, "fp32")))
    return Outcome(memory=memory, speed=speed, work_s=step * job.steps, precision=job.precision, nodes=1, rejections=rejections)


def _generation(job: ServingJob, machine: CpuMachine, a: Assumptions) -> Outcome:
    n, numbers, tokens = job.network, _weight_format(job), (job.input_tokens, job.output_tokens)
    each = 2.0 * n.kv_heads * n.head_dim * job.kv_element * n.layers
    weights, cache = weight_bytes(n, numbers), (job.input_tokens + job.output_tokens / 2) * each
    room = machine.memory_bytes * cpu_roofline.FREE_MEMORY - weights

    def at(running: int) -> cpu_roofline.Rate:
        return cpu_roofline.generate(machine.core, machine.vcpus, n.active, weights, cache, tokens, running)

    def keeps(running: int) -> bool:
        r = at(running)
        return running * cache <= room and not latency_rejections(r.ttft_s, r.tpot_s, job.ttft_s, job.tpot_s)

    maximum = max_concurrency(keeps)
    enough = (r for r in range(1, maximum) if not job.ends and at(r).requests_per_s * a.max_utilisation / UNKNOWN.p80 >= job.rate)
    running = next(enough, maximum)
    rate, longest = at(max(running, 1)), job.longest * each
    memory = Memory(machine.memory_bytes, cpu_roofline.FREE_MEMORY, weights, kv_bytes=max(longest, running * cache))
    found = Outcome(memory=memory, precision=numbers, nodes=1)
    late = () if maximum else latency_rejections(rate.ttft_s, rate.tpot_s, job.ttft_s, job.tpot_s)
    rejections = (*_memory_rejections(memory), *_model_size_rejections(n.active), *_format_rejections(numbers, SIXTEEN), *late)
    waits = rate.ttft_s, rate.tpot_s if job.has_later_tokens else None
    return _with_traffic(replace(found, rejections=rejections), job, rate.requests_per_s, waits, max(running, 1), a)


def _forward_passes(job: ServingJob, machine: CpuMachine, a: Assumptions) -> Outcome:
    n, numbers = job.network, _weight_format(job)
    weights = weight_bytes(n, numbers)
    flops = (n.flops_per_sample or 2.0 * n.matmul * job.input_tokens) * job.sample.passes * job.sample.guidance
    seconds = cpu_roofline.sample_seconds(machine.core, machine.vcpus, flops, weights * job.sample.passes)
    terms = samples.forward_memory(replace(n, flops_per_sample=flops / job.sample.passes), 1.0, weights)
    memory = Memory(machine.memory_bytes, cpu_roofline.FREE_MEMORY, weights, activations_bytes=float(terms.activations))
    late = answer_rejection(seconds, job.ttft, job.latency_key)
    rejections = (*_memory_rejections(memory), *_format_rejections(numbers, SIXTEEN), *late)
    found = Outcome(memory=memory, precision=numbers, nodes=1, rejections=rejections)
    return _with_traffic(found, job, 1 / seconds, (seconds, None), 1, a)


def _with_traffic(found: Outcome, job: ServingJob, rate: float, waits: tuple[float, float | None], running: int, a: Assumptions) -> Outcome:
    """A batch uses the full rate; a service keeps a reserve for traffic peaks, at p80."""
    if job.ends:
        tokens = rate * job.output_tokens if job.generates else None
        speed = Speed(tokens, None if job.generates else rate, tpot_s=waits[1], concurrency=running, requests_per_s=rate)
        return replace(found, speed=speed, work_s=job.requests / rate)
    able = rate * a.max_utilisation / UNKNOWN.p80
    speed = Speed(
        job.rate * job.output_tokens if job.generates else None, None if job.generates else rate, ttft_s=waits[0], tpot_s=waits[1],
        concurrency=running, requests_per_s=job.rate,
    )  # fmt: skip
    many = Rejection(Limit.THROUGHPUT, job.rate, able, "requests/s", Reason.CPU_ENGINE_RATE)
    over = (many,) if job.rate > able else ()
    return replace(found, speed=speed, rejections=(*found.rejections, *over), max_replicas=1)


def _weight_format(job: ServingJob) -> str:
    return "bf16" if job.precision == "auto" else job.precision


def _memory_rejections(memory: Memory) -> tuple[Rejection, ...]:
    if memory.fill <= memory.max_fill:
        return ()
    need, have = memory.total_bytes / GIB, memory.capacity_bytes * memory.max_fill / GIB
    return (Rejection(Limit.HOST_MEMORY, need, have, "GiB", Reason.CPU_MEMORY),)


def _model_size_rejections(active: float) -> tuple[Rejection, ...]:
    maximum = cpu_roofline.LARGEST_PARAMETERS
    return (model_size_rejection(active, maximum),) if active > maximum else ()


def _format_rejections(numbers: str, known: tuple[str, ...]) -> tuple[Rejection, ...]:
    if numbers in known:
        return ()
    return (Rejection(Limit.PRECISION, reason=Reason.CPU_FORMAT, detail=numbers),)
