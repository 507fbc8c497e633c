"""Checkpoints and dataset: bytes, interval, file-system throughput. Numbers in, numbers out: does not depend on the catalog or the spec."""

import math
from dataclasses import dataclass

from rackwright.sizing.assumptions import Assumptions

MAX_LOST_SHARE = 0.95
"""Upper limit of the share of time lost to interruptions."""


@dataclass(frozen=True)
class CheckpointPlan:
    """Checkpoints of a run: bytes of one, seconds between two, seconds that writing one may take, and the throughput this needs."""

    bytes: float
    interval_s: float
    write_s: float

    @property
    def throughput_bytes_per_s(self) -> float:
        return self.bytes / self.write_s if self.write_s else 0.0


def checkpoint_bytes(trainable: float, a: Assumptions) -> float:
    """Weights and optimizer state of the trained parameters; a frozen base is not written."""
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
    """Checkpoints are written beside training, within the window and at most 2 % of a configured interval."""
    write_s = a.checkpoint_window_s
    if interval_s is None:
        return CheckpointPlan(bytes_, best_interval_s(a.checkpoint_pause_s, between_failures_s, a), write_s)
    return CheckpointPlan(bytes_, interval_s, min(write_s, max(0.02 * interval_s, 1.0)))


@dataclass(frozen=True)
class Interruptions:
    """Interruptions of machines that run one job. between_s: seconds between two. restart_s: seconds until the job has recovered."""

    between_s: float
    restart_s: float


def interruptions(accelerators: int, nodes: int, spot: bool, a: Assumptions) -> Interruptions:
    """Faults and reclaims together, with the weighted mean of their restart times."""
    between = time_between_failures_s(accelerators, nodes, spot, a)
    faults = between / time_between_failures_s(accelerators, nodes, False, a)
    return Interruptions(between, faults * a.restart_s + (1 - faults) * a.reclaim_restart_s)


def lost_share(interval_s: float, pause_s: float, at: Interruptions) -> float:
    """Share of time lost to checkpoint pauses, work since the last checkpoint, and restarts.

    interval_s: 0 where no checkpoint is written; then only restarts are lost.
    """
    pauses = pause_s / interval_s if interval_s else 0.0
    return min(pauses + (interval_s / 2 + at.restart_s) / at.between_s, MAX_LOST_SHARE)


def read_bytes_per_s(tokens_per_s: float, dataset_bytes: float, dataset_tokens: float, a: Assumptions) -> float:
    """Bytes per second that training reads; bytes per token come from the size of the dataset where it is known."""
    per_token = dataset_bytes / dataset_tokens if dataset_bytes and dataset_tokens else a.token_bytes
    return tokens_per_s * per_token


def capacity_bytes(checkpoint: float, keep: int, dataset: float, weights: float) -> float:
    """Bytes of the retained checkpoints and one being written, the dataset and the initial weights."""
    return (keep + 1) * checkpoint + dataset + weights
