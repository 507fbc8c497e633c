"""The best way to train on each of many machines, in the words of a plan. Knows neither catalog nor spec."""

from dataclasses import replace

import numpy as np

from rackwright.estimate.case import RECOMPUTE
from rackwright.estimate.result import MemoryTerms, StepTerms
from rackwright.sizing import formulas
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.fastest import Chosen, case_of, fastest
from rackwright.sizing.job import TrainingJob
from rackwright.sizing.layouts import Grid, Layouts, enumerate_layouts, why_none
from rackwright.sizing.outcome import Outcome
from rackwright.sizing.plan import GIB, Limit, Memory, Parallelism, Rejection, Speed
from rackwright.sizing.target import Machines, Target


def best_training(job: TrainingJob, machines: Machines, a: Assumptions) -> list[Outcome]:
    """For each target the fastest layout that fits in memory; where none does, the smallest one with its rejection."""
    layouts = enumerate_layouts(job.shape, machines.grids, job.pins)
    evidence = [formulas.evidence(job, t) for t in machines.targets]
    chosen = fastest(job, machines, layouts, a)
    told = _told(job, machines, layouts, chosen, np.flatnonzero(chosen.row >= 0), a)
    empty = set(machines.grid[chosen.row < 0].tolist())
    none = {g: Outcome(precision=job.precision, rejections=(_no_layout(job, machines.grids[g]),)) for g in empty}
    unknown = _unpublished(job)
    points = (np.diff(layouts.starts) * len(job.recomputes)).tolist()
    outcomes = []
    for i, grid in enumerate(machines.grid.tolist()):
        found, said = told.get(i) or none[grid], evidence[i]
        outcomes.append(unknown if said is None else replace(found, band=said.band, evidence=said.words, points=points[grid]))
    return outcomes


def _unpublished(job: TrainingJob) -> Outcome:
    words = f"no efficiency published for {job.method} in {job.precision} on this accelerator"
    return Outcome(precision=job.precision, rejections=(Rejection(Limit.DATA, None, None, words=words),))


def _told(job: TrainingJob, machines: Machines, layouts: Layouts, chosen: Chosen, which: np.ndarray, a: Assumptions) -> dict[int, Outcome]:
    """Outcomes of the targets `which`, in full."""
    if not len(which):
        return {}
    rows, codes = chosen.row[which], chosen.recompute[which]
    case = case_of(job, machines, layouts, which, rows, codes)
    step, memory = formulas.step(job, machines, which, case, a), formulas.memory(job, layouts.take(rows), codes.astype(float), a)
    parts = _parallelisms(layouts.take(rows), codes)
    speeds, memories = _speeds(job, machines, which, step), _memories(memory, machines, which, a)
    made = {}
    for at, i in enumerate(which.tolist()):
        target = machines.targets[i]
        refused = () if chosen.fits[i] else (_too_big(memories[at], job, target),)
        work_s = (speeds[at].step_s or 0.0) * job.steps
        made[i] = Outcome(
            parts[at], memories[at], speeds[at], work_s=work_s, precision=job.precision, nodes=target.nodes, rejections=refused
        )
    return made


def _speeds(job: TrainingJob, machines: Machines, which: np.ndarray, step: StepTerms) -> list[Speed]:
    total = np.broadcast_to(step.total, which.shape)
    waiting = step.tensor_exposed + step.context_exposed + step.expert_exposed + step.pipeline_exposed + step.data_exposed
    base = machines.chip.base_peak_flops[which] * machines.accelerators[which]
    mfu = job.flops_per_sequence * job.batch / total / base
    columns = (total, step.compute + step.recompute, waiting, step.bubble, mfu)
    lists = [np.broadcast_to(c, which.shape).tolist() for c in columns]
    made = []
    for seconds, compute, waited, bubble, used in zip(*lists, strict=True):
        rate = job.batch / seconds
        tokens = rate * job.sequence if job.counts_tokens else None
        made.append(Speed(tokens, rate, seconds, compute, waited, bubble, used))
    return made


def _memories(t: MemoryTerms, machines: Machines, which: np.ndarray, a: Assumptions) -> list[Memory]:
    """reserved, and what lies between the estimate and its pessimistic side, are one margin."""
    names = ("weights", "gradients", "optimizer", "activations", "head", "fixed")
    columns = [np.broadcast_to(getattr(t, name), which.shape).tolist() for name in (*names, "reserved")]
    capacity = machines.chip.memory_bytes[which].tolist()
    return [
        Memory(
            capacity_bytes=have, max_fill=a.max_fill, weights_bytes=weights, gradients_bytes=gradients, optimizer_bytes=optimizer,
            activations_bytes=activations, head_bytes=head, fixed_bytes=fixed, margin_bytes=reserved,
        )
        for have, weights, gradients, optimizer, activations, head, fixed, reserved in zip(capacity, *columns, strict=True)
    ]  # fmt: skip


def _parallelisms(w: Layouts, recompute: np.ndarray) -> list[Parallelism]:
    """shard_group: only where fewer than all replicas share the weights."""
    group = np.where((w.zero_stage == 3) & (w.shards < w.replicas * w.context), w.shards, 0)
    columns = (w.tensor, w.pipeline, w.context, w.expert, w.replicas, w.zero_stage, w.micro_batch, w.micro_batches)
    whole = [c.astype(int).tolist() for c in (*columns, w.virtual, group)]
    codes = [RECOMPUTE[code] for code in recompute.tolist()]
    return [Parallelism(*row[:8], code, *row[8:]) for code, *row in zip(codes, *whole, strict=True)]


def _no_layout(job: TrainingJob, g: Grid) -> Rejection:
    """A batch that cannot be shared has a number: replicas that there are against sequences."""
    words = why_none(job.shape, g, job.pins)
    if words.startswith("a batch") and g.accelerators > job.batch:
        remedy = "raise global_batch_size, or take fewer accelerators"
        return Rejection(Limit.GEOMETRY, g.accelerators, job.batch, "sequences", words, remedy)
    remedy = "change the batch size, the number of machines or the pinned parallelism"
    return Rejection(Limit.GEOMETRY, None, None, words=words, remedy=remedy)


def _too_big(memory: Memory, job: TrainingJob, target: Target) -> Rejection:
    """Adapters are for fine-tuning on GPUs; beyond one accelerator per sequence more machines share nothing further."""
    larger = "a larger slice" if target.tpu else "more machines"
    more = larger if target.accelerators < job.batch else "an accelerator with more memory"
    adapters = {"full": "adapter: {type: lora} or qlora", "lora": "adapter: {type: qlora}"} if job.adaptable and not target.tpu else {}
    smaller = adapters.get(job.method, "a shorter sequence" if job.counts_tokens else "")
    remedy = f"{smaller}, or {more}" if smaller else more
    need, have = memory.total_bytes / GIB, memory.capacity_bytes * memory.max_fill / GIB
    return Rejection(Limit.DEVICE_MEMORY, need, have, "GiB per accelerator", "at any parallelism, p80 of the estimate", remedy)
