"""The fastest layout that fits on each target: memory first, then a lower bound of time, then the full step.

Does not depend on the catalog or the spec; `training_estimates` computes memory and time.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.estimator.case import TrainingCase
from rackwright.estimator.result import MemoryTerms, StepTerms
from rackwright.estimator.training.tpu_step import slice_exchange_seconds
from rackwright.sizing.job import TrainingJob
from rackwright.sizing.search.target import TargetArrays, rows_of
from rackwright.sizing.search.training import training_estimates
from rackwright.sizing.search.training.layouts import Layouts
from rackwright.sizing.search.training.lower_bound import LowerBound, lower_bound

CHUNK = 4096
"""Trials timed together, so that their columns fit into the CPU cache."""
NEAR_BOUND = 1.05
"""Factor on the lowest bound of a target, up to which trials are timed first."""
RELATIVE_TOLERANCE = 1e-6
"""Relative difference below which times are equal; then the smaller memory wins."""


@dataclass(frozen=True, eq=False)
class LayoutTrials:
    """Layouts on targets with a recompute code: indexes of equal length. row: -1 where geometry allows no layout."""

    target: np.ndarray
    row: np.ndarray
    recompute: np.ndarray

    def take(self, which: np.ndarray) -> "LayoutTrials":
        return LayoutTrials(self.target[which], self.row[which], self.recompute[which])


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """Everything to search. room_bytes: per target, upper limit of the median of memory."""

    job: TrainingJob
    machines: TargetArrays
    layouts: Layouts
    calibrated: Calibration
    room_bytes: np.ndarray

    def memory(self, row: np.ndarray, recompute: np.ndarray) -> MemoryTerms:
        case = training_cases(self.job, self.layouts.take(row), recompute)
        return training_estimates.memory_terms(self.job, case, self.calibrated)

    def _cases(self, trials: LayoutTrials) -> TrainingCase:
        m = self.machines
        return replace(
            training_cases(self.job, self.layouts.take(trials.row), trials.recompute),
            chip=rows_of(m.chip, trials.target), links=rows_of(m.wires, trials.target), accelerators=m.accelerators[trials.target],
            slices=m.slices[trials.target], sequence=self.job.timed_length,
        )  # fmt: skip

    def step(self, trials: LayoutTrials) -> StepTerms:
        return training_estimates.step_terms(self.job, self._cases(trials), self.calibrated)

    def slice_exchange_share(self, trials: LayoutTrials) -> list[float]:
        """Share of the step in which TPU slices exchange gradients; 0 on one slice. Doubling their exchange lengthens the step by it."""
        if self.job.sampled or not np.any(self.machines.slices[trials.target] > 1):
            return [0.0] * len(trials.row)
        case = self._cases(trials)
        terms = training_estimates.step_terms(self.job, case, self.calibrated)
        return np.broadcast_to(slice_exchange_seconds(case) / terms.total, trials.target.shape).tolist()

    def seconds(self, trials: LayoutTrials) -> np.ndarray:
        """Seconds of a step."""
        count = len(trials.row)
        if not count:
            return np.zeros(0)
        pieces = (trials.take(np.arange(at, min(at + CHUNK, count))) for at in range(0, count, CHUNK))
        return np.concatenate([np.broadcast_to(self.step(piece).total, piece.row.shape) for piece in pieces])

    @cached_property
    def _bound(self) -> LowerBound | None:
        """The lower bound; None if it is unknown, and then no trial is skipped."""
        if self.job.sampled or bool(np.any(self.machines.chip.is_tpu)):
            return None
        case = replace(training_cases(self.job, self.layouts, np.zeros(len(self.layouts))), sequence=self.job.timed_length)
        return lower_bound(case, self.machines.chip, self.machines.wires, self.calibrated)

    def bound_s(self, trials: LayoutTrials) -> np.ndarray:
        """Lower bound of the seconds of a step."""
        return self._bound.seconds(trials.target, trials.row, trials.recompute) if self._bound else np.zeros(len(trials.row))


def training_cases(job: TrainingJob, w: Layouts, recompute: np.ndarray) -> TrainingCase:
    """Training cases of layout rows, on no accelerator in particular."""
    return replace(
        training_estimates.base_case(job), accelerators=w.tensor * w.pipeline * w.context * w.replicas, micro_batch=w.micro_batch,
        micro_batches=w.micro_batches, tensor=w.tensor, pipeline=w.pipeline, virtual=w.virtual, context=w.context, expert=w.expert,
        expert_tensor=np.where(w.expert > 1, 1.0, w.tensor), replicas=w.replicas, shards=w.shards, zero_stage=w.zero_stage,
        recompute=np.asarray(recompute, dtype=float),
    )  # fmt: skip


def fastest_layouts(space: SearchSpace) -> tuple[LayoutTrials, np.ndarray]:
    """One trial per target, in order, and whether it fits: the fastest that fits, else the one with the least memory."""
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
    """Trials of every target, layout and recompute that fit in memory."""
    m, starts = space.machines, space.layouts.starts
    first, count = starts[m.grid], np.diff(starts)[m.grid]
    target = np.repeat(np.arange(len(count)), count)
    row = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(target))
    room = space.room_bytes[target]
    fits = [np.flatnonzero(need[row] <= room) for need in needs]
    pair = np.concatenate(fits)
    return LayoutTrials(target[pair], row[pair], np.repeat(codes, [len(some) for some in fits]))


def _smallest_per_target(space: SearchSpace, needs: np.ndarray, codes: np.ndarray) -> LayoutTrials:
    """Per target the trial with the least memory."""
    starts, minimum = space.layouts.starts, needs.min(axis=0)
    spans = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    by_grid = np.array([start + int(np.argmin(minimum[start:end])) if end > start else -1 for start, end in spans])
    row = by_grid[space.machines.grid]
    code = codes[np.argmin(needs[:, row], axis=0)] if len(minimum) else np.zeros(len(row), dtype=int)
    return LayoutTrials(np.arange(len(row)), row, code)


def _fastest_per_target(space: SearchSpace, trials: LayoutTrials) -> np.ndarray:
    """Indexes of the fastest trials per target, ties included.

    Trials with the lowest bounds are timed first; trials whose bound exceeds the best time are skipped.
    """
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
    """Minimum per target, inf without a trial."""
    minimum = np.full(count, np.inf)
    np.minimum.at(minimum, target, key)
    return minimum


def _argmin_per_target(target: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Index of the minimum per target, the first of ties."""
    equal = np.flatnonzero(key == _minimum_per_target(target, key, int(target.max()) + 1)[target])
    return equal[np.unique(target[equal], return_index=True)[1]]
