"""A small model on a machine without accelerators, in the words of a plan: memory against its RAM, a roofline for its speed.

Prior only, a factor 2 either way: no run is published that the formulas could be fitted to. Knows neither catalog nor spec.
"""

from dataclasses import dataclass, replace

from rackwright.estimator import samples
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import ServingJob, TrainingJob, weight_bytes
from rackwright.sizing.metrics import Limit, Memory, Rejection, Speed
from rackwright.sizing.search import cpu_roofline
from rackwright.sizing.search.outcome import UNKNOWN, Outcome
from rackwright.sizing.search.serving import slow
from rackwright.sizing.workload_inputs import Job
from rackwright.units import GIB

LAYER_BYTES = 34.0
"""Kept for backward per token, hidden unit and layer, attention recomputed (Korthikanti et al. 2022, arXiv 2205.05198, section 4)."""
TRAINING_SHARE = 0.5
"""Of what products of a forward pass reach: backward reads and writes more per product; rackwright's choice 2026-11, not measured."""
SIXTEEN = ("bf16", "fp16")


@dataclass(frozen=True)
class CpuMachine:
    """vcpus, memory_bytes: of the whole machine."""

    core: cpu_roofline.Core
    vcpus: int
    memory_bytes: float

    @property
    def flops(self) -> float:
        return self.core.bf16_flops * self.vcpus * cpu_roofline.COMPUTE_SHARE

    @property
    def bytes_per_s(self) -> float:
        return self.core.bandwidth_bytes_per_s * self.vcpus * cpu_roofline.MEMORY_SHARE


def answer(job: Job, machine: CpuMachine, a: Assumptions) -> Outcome:
    """Of one machine: several of them are a cluster, which nothing here speaks of."""
    if isinstance(job, TrainingJob):
        return _trained(job, machine)
    if isinstance(job, ServingJob):
        return _text(job, machine, a) if job.generates else _passes(job, machine, a)
    return Outcome(rejections=(Rejection(Limit.DATA, None, None, words="numbers of accelerators say nothing of processors"),))


def _trained(job: TrainingJob, machine: CpuMachine) -> Outcome:
    n, r = job.network, job.recipe
    if job.method not in ("full", "lora"):
        words = f"no trainer of {job.method} on processors is documented"
        return Outcome(rejections=(Rejection(Limit.DATA, None, None, words=words, remedy="adapter: {type: lora}"),))
    kept = samples.activation_bytes(n, 1.0) if job.sampled else LAYER_BYTES * job.sequence * n.hidden * n.layers
    frozen = r.frozen_bytes * n.total if r.is_adapter else 0.0
    memory = Memory(
        machine.memory_bytes, cpu_roofline.FREE_MEMORY, frozen + r.weight_bytes * r.trainable, r.gradient_bytes * r.trainable,
        r.optimizer_bytes * r.trainable, activations_bytes=float(kept) * r.activation_scale,
    )  # fmt: skip
    states = memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes
    step = float(job.flops_per_sequence * job.batch / (machine.flops * TRAINING_SHARE) + 2 * states / machine.bytes_per_s)
    speed = Speed(None if job.sampled else job.batch * job.sequence / step, job.batch / step, step)
    refused = (*_too_small(memory), *_too_much(n.active), *_format(job.precision, (*SIXTEEN, "fp32")))
    return Outcome(memory=memory, speed=speed, work_s=step * job.steps, precision=job.precision, nodes=1, rejections=refused)


def _text(job: ServingJob, machine: CpuMachine, a: Assumptions) -> Outcome:
    n, numbers, tokens = job.network, _numbers(job), (job.input_tokens, job.output_tokens)
    each = 2.0 * n.kv_heads * n.head_dim * job.kv_element * n.layers
    weights, cache = weight_bytes(n, numbers), (job.input_tokens + job.output_tokens / 2) * each
    room = machine.memory_bytes * cpu_roofline.FREE_MEMORY - weights

    def at(running: int) -> cpu_roofline.Rate:
        return cpu_roofline.generate(machine.core, machine.vcpus, n.active, weights, cache, tokens, running)

    def keeps(running: int) -> bool:
        r = at(running)
        slow_enough = (job.tpot and r.tpot_s > job.tpot[0]) or (job.ttft and r.ttft_s > job.ttft[0])
        return not slow_enough and running * cache <= room

    from rackwright.sizing.economics.replica import most_running  # imports the whole estimator

    most = most_running(keeps)
    enough = (r for r in range(1, most) if not job.ends and at(r).requests_per_s * a.max_utilisation / UNKNOWN.p80 >= job.rate)
    running = next(enough, most)
    rate, longest = at(max(running, 1)), job.longest * each
    memory = Memory(machine.memory_bytes, cpu_roofline.FREE_MEMORY, weights, kv_bytes=max(longest, running * cache))
    found = Outcome(memory=memory, precision=numbers, nodes=1)
    late = () if most else _late(job, rate)
    refused = (*_too_small(memory), *_too_much(n.active), *_format(numbers, SIXTEEN), *late)
    return _served(replace(found, rejections=refused), job, rate.requests_per_s, (rate.ttft_s, rate.tpot_s), max(running, 1), a)


