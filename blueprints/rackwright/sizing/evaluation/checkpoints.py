"""Checkpoints and dataset: bytes, interval, file-system throughput. Numbers in, numbers out: knows neither catalog nor spec."""

import math
from dataclasses import dataclass

from rackwright.sizing.assumptions import Assumptions

MAX_LOST_SHARE = 0.95
"""Of the time; a job that is interrupted more often than it saves would never end."""


@dataclass(frozen=True)
class CheckpointPlan:
    """bytes: of one checkpoint; interval_s: between two; write_s: how long one may take; throughput: bytes/s that needs."""

    bytes: float
    interval_s: float
    write_s: float

    @property
    def throughput_bytes_per_s(self) -> float:
        return self.bytes / self.write_s if self.write_s else 0.0


def checkpoint_bytes(trainable: float, a: Assumptions) -> float:
    """Weights and optimizer state of what is trained; the frozen base is not written again."""
    return trainable * a.checkpoint_bytes_per_parameter


def time_between_failures_s(accelerators: int, nodes: int, spot: bool, a: Assumptions) -> float:
    """Mean time between interruptions of a job that needs all of its machines at once; rates of faults and reclaims add up."""
    per_hour = accelerators / a.accelerator_hours_per_failure + (nodes / a.spot_hours_per_interruption if spot else 0.0)
    return 3600.0 / per_hour


def best_interval_s(pause_s: float, between_failures_s: float, a: Assumptions) -> float:
    """sqrt(2 * pause * MTBF), Young 1974 (doi 10.1145/361147.361115), inside sensible bounds."""
    young = math.sqrt(2 * pause_s * between_failures_s)
    return min(max(young, a.checkpoint_min_interval_s), a.checkpoint_max_interval_s)


def plan_checkpoints(bytes_: float, between_failures_s: float, interval_s: float | None, a: Assumptions) -> CheckpointPlan:
    """Training goes on while a checkpoint is written; that takes the window at most, and 2 % of the interval the user asked for."""
    write_s = a.checkpoint_window_s
    if interval_s is None:
        return CheckpointPlan(bytes_, best_interval_s(a.checkpoint_pause_s, between_failures_s, a), write_s)
    return CheckpointPlan(bytes_, interval_s, min(write_s, max(0.02 * interval_s, 1.0)))


@dataclass(frozen=True)
class Interruptions:
    """Of machines that run one job. between_s: seconds between two; restart_s: until the job is where its checkpoint was."""

    between_s: float
    restart_s: float


def interruptions(accelerators: int, nodes: int, spot: bool, a: Assumptions) -> Interruptions:
    """Faults and reclaims together; a restart is as long as the mean of what happens."""
    between = time_between_failures_s(accelerators, nodes, spot, a)
    faults = between / time_between_failures_s(accelerators, nodes, False, a)
    return Interruptions(between, faults * a.restart_s + (1 - faults) * a.reclaim_restart_s)


def lost_share(interval_s: float, pause_s: float, at: Interruptions) -> float:
    """Part of the time lost to pauses for checkpoints, to work since the last one, and to restarts; interval_s 0: nothing is written,
    and nothing but the restart is lost."""
    pauses = pause_s / interval_s if interval_s else 0.0
    return min(pauses + (interval_s / 2 + at.restart_s) / at.between_s, MAX_LOST_SHARE)


def read_bytes_per_s(tokens_per_s: float, dataset_bytes: float, dataset_tokens: float, a: Assumptions) -> float:
    """Rate at which training eats its dataset; bytes per token from the dataset itself where its size is known."""
    per_token = dataset_bytes / dataset_tokens if dataset_bytes and dataset_tokens else a.token_bytes
    return tokens_per_s * per_token


def capacity_bytes(checkpoint: float, keep: int, dataset: float, weights: float) -> float:
    """Checkpoints kept and one being written, the dataset, the starting weights."""
    return (keep + 1) * checkpoint + dataset + weights
