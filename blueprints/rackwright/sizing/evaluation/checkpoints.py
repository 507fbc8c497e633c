"""Checkpoints and dataset: bytes, interval, file-system throughput. Numbers in, numbers out: does not depend on the catalog or the spec."""

import math
from dataclasses import dataclass

from rackwright.sizing.assumptions import Assumptions
from rackwright.units import HOUR

MAX_LOST_SHARE = 0.95
"""Upper limit of the share of time lost to interruptions."""


@dataclass(frozen=True)
class CheckpointPlan:
    """Checkpoints of a run that are copied to host memory and written beside training.

    bytes: of one. interval_s: seconds between two. write_s: seconds in which one has to be on storage.
    """

    bytes: float
    interval_s: float
    write_s: float

    @property
    def throughput_bytes_per_s(self) -> float:
        """Rate that the storage needs: that of the write window, which is a share of the interval."""
        return self.bytes / self.write_s if self.write_s else 0.0


def checkpoint_bytes(trainable: float, a: Assumptions) -> float:
    """Weights and optimizer state of the trained parameters; a frozen base is not written."""
    return trainable * a.checkpoint_bytes_per_parameter


def time_between_failures_s(accelerators: int, nodes: int, spot: bool, a: Assumptions) -> float:
    """Mean time between interruptions of a job that needs all of its machines at once; rates of faults and reclaims add up."""
    per_hour = accelerators / a.accelerator_hours_per_failure + (nodes / a.spot_hours_per_interruption if spot else 0.0)
    return HOUR / per_hour


def best_interval_s(pause_s: float, between_failures_s: float, a: Assumptions) -> float:
    """sqrt(2 * pause * MTBF), Young 1974 (doi 10.1145/361147.361115), inside sensible bounds."""
    young = math.sqrt(2 * pause_s * between_failures_s)
    return min(max(young, a.checkpoint_min_interval_s), a.checkpoint_max_interval_s)


def at_interval(bytes_: float, interval_s: float, a: Assumptions) -> CheckpointPlan:
    """Checkpoints at an interval, each on storage before a share of the interval has passed."""
    return CheckpointPlan(bytes_, interval_s, a.checkpoint_write_share * interval_s)


@dataclass(frozen=True)
class CheckpointHost:
    """Where the checkpoint of a job goes first: its nodes' memory.

    accelerators, nodes: of the job. host_bytes_per_s: of one accelerator to the host. free_bytes: host memory of a node beside its
    processes. write_bytes_per_s: of one node to storage. None where not published.
    """

    accelerators: int
    nodes: int
    host_bytes_per_s: float | None = None
    free_bytes: float | None = None
    write_bytes_per_s: float | None = None

    def holds(self, checkpoint: float) -> bool:
        """Whether the nodes' memory holds a copy of a checkpoint; assumed where the memory is not published."""
        return self.free_bytes is None or checkpoint / self.nodes <= self.free_bytes


def drain_s(checkpoint: float, host: CheckpointHost, a: Assumptions) -> float:
    """Seconds until a checkpoint is on storage, when every node writes its share."""
    return checkpoint / host.nodes / min(a.node_write_bytes_per_s, host.write_bytes_per_s or a.node_write_bytes_per_s)


def pause_s(checkpoint: float, host: CheckpointHost, a: Assumptions) -> float:
    """Seconds that training waits for a sharded checkpoint.

    Every accelerator copies its share to host memory, all at once; coordination is at least the assumed pause. Without room for the copy
    training waits until the checkpoint is written.
    """
    if not host.holds(checkpoint):
        return max(a.checkpoint_pause_s, drain_s(checkpoint, host, a))
    copied = checkpoint / host.accelerators / host.host_bytes_per_s if host.host_bytes_per_s else 0.0
    return max(a.checkpoint_pause_s, copied)


def auto_interval_s(checkpoint: float, host: CheckpointHost, between_failures_s: float, a: Assumptions) -> float:
    """Young's interval for the pause of a checkpoint, and long enough to write one in its share of the interval."""
    young = best_interval_s(pause_s(checkpoint, host, a), between_failures_s, a)
    return max(young, drain_s(checkpoint, host, a) / a.checkpoint_write_share)


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


def lost_share(interval_s: float, pause_s: float, at: Interruptions, drain_s: float = 0.0) -> float:
    """Share of time lost to checkpoint pauses, work since the last checkpoint, and restarts.

    interval_s: 0 where no checkpoint is written; then only restarts are lost. drain_s: seconds until a checkpoint is on storage; an
    interruption in that time goes back to the one before.
    """
    pauses = pause_s / interval_s if interval_s else 0.0
    return min(pauses + (interval_s / 2 + min(drain_s, interval_s) + at.restart_s) / at.between_s, MAX_LOST_SHARE)


def read_bytes_per_s(tokens_per_s: float, dataset_bytes: float, dataset_tokens: float, a: Assumptions) -> float:
    """Bytes per second that training reads; bytes per token come from the size of the dataset where it is known."""
    per_token = dataset_bytes / dataset_tokens if dataset_bytes and dataset_tokens else a.token_bytes
    return tokens_per_s * per_token


def capacity_bytes(checkpoint: float, keep: int, dataset: float, weights: float) -> float:
    """Bytes of the retained checkpoints and one being written, the dataset and the initial weights."""
    return (keep + 1) * checkpoint + dataset + weights