def _passes(job: ServingJob, machine: CpuMachine, a: Assumptions) -> Outcome:
    n, numbers = job.network, _numbers(job)
    weights = weight_bytes(n, numbers)
    flops = (n.flops_per_sample or 2.0 * n.matmul * job.input_tokens) * job.passes
    seconds = cpu_roofline.sample_seconds(machine.core, machine.vcpus, flops, weights * job.passes)
    terms = samples.forward_memory(replace(n, flops_per_sample=flops / job.passes), 1.0, weights)
    memory = Memory(machine.memory_bytes, cpu_roofline.FREE_MEMORY, weights, activations_bytes=float(terms.activations))
    late = (slow(Limit.TTFT, seconds, job.ttft[0], "ttft"),) if job.ttft and seconds > job.ttft[0] else ()
    refused = (*_too_small(memory), *_format(numbers, SIXTEEN), *late)
    found = Outcome(memory=memory, precision=numbers, nodes=1, rejections=refused)
    return _served(found, job, 1 / seconds, (seconds, None), 1, a)


def _served(found: Outcome, job: ServingJob, rate: float, waits: tuple[float, float | None], running: int, a: Assumptions) -> Outcome:
    """A batch runs flat out; a service keeps the share free that its traffic's peaks take, on the pessimistic side."""
    if job.ends:
        tokens = rate * job.output_tokens if job.generates else None
        speed = Speed(tokens, None if job.generates else rate, tpot_s=waits[1], concurrency=running, requests_per_s=rate)
        return replace(found, speed=speed, work_s=job.requests / rate)
    able = rate * a.max_utilisation / UNKNOWN.p80
    speed = Speed(
        job.rate * job.output_tokens if job.generates else None, None if job.generates else rate, ttft_s=waits[0], tpot_s=waits[1],
        concurrency=running, requests_per_s=job.rate,
    )  # fmt: skip
    many = Rejection(Limit.THROUGHPUT, job.rate, able, "requests/s", "one machine, on the pessimistic side", "a larger machine, or a GPU")
    over = (many,) if job.rate > able else ()
    return replace(found, speed=speed, rejections=(*found.rejections, *over), max_replicas=1)


def _numbers(job: ServingJob) -> str:
    return "bf16" if job.precision == "auto" else job.precision


def _late(job: ServingJob, idle: cpu_roofline.Rate) -> tuple[Rejection, ...]:
    goals = ((Limit.TPOT, idle.tpot_s, job.tpot, "tpot"), (Limit.TTFT, idle.ttft_s, job.ttft, "ttft"))
    return tuple(slow(limit, seconds, goal[0], key) for limit, seconds, goal, key in goals if goal and seconds > goal[0])


def _too_small(memory: Memory) -> tuple[Rejection, ...]:
    if memory.fill <= memory.max_fill:
        return ()
    need, have = memory.total_bytes / GIB, memory.capacity_bytes * memory.max_fill / GIB
    return (Rejection(Limit.HOST_MEMORY, need, have, "GiB", "the model beside the system", "a larger size of the same family"),)


def _too_much(active: float) -> tuple[Rejection, ...]:
    most = cpu_roofline.LARGEST_PARAMETERS
    if active <= most:
        return ()
    words = "above it a processor writes slower than people read"
    return (Rejection(Limit.THROUGHPUT, active / 1e9, most / 1e9, "billion active parameters", words, "a GPU"),)


def _format(numbers: str, known: tuple[str, ...]) -> tuple[Rejection, ...]:
    if numbers in known:
        return ()
    return (Rejection(Limit.PRECISION, None, None, words=f"no estimate of {numbers} on processors", remedy="precision: bf16"),)
