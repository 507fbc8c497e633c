"""Of every layout of every machine at once the fastest that fits: memory first, a lower bound of time next, the full step last.

Knows neither catalog nor spec; formulas.py says what memory and time are.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.estimator.case import TrainingCase
from rackwright.estimator.result import MemoryTerms, StepTerms
from rackwright.sizing.job import TrainingJob
from rackwright.sizing.search import training_estimates
from rackwright.sizing.search.layouts import Layouts
from rackwright.sizing.search.lower_bound import LowerBound, lower_bound
from rackwright.sizing.search.target import TargetArrays, rows_of

CHUNK = 4096
"""Tries timed at once: their columns stay in the processor's cache, and memory stays bounded."""
NEAR_BOUND = 1.05
"""Of the lowest bound of a machine, up to which tries are timed first."""
RELATIVE_TOLERANCE = 1e-6
"""Times that differ by less are equal; then the smaller memory decides."""


@dataclass(frozen=True, eq=False)
class LayoutTrials:
    """Layouts tried on targets, with a recompute each: indexes of equal length. row -1: geometry allows none."""

    target: np.ndarray
    row: np.ndarray
    recompute: np.ndarray

    def take(self, which: np.ndarray) -> "LayoutTrials":
        return LayoutTrials(self.target[which], self.row[which], self.recompute[which])


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """Everything that may be tried, and what decides. room_bytes: of each target, that the median of memory may take."""

    job: TrainingJob
    machines: TargetArrays
    layouts: Layouts
    calibrated: Calibration
    room_bytes: np.ndarray

    def memory(self, row: np.ndarray, recompute: np.ndarray) -> MemoryTerms:
        case = training_cases(self.job, self.layouts.take(row), recompute)
        return training_estimates.memory_terms(self.job, case, self.calibrated)

    def step(self, trials: LayoutTrials) -> StepTerms:
        m = self.machines
        case = replace(
            training_cases(self.job, self.layouts.take(trials.row), trials.recompute),
            chip=rows_of(m.chip, trials.target), wires=rows_of(m.wires, trials.target), accelerators=m.accelerators[trials.target],
            slices=m.slices[trials.target],
        )  # fmt: skip
        return training_estimates.step_terms(self.job, case, self.calibrated)

    def seconds(self, trials: LayoutTrials) -> np.ndarray:
        """Of a step."""
        count = len(trials.row)
        if not count:
            return np.zeros(0)
        pieces = (trials.take(np.arange(at, min(at + CHUNK, count))) for at in range(0, count, CHUNK))
        return np.concatenate([np.broadcast_to(self.step(piece).total, piece.row.shape) for piece in pieces])

    @cached_property
    def _bound(self) -> LowerBound | None:
        """None where nothing so simple is known: then nothing is ruled out."""
        if self.job.sampled or bool(np.any(self.machines.chip.is_tpu)):
            return None
        case = training_cases(self.job, self.layouts, np.zeros(len(self.layouts)))
        return lower_bound(case, self.machines.chip, self.machines.wires, self.calibrated)

    def bound_s(self, trials: LayoutTrials) -> np.ndarray:
        """Seconds of a step that no try goes below."""
        return self._bound.seconds(trials.target, trials.row, trials.recompute) if self._bound else np.zeros(len(trials.row))


def training_cases(job: TrainingJob, w: Layouts, recompute: np.ndarray) -> TrainingCase:
    """Rows of layouts as the formulas see them, on no accelerator in particular."""
    return replace(
        training_estimates.base_case(job), accelerators=w.tensor * w.pipeline * w.context * w.replicas, micro_batch=w.micro_batch,
        micro_batches=w.micro_batches, tensor=w.tensor, pipeline=w.pipeline, virtual=w.virtual, context=w.context, expert=w.expert,
        expert_tensor=np.where(w.expert > 1, 1.0, w.tensor), replicas=w.replicas, shards=w.shards, zero_stage=w.zero_stage,
        recompute=np.asarray(recompute, dtype=float),
    )  # fmt: skip


