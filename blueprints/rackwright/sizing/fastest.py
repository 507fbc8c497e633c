"""Of every layout of every machine at once the fastest that fits: memory first, a lower bound of time next, the full step last.

Knows neither catalog nor spec; formulas.py says what memory and time are.
"""

from dataclasses import dataclass

import numpy as np

from rackwright.estimate.case import TrainingCase
from rackwright.sizing import formulas
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import TrainingJob
from rackwright.sizing.layouts import Layouts
from rackwright.sizing.target import Machines, rows_of

EQUAL = 1e-6
"""Times that differ by less are equal; then the smaller memory decides."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Per target: row of the layouts (-1: geometry allows none), code of recompute, whether it fits."""

    row: np.ndarray
    recompute: np.ndarray
    fits: np.ndarray


def fastest(job: TrainingJob, machines: Machines, layouts: Layouts, a: Assumptions) -> Chosen:
    """Every layout of every target with every recompute: those that fit, and of these those that time cannot rule out."""
    codes = np.array(job.recomputes)
    needs = np.array([formulas.need_bytes(job, layouts, np.full(len(layouts), float(code)), a) for code in codes])
    row = _smallest(machines, layouts, needs)
    level = np.argmin(needs[:, np.maximum(row, 0)], axis=0) if len(layouts) else np.zeros(len(row), dtype=int)
    found = np.zeros(len(row), dtype=bool)
    tries = _fitting(machines, layouts, needs, a)
    if len(tries.row):
        best = tries.take(_by_time(job, machines, layouts, tries, codes, needs[tries.level, tries.row], a))
        row[best.target], level[best.target], found[best.target] = best.row, best.level, True
    return Chosen(row, codes[level], found)


@dataclass(frozen=True, eq=False)
class _Tries:
    """Layouts tried on targets, with a recompute each: indexes, targets together."""

    target: np.ndarray
    row: np.ndarray
    level: np.ndarray

    def take(self, which: np.ndarray) -> "_Tries":
        return _Tries(self.target[which], self.row[which], self.level[which])


def _fitting(machines: Machines, layouts: Layouts, needs: np.ndarray, a: Assumptions) -> _Tries:
    """Every target with every layout of its grid, where memory suffices."""
    first, count = layouts.starts[machines.grid], np.diff(layouts.starts)[machines.grid]
    target = np.repeat(np.arange(len(count)), count)
    row = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(target))
    level, pair = np.nonzero(needs[:, row] <= (machines.chip.memory_bytes * a.max_fill)[target])
    return _Tries(target[pair], row[pair], level)


def _smallest(machines: Machines, layouts: Layouts, needs: np.ndarray) -> np.ndarray:
    """Row of least memory at any recompute, per target; -1 where there is no row."""
    least = needs.min(axis=0)
    spans = zip(layouts.starts[:-1], layouts.starts[1:], strict=True)
    by_grid = np.array([start + int(np.argmin(least[start:end])) if end > start else -1 for start, end in spans])
    return by_grid[machines.grid]


def _by_time(job, machines: Machines, layouts: Layouts, tries: _Tries, codes: np.ndarray, need, a: Assumptions) -> np.ndarray:
    """Index of the fastest try of each target that has one. Of each target the try of the lowest bound is timed first; what cannot be
    faster than that is left out, the rest is timed."""

    def seconds(some: _Tries) -> np.ndarray:
        case = case_of(job, machines, layouts, some.target, some.row, codes[some.level])
        return formulas.step(job, machines, some.target, case, a).total

    bound = formulas.bound_s(job, machines, layouts, tries.target, tries.row, codes[tries.level], a)
    firsts = tries.take(_first_of_each(tries.target, bound))
    limit = np.full(len(machines.targets), np.inf)
    limit[firsts.target] = seconds(firsts)
    left = np.flatnonzero(bound <= limit[tries.target] * (1 + EQUAL))
    rest = tries.take(left)
    time = seconds(rest)
    best = np.full(len(machines.targets), np.inf)
    np.minimum.at(best, rest.target, time)
    tied = np.flatnonzero(time <= best[rest.target] * (1 + EQUAL))
    return left[tied[_first_of_each(rest.target[tied], need[left[tied]])]]


def _first_of_each(target: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Index of the least key of each target, the first of equals."""
    least = np.full(int(target.max()) + 1, np.inf)
    np.minimum.at(least, target, key)
    equal = np.flatnonzero(key == least[target])
    return equal[np.unique(target[equal], return_index=True)[1]]


def case_of(job: TrainingJob, machines: Machines, layouts: Layouts, target, row, recompute) -> TrainingCase:
    """Pairs of target and layout as the formulas see them."""
    w, r, n = layouts.take(row), job.recipe, job.network
    return TrainingCase(
        network=n, chip=rows_of(machines.chip, target), wires=rows_of(machines.wires, target),
        accelerators=machines.accelerators[target], sequence=float(job.tokens_per_sequence),
        micro_batch=w.micro_batch, micro_batches=w.micro_batches, tensor=w.tensor, pipeline=w.pipeline, virtual=w.virtual,
        context=w.context, expert=w.expert, expert_tensor=np.where(w.expert > 1, 1.0, w.tensor), replicas=w.replicas, shards=w.shards,
        zero_stage=w.zero_stage, recompute=recompute.astype(float), passes=r.passes, adapter=float(r.is_adapter),
        trainable=r.trainable or n.trunk, weight_bytes=r.weight_bytes, optimizer_bytes=r.optimizer_bytes, frozen_bytes=r.linear_bytes,
        numbers=job.precision,
    )  # fmt: skip
