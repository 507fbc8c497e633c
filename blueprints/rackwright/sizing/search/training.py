"""The best way to train on each of many machines, in the words of a plan. Knows neither catalog nor spec."""

import numpy as np

from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.estimator.case import RECOMPUTE
from rackwright.estimator.result import MemoryTerms, StepTerms, scale_terms
from rackwright.sizing.job import TrainingJob
from rackwright.sizing.metrics import Limit, Memory, ParallelLayout, Rejection, Speed
from rackwright.sizing.search import training_estimates
from rackwright.sizing.search.branch_and_bound import Space, Tries, fastest
from rackwright.sizing.search.layouts import Grid, Layouts, enumerate_layouts, why_none
from rackwright.sizing.search.outcome import Outcome
from rackwright.sizing.search.target import Target, TargetArrays
from rackwright.sizing.search.training_estimates import Residuals
from rackwright.units import GIB


def best_training(job: TrainingJob, machines: TargetArrays, max_fill: float, c: Calibration) -> list[Outcome]:
    """For each target the fastest layout that fits in memory; where none does, the smallest one with its rejection.

    machines: all GPU or all TPU. Memory fits when its p90 is within max_fill of what the accelerator has.
    """
    evidence = _evidence(job, machines, c)
    pessimistic = np.array([e.pessimistic * e.memory_factor for e in evidence])
    layouts = enumerate_layouts(job.shape, machines.grids, job.pins)
    space = Space(job, machines, layouts, c, machines.chip.memory_bytes * max_fill / pessimistic)
    chosen, fits = fastest(space)
    reached = np.flatnonzero(chosen.row >= 0)
    told = dict(zip(reached.tolist(), _told(space, chosen.take(reached), fits[reached], evidence, max_fill), strict=True))
    empty = set(machines.grid[chosen.row < 0].tolist())
    none = {g: Outcome(precision=job.precision, rejections=(_no_layout(job, machines.grids[g]),)) for g in empty}
    return [told.get(i) or none[grid] for i, grid in enumerate(machines.grid.tolist())]


def _evidence(job: TrainingJob, machines: TargetArrays, c: Calibration) -> list[Residuals]:
    """Asked once of each accelerator."""
    by_chip: dict[tuple, Residuals] = {}
    made = []
    for t in machines.targets:
        key = (t.accelerator, t.chip.memory_bytes)
        if key not in by_chip:
            by_chip[key] = training_estimates.seen(job, t, c)
        made.append(by_chip[key])
    return made


def _told(space: Space, tries: Tries, fits: np.ndarray, evidence: list[Residuals], max_fill: float) -> list[Outcome]:
    """Outcomes in full."""
    if not len(tries.row):
        return []
    job, machines, target = space.job, space.machines, tries.target
    said = [evidence[i] for i in target.tolist()]
    step = scale_terms(space.step(tries), 1 / np.array([e.rate_factor for e in said]))
    memory = scale_terms(space.memory(tries.row, tries.recompute), np.array([e.memory_factor for e in said]))
    margin = np.array([e.pessimistic - 1 for e in said]) * memory.total
    held = _memories(memory, margin, machines.chip.memory_bytes[target], max_fill)
    columns = (
        _parallelisms(space.layouts.take(tries.row), tries.recompute),
        held,
        _speeds(space, target, step),
        said,
        machines.nodes[target].astype(int).tolist(),
        (np.diff(space.layouts.starts)[machines.grid[target]] * len(job.recomputes)).tolist(),
        [() if ok else (_too_big(m, job, machines.targets[i]),) for m, ok, i in zip(held, fits.tolist(), target.tolist(), strict=True)],
    )
    return [
        Outcome(
            part, memory, speed, (speed.step_s or 0.0) * job.steps, seen.spread, seen.spread.words, job.precision, nodes, points=points,
            rejections=refused,
        )
        for part, memory, speed, seen, nodes, points, refused in zip(*columns, strict=True)
    ]  # fmt: skip


def _speeds(space: Space, target: np.ndarray, step: StepTerms) -> list[Speed]:
    job, machines = space.job, space.machines
    total = np.broadcast_to(step.total, target.shape)
    waiting = step.tensor_exposed + step.context_exposed + step.expert_exposed + step.pipeline_exposed + step.data_exposed
    peak = machines.chip.base_peak_flops[target] * machines.accelerators[target]
    mfu = job.flops_per_sequence * job.batch / total / peak
    columns = (total, step.compute + step.recompute, waiting, step.bubble, mfu)
    made = []
    for seconds, compute, waited, bubble, used in zip(*(np.broadcast_to(c, target.shape).tolist() for c in columns), strict=True):
        rate = job.batch / seconds
        made.append(Speed(None if job.sampled else rate * job.sequence, rate, seconds, compute, waited, bubble, used))
    return made


def _memories(t: MemoryTerms, margin: np.ndarray, capacity: np.ndarray, max_fill: float) -> list[Memory]:
    """The allocator's reserve, and what lies between the estimate and its pessimistic side, are one margin."""
    terms = (t.weights, t.gradients, t.optimizer, t.activations, t.head, t.fixed, t.reserved + margin)
    rows = zip(capacity.tolist(), *(np.broadcast_to(term, capacity.shape).tolist() for term in terms), strict=True)
    return [Memory(have, max_fill, w, g, o, act, head, 0.0, fixed, rest) for have, w, g, o, act, head, fixed, rest in rows]


def _parallelisms(w: Layouts, recompute: np.ndarray) -> list[ParallelLayout]:
    """shard_group: only where fewer than all replicas share the weights."""
    group = np.where((w.zero_stage == 3) & (w.shards < w.replicas * w.context), w.shards, 0)
    columns = (w.tensor, w.pipeline, w.context, w.expert, w.replicas, w.zero_stage, w.micro_batch, w.micro_batches)
    whole = [c.astype(int).tolist() for c in (*columns, w.virtual, group)]
    codes = [RECOMPUTE[code] for code in recompute.tolist()]
    return [ParallelLayout(*row[:8], code, *row[8:]) for code, *row in zip(codes, *whole, strict=True)]


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
    need, have = memory.total_bytes / GIB, memory.capacity_bytes * memory.max_fill / GIB
    larger = "a larger slice" if target.tpu else "more machines"
    more = larger if target.accelerators < job.batch else "an accelerator with more memory"
    adapters = {"full": "adapter: {type: lora} or qlora", "lora": "adapter: {type: qlora}"} if job.adaptable and not target.tpu else {}
    adapters = {"full": "adapter: {type: lora}"} if adapters and target.neuron else adapters
    smaller = adapters.get(job.method, "" if job.sampled else "a shorter sequence")
    remedy = f"{smaller}, or {more}" if smaller else more
    words = "at any parallelism, on the pessimistic side"
    return Rejection(Limit.DEVICE_MEMORY, need, have, "GiB per accelerator", words, remedy)