def fastest_layouts(space: SearchSpace) -> tuple[LayoutTrials, np.ndarray]:
    """One try per target, in order, and whether it fits: the fastest that does; where none does the smallest."""
    codes = np.array(space.job.recomputes)
    rows = np.arange(len(space.layouts))
    needs = np.array([np.broadcast_to(space.memory(rows, np.full(len(rows), code)).total, rows.shape) for code in codes])
    chosen, found = _smallest_per_target(space, needs, codes), np.zeros(len(space.machines.targets), dtype=bool)
    trials = _fitting_trials(space, needs, codes)
    if len(trials.row):
        tied = trials.take(_fastest_per_target(space, trials))
        need = needs[np.searchsorted(codes, tied.recompute), tied.row]
        best = tied.take(_argmin_per_target(tied.target, need))
        chosen.row[best.target], chosen.recompute[best.target], found[best.target] = best.row, best.recompute, True
    return chosen, found


def _fitting_trials(space: SearchSpace, needs: np.ndarray, codes: np.ndarray) -> LayoutTrials:
    """Every target with every layout of its grid and every recompute, where memory suffices."""
    m, starts = space.machines, space.layouts.starts
    first, count = starts[m.grid], np.diff(starts)[m.grid]
    target = np.repeat(np.arange(len(count)), count)
    row = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(target))
    room = space.room_bytes[target]
    fits = [np.flatnonzero(need[row] <= room) for need in needs]
    pair = np.concatenate(fits)
    return LayoutTrials(target[pair], row[pair], np.repeat(codes, [len(some) for some in fits]))


def _smallest_per_target(space: SearchSpace, needs: np.ndarray, codes: np.ndarray) -> LayoutTrials:
    """Of least memory at any recompute."""
    starts, minimum = space.layouts.starts, needs.min(axis=0)
    spans = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    by_grid = np.array([start + int(np.argmin(minimum[start:end])) if end > start else -1 for start, end in spans])
    row = by_grid[space.machines.grid]
    code = codes[np.argmin(needs[:, row], axis=0)] if len(minimum) else np.zeros(len(row), dtype=int)
    return LayoutTrials(np.arange(len(row)), row, code)


def _fastest_per_target(space: SearchSpace, trials: LayoutTrials) -> np.ndarray:
    """Indexes of the fastest tries of each target that has any, equals included. Of each target the tries of the lowest bounds are timed
    first; what cannot be faster than the best of them is left out, the rest is timed."""
    bound = space.bound_s(trials)
    low = _minimum_per_target(trials.target, bound, len(space.room_bytes))[trials.target] * NEAR_BOUND
    near = np.flatnonzero(bound <= low)
    early = space.seconds(trials.take(near))
    limit = _minimum_per_target(trials.target[near], early, len(space.room_bytes))[trials.target]
    left = np.flatnonzero((bound > low) & (bound <= limit * (1 + RELATIVE_TOLERANCE)))
    timed, seconds = np.r_[near, left], np.r_[early, space.seconds(trials.take(left))]
    best = _minimum_per_target(trials.target[timed], seconds, len(space.room_bytes))
    return timed[seconds <= best[trials.target[timed]] * (1 + RELATIVE_TOLERANCE)]


def _minimum_per_target(target: np.ndarray, key: np.ndarray, count: int) -> np.ndarray:
    """Of each of `count` targets, inf where it has none."""
    minimum = np.full(count, np.inf)
    np.minimum.at(minimum, target, key)
    return minimum


def _argmin_per_target(target: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Index of the least key of each target, the first of equals."""
    equal = np.flatnonzero(key == _minimum_per_target(target, key, int(target.max()) + 1)[target])
    return equal[np.unique(target[equal], return_index=True)[1]]
