"""Training on each target. Does not depend on the catalog or the spec."""

import numpy as np

from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.estimator.case import RECOMPUTE
from rackwright.estimator.result import StepTerms, scale_terms
from rackwright.sizing.job import TrainingJob
from rackwright.sizing.metrics import Memory, ParallelLayout, Speed
from rackwright.sizing.rejection import Limit, Reason, Rejection, Remedy
from rackwright.sizing.search.outcome import Outcome
from rackwright.sizing.search.target import Target, TargetArrays
from rackwright.sizing.search.training import training_estimates
from rackwright.sizing.search.training.branch_and_bound import LayoutTrials, SearchSpace, fastest_layouts
from rackwright.sizing.search.training.layouts import Grid, Layouts, enumerate_layouts, why_none
from rackwright.sizing.search.training.training_estimates import TrainingResiduals
from rackwright.units import GIB


def best_training(job: TrainingJob, machines: TargetArrays, max_fill: float, c: Calibration) -> list[Outcome]:
    """Per target the fastest layout that fits in memory, else the smallest with its rejection.

    machines: all GPU or all TPU. Memory fits when its p90 is within max_fill of the accelerator.
    """
    kinds = {(t.accelerator, t.chip.memory_bytes): t for t in reversed(machines.targets)}
    residuals = {kind: training_estimates.residuals_of(job, t, c) for kind, t in kinds.items()}
    evidence = [residuals[t.accelerator, t.chip.memory_bytes] for t in machines.targets]
    pessimistic = np.array([e.pessimistic * e.memory_factor for e in evidence])
    layouts = enumerate_layouts(job.shape, machines.grids, job.pins)
    space = SearchSpace(job, machines, layouts, c, machines.chip.memory_bytes * max_fill / pessimistic)
    chosen, fits = fastest_layouts(space)
    reached = np.flatnonzero(chosen.row >= 0)
    outcomes = dict(zip(reached.tolist(), _outcomes(space, chosen.take(reached), fits[reached], evidence, max_fill), strict=True))
    empty = set(machines.grid[chosen.row < 0].tolist())
    none = {g: Outcome(precision=job.precision, rejections=(_no_layout(job, machines.grids[g]),)) for g in empty}
    return [outcomes.get(i) or none[grid] for i, grid in enumerate(machines.grid.tolist())]


def _outcomes(
    space: SearchSpace, trials: LayoutTrials, fits: np.ndarray, evidence: list[TrainingResiduals], max_fill: float
) -> list[Outcome]:
    """Outcomes of the chosen trials."""
    if not len(trials.row):
        return []
    job, machines, target = space.job, space.machines, trials.target
    residuals = [evidence[i] for i in target.tolist()]
    step = scale_terms(space.step(trials), 1 / np.array([e.rate_factor for e in residuals]))
    exchange = space.slice_exchange_share(trials)
    memory = scale_terms(space.memory(trials.row, trials.recompute), np.array([e.memory_factor for e in residuals]))
    margin = np.array([e.pessimistic - 1 for e in residuals]) * memory.total
    capacity = machines.chip.memory_bytes[target]
    m = memory
    terms = (m.weights, m.gradients, m.optimizer, m.activations, m.head, 0.0, m.fixed, m.reserved + margin)
    rows = zip(*(np.broadcast_to(term, capacity.shape).tolist() for term in terms), strict=True)
    memories = [Memory(have, max_fill, *row) for have, row in zip(capacity.tolist(), rows, strict=True)]
    columns = (
        _parallelisms(space.layouts.take(trials.row), trials.recompute),
        memories,
        _speeds(space, target, step),
        residuals,
        machines.nodes[target].astype(int).tolist(),
        (np.diff(space.layouts.starts)[machines.grid[target]] * len(job.recomputes)).tolist(),
        [
            () if ok else (_memory_rejection(m, job, machines.targets[i]),)
            for m, ok, i in zip(memories, fits.tolist(), target.tolist(), strict=True)
        ],
    )
    doubts = [1.0 if machines.targets[i].is_slice_rate_known else 1.0 + share for i, share in zip(target.tolist(), exchange, strict=True)]
    return [
        Outcome(
            part, memory, speed, (speed.step_s or 0.0) * job.steps, seen.spread.widened(doubt), seen.spread.words, job.precision, nodes,
            points=points, rejections=rejections,
        )
        for part, memory, speed, seen, nodes, points, rejections, doubt in zip(*columns, doubts, strict=True)
    ]  # fmt: skip


