"""The best way to train on given hardware: memory first, then time, over every layout at once. Knows neither catalog nor spec."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from rackwright.estimate.network import Network
from rackwright.sizing import compute, memory, priors, traffic
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.layouts import Layouts, Pins, Shape, enumerate_layouts, why_none
from rackwright.sizing.memory import Recipe, Split, Terms
from rackwright.sizing.outcome import Outcome
from rackwright.sizing.plan import GIB, Limit, Memory, Parallelism, Rejection, Speed
from rackwright.sizing.priors import Prior
from rackwright.sizing.target import Target
from rackwright.sizing.traffic import Links


@dataclass(frozen=True)
class TrainingJob:
    """What is to be trained, in numbers.

    method: full, lora, qlora, p-tuning or sample; sequence: positions per sequence; tokens_per_sequence: what memory counts (samples
    for networks without layers); flops_per_sequence: model FLOPs of one sequence, forward and backward; adaptable: may take an adapter.
    """

    network: Network
    recipe: Recipe
    method: str
    precision: str
    sequence: int
    tokens_per_sequence: float
    flops_per_sequence: float
    batch: int
    sequences: float
    pins: Pins = field(default_factory=Pins)
    counts_tokens: bool = True
    adaptable: bool = True

    @property
    def steps(self) -> float:
        return self.sequences / self.batch

    @property
    def passes(self) -> str:
        return "full" if self.method == "sample" else self.method


@lru_cache(maxsize=8192)
def best_training(job: TrainingJob, machine: Target, a: Assumptions) -> Outcome:
    """The fastest layout that fits in memory; where none does, the smallest one with its rejection."""
    n = job.network
    prior = priors.find(machine.accelerator, machine.vendor, job.method, job.precision, n.is_moe, job.sequence, n.active)
    if prior is None:
        words = f"no efficiency published for {job.method} in {job.precision} on this accelerator"
        return Outcome(precision=job.precision, rejections=(Rejection(Limit.DATA, None, None, words=words),))
    shape = Shape(
        machine.accelerators, machine.links.per_node, machine.links.domain, n.layers, n.heads, n.kv_heads, n.experts, job.sequence,
        job.batch, machine.slices, machine.tpu, job.recipe.is_adapter,
    )  # fmt: skip
    layouts = enumerate_layouts(shape, job.pins)
    if not len(layouts):
        return Outcome(precision=job.precision, rejections=(_no_layout(shape, job.pins),))
    terms = memory.training_terms(n, job.recipe, _split(layouts, job), a)
    need = terms.allocated * a.reserved_per_allocated * a.memory_p80
    have = machine.memory_bytes * a.max_fill
    fits = need <= have
    step = _step(job, machine, layouts, prior, a)
    row = _best(fits, need, step.total)
    rejections = () if fits.any() else (_too_big(float(need[row]), have, job, machine),)
    return Outcome(
        parallelism=_parallelism(layouts, row),
        memory=_memory(terms, row, machine, a),
        speed=step.speed(row, job, machine),
        work_s=float(step.total[row]) * job.steps,
        band=prior.band,
        evidence=prior.words,
        precision=job.precision,
        nodes=machine.nodes,
        rejections=rejections,
        points=len(layouts),
    )


def _no_layout(shape: Shape, pins: Pins) -> Rejection:
    """A batch that cannot be shared has a number: replicas that there are against sequences."""
    words = why_none(shape, pins)
    if words.startswith("a batch") and shape.accelerators > shape.batch:
        remedy = "raise global_batch_size, or take fewer accelerators"
        return Rejection(Limit.GEOMETRY, shape.accelerators, shape.batch, "sequences", words, remedy)
    remedy = "change the batch size, the number of machines or the pinned parallelism"
    return Rejection(Limit.GEOMETRY, None, None, words=words, remedy=remedy)


def _too_big(need: float, have: float, job: TrainingJob, machine: Target) -> Rejection:
    """Adapters are for fine-tuning on GPUs; beyond one accelerator per sequence more machines share nothing further."""
    larger = "a larger slice" if machine.tpu else "more machines"
    more = larger if machine.accelerators < job.batch else "an accelerator with more memory"
    adapters = {"full": "adapter: {type: lora} or qlora", "lora": "adapter: {type: qlora}"} if job.adaptable and not machine.tpu else {}
    smaller = adapters.get(job.method, "a shorter sequence" if job.counts_tokens else "")
    remedy = f"{smaller}, or {more}" if smaller else more
    return Rejection(Limit.DEVICE_MEMORY, need / GIB, have / GIB, "GiB per accelerator", "at any parallelism, p80 of the estimate", remedy)


def _best(fits: np.ndarray, need: np.ndarray, total: np.ndarray) -> int:
    """Row of the fastest that fits, the smaller memory first among equals; of the smallest where none fits."""
    key = np.where(fits, total, np.inf) if fits.any() else need
    rounded = np.array([float(f"{v:.6g}") for v in key]) if len(key) < 64 else np.round(key / key.min(), 6)
    return int(np.lexsort((need, rounded))[0])


def _split(w: Layouts, job: TrainingJob) -> Split:
    return Split(
        tensor=w.tensor, pipeline=w.pipeline, context=w.context, expert=w.expert, shards=w.shards, replicas=w.replicas,
        zero_stage=w.zero_stage, tokens=w.micro_batch * job.tokens_per_sequence, micro_batches=w.micro_batches, recompute=w.recompute,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Step:
    """Seconds of one optimizer step, by cause, per layout."""

    compute: np.ndarray
    communication: np.ndarray
    bubble: np.ndarray
    optimizer: np.ndarray

    @property
    def total(self) -> np.ndarray:
        return self.compute + self.communication + self.bubble + self.optimizer

    def speed(self, row: int, job: TrainingJob, machine: Target) -> Speed:
        step_s = float(self.total[row])
        flops = job.flops_per_sequence * job.batch
        rate = job.batch / step_s
        return Speed(
            tokens_per_s=rate * job.sequence if job.counts_tokens else None,
            samples_per_s=rate,
            step_s=step_s,
            compute_s=float(self.compute[row]),
            communication_s=float(self.communication[row]),
            bubble_s=float(self.bubble[row]),
            mfu=flops / step_s / (machine.accelerators * machine.base_peak),
        )


def _step(job: TrainingJob, machine: Target, w: Layouts, prior: Prior, a: Assumptions) -> _Step:
    """T = m T_mb + (p - 1) T_mb + exposed data-parallel traffic + optimizer; T_mb is one micro-batch through one stage."""
    n, links = job.network, machine.links
    efficiency = prior.mfu * float(compute.recompute_factor(job.passes, prior.recompute == "full", a.recompute_visible))
    tokens = w.micro_batch * job.tokens_per_sequence / w.context
    flops = w.micro_batch * job.flops_per_sequence / (w.tensor * w.pipeline * w.context)
    hardware_flops = flops * compute.recompute_factor(job.passes, w.recompute, a.recompute_visible)
    alike = 1.0 if n.layers else n.flops_per_sample / (2 * n.trunk)  # a sample without positions counts as often as it uses each weight
    filled = compute.saturation(tokens * alike / w.tensor, a)
    work = compute.compute_seconds(hardware_flops, machine.base_peak, efficiency, n.is_moe, a) / filled
    inside = _inside_step(job, w, tokens, work, links, a)
    micro = work + inside
    data = _data_parallel(job, machine, w, work, a)
    local = _local_parameters(job, w)
    trained = local if not job.recipe.is_adapter else job.recipe.trainable / (w.tensor * w.pipeline)
    states = trained / np.where(w.zero_stage >= 1, w.shards, 1)
    adam = a.optimizer_traffic * states / (machine.bandwidth_bytes_per_s * a.memory_bandwidth_efficiency)
    return _Step(w.micro_batches * work, w.micro_batches * inside + data, (w.pipeline - 1) * micro, adam)


def _inside_step(job: TrainingJob, w: Layouts, tokens, work, links: Links, a: Assumptions):
    """Exposed tensor, context, expert and pipeline traffic of one micro-batch."""
    n = job.network
    layers = n.layers / w.pipeline
    again = 1 + 0.5 * w.recompute  # the forward half is sent once more
    sent = traffic.tensor_bytes(w.tensor, tokens, n.hidden, layers) * again
    tensor = traffic.exposed(traffic.local_seconds(sent, w.tensor, links, a), a.hidden_tensor, work)
    rings = traffic.context_bytes(w.context, tokens * w.context, n.kv_heads * n.head_dim / w.tensor, layers)
    context = traffic.exposed(traffic.local_seconds(rings, w.context * w.tensor, links, a), a.hidden_context, work)
    moved = traffic.expert_bytes(w.expert, tokens / w.tensor, n.hidden, n.top_k, n.moe_layers / w.pipeline)
    expert = traffic.exposed(traffic.local_seconds(moved, w.expert, links, a), a.hidden_expert, work)
    passed = np.where(w.pipeline > 1, traffic.pipeline_bytes(tokens, n.hidden, w.tensor), 0.0)
    return tensor + context + expert + traffic.local_seconds(passed, w.tensor * w.pipeline, links, a)


def _local_parameters(job: TrainingJob, w: Layouts):
    n = job.network
    return ((n.trunk - n.routed) / w.tensor + n.routed / np.maximum(w.expert, w.tensor)) / w.pipeline


def _data_parallel(job: TrainingJob, machine: Target, w: Layouts, work, a: Assumptions):
    """Exposed gradient and weight traffic of a step."""
    n, sharded, local = job.network, w.zero_stage >= 3, _local_parameters(job, w)
    if job.recipe.is_adapter:
        small = traffic.data_bytes(w.replicas, job.recipe.trainable / w.tensor, np.minimum(w.zero_stage, 2), w.micro_batches)
        gathers = traffic.data_bytes(w.shards, local, w.zero_stage, w.micro_batches, 0.0, job.recipe.linear_bytes)
        volume = small + np.where(sharded, gathers, 0.0)
    else:
        volume = traffic.data_bytes(w.replicas * w.context, local, w.zero_stage, w.micro_batches)
    pieces = w.tensor * w.pipeline
    experts_share = n.routed / np.maximum(w.expert, w.tensor) / w.pipeline / np.maximum(local, 1)
    pieces = pieces * (1 - experts_share) + np.maximum(pieces, w.expert * w.pipeline) * experts_share  # experts differ along data too
    copies = np.minimum(pieces, machine.links.per_node)
    transfer = traffic.spread_seconds(volume, copies, 1 if machine.tpu else machine.nodes, machine.links, a)
    return traffic.exposed(transfer, a.hidden_data, work * np.where(sharded, w.micro_batches, 1))


def _parallelism(w: Layouts, row: int) -> Parallelism:
    whole = {name: int(getattr(w, name)[row]) for name in ("tensor", "pipeline", "context", "expert", "zero_stage", "micro_batch")}
    return Parallelism(
        **whole,
        data=int(w.replicas[row]),
        gradient_accumulation=int(w.micro_batches[row]),
        recompute="full" if w.recompute[row] else "none",
    )


def _memory(t: Terms, row: int, machine: Target, a: Assumptions) -> Memory:
    def term(values) -> float:
        return float(np.broadcast_to(values, t.allocated.shape)[row])

    return Memory(
        capacity_bytes=float(machine.memory_bytes),
        max_fill=a.max_fill,
        weights_bytes=term(t.weights),
        gradients_bytes=term(t.gradients),
        optimizer_bytes=term(t.optimizer),
        activations_bytes=term(t.activations),
        head_bytes=term(t.head),
        fixed_bytes=term(t.fixed),
        margin_bytes=term(t.allocated) * (a.reserved_per_allocated * a.memory_p80 - 1),
    )