def _speeds(space: SearchSpace, target: np.ndarray, step: StepTerms) -> list[Speed]:
    job, machines = space.job, space.machines
    total = np.broadcast_to(step.total, target.shape)
    waiting = step.tensor_exposed + step.context_exposed + step.expert_exposed + step.pipeline_exposed + step.data_exposed
    peak = machines.chip.base_peak_flops[target] * machines.accelerators[target]
    mfu = job.flops_per_sequence * job.batch / total / peak
    columns = (total, step.compute + step.recompute, waiting, step.bubble, mfu)
    made = []
    for seconds, compute, waited, bubble, used in zip(*(np.broadcast_to(c, target.shape).tolist() for c in columns), strict=True):
        rate = job.batch / seconds
        tokens, units = (None, rate * job.sample.units) if job.sampled else (rate * job.timed_length, None)
        made.append(Speed(tokens, rate, seconds, compute, waited, bubble, used, units_per_s=units))
    return made


def _parallelisms(w: Layouts, recompute: np.ndarray) -> list[ParallelLayout]:
    """Parallel layouts of rows. shard_group: set where fewer than all replicas share the weights."""
    group = np.where((w.zero_stage == 3) & (w.shards < w.replicas * w.context), w.shards, 0)
    columns = (w.tensor, w.pipeline, w.context, w.expert, w.replicas, w.zero_stage, w.micro_batch, w.micro_batches)
    whole = [c.astype(int).tolist() for c in (*columns, w.virtual, group)]
    codes = [RECOMPUTE[code] for code in recompute.tolist()]
    return [ParallelLayout(*row[:8], code, *row[8:]) for code, *row in zip(codes, *whole, strict=True)]


def _no_layout(job: TrainingJob, g: Grid) -> Rejection:
    """Rejection of a grid without layouts; with numbers where accelerators exceed the sequences of a batch."""
    s, reason = job.shape, why_none(job.shape, g, job.pins)
    if reason is Reason.BATCH_NOT_DIVISIBLE and g.accelerators > job.batch:
        return Rejection(Limit.GEOMETRY, g.accelerators, job.batch, "sequences", Reason.BATCH_TOO_SMALL)
    facts: dict[Reason, tuple[object, object, float | None]] = {
        Reason.TENSOR_PIN: (job.pins.tensor, s.heads, g.width),
        Reason.PIPELINE_PIN: (job.pins.pipeline, g.accelerators, s.layers),
        Reason.BATCH_NOT_DIVISIBLE: (s.batch, g.accelerators, None),
    }
    subject, detail, amount = facts.get(reason, ("", "", None))
    return Rejection(Limit.GEOMETRY, reason=reason, subject=str(subject), detail=str(detail), amount=amount)


def _memory_rejection(memory: Memory, job: TrainingJob, target: Target) -> Rejection:
    """Rejection of the smallest layout. Adapters apply to fine-tuning on GPUs; beyond one accelerator per sequence more do not help."""
    need, have = memory.total_bytes / GIB, memory.capacity_bytes * memory.max_fill / GIB
    larger = Remedy.LARGER_SLICE if target.tpu else Remedy.MORE_MACHINES
    more = larger if target.accelerators < job.batch else Remedy.LARGER_ACCELERATOR
    adapters = {"full": "adapter: {type: lora} or qlora", "lora": "adapter: {type: qlora}"} if job.adaptable and not target.tpu else {}
    adapters = {"full": "adapter: {type: lora}"} if adapters and target.neuron else adapters
    smaller = adapters.get(job.method, "" if job.sampled else Remedy.SHORTER_SEQUENCE)
    remedies = (smaller, more) if smaller else (more,)
    return Rejection(Limit.DEVICE_MEMORY, need, have, "GiB per accelerator", Reason.TRAINING_MEMORY, remedies=remedies)
