"""Facts of a workload, and the storage of its run."""

from dataclasses import dataclass

from rackwright.sizing.note import Note
from rackwright.units import HOUR, MONTH_H


@dataclass(frozen=True)
class WorkloadFacts:
    """Facts of the workload, shown in reports and used for storage and bill.

    unit: what is counted (`sizing.unit.UNITS`). units: of the whole run, 0 for a service. units_per_request: such as seconds of audio.
    sample: one image, audio or document.
    """

    name: str
    kind: str
    model: str
    parameters: float
    active_parameters: float
    trainable_parameters: float = 0.0
    tokens: float = 0.0
    sequence_length: int = 0
    global_batch_size: int = 0
    weights_bytes: float = 0.0
    checkpoint_bytes: float = 0.0
    checkpoint_interval_s: float = 0.0
    dataset_bytes: float = 0.0
    objective: str = ""
    """Of fine-tuning; empty for other kinds and for supervised fine-tuning."""
    unit: str = "token"
    units: float = 0.0
    units_per_request: float = 1.0
    sample: Note | None = None


@dataclass(frozen=True)
class StorageNeed:
    """Storage of the run: capacity, the least sustained throughput, and their basis. `wording.plan_text` fills in reason.

    checkpoints_bytes: all that are kept at once. trainer: family that writes checkpoints to a bucket itself, empty where it writes files.
    in_bucket: checkpoints go to a bucket, and no file system is built for them. waited_bytes: what all machines wait for in the run: its
    weights at the start, and after an interruption the checkpoint that was being written and the one that is read. hours, usd_per_hour:
    of the run; 0 where unknown.
    """

    capacity_bytes: float = 0.0
    throughput_bytes_per_s: float = 0.0
    reason: str = ""
    basis: tuple[Note, ...] = ()
    checkpoints_bytes: float = 0.0
    trainer: str = ""
    in_bucket: bool = False
    waited_bytes: float = 0.0
    hours: float = 0.0
    usd_per_hour: float = 0.0

    def run_usd(self, usd_per_month: float, bytes_per_s: float) -> float:
        """US dollars of a run with a storage: its price, and the machines that wait for it. Without a known run, those of a month."""
        if not self.hours:
            return usd_per_month
        waiting = self.usd_per_hour * self.waited_bytes / bytes_per_s / HOUR if self.waited_bytes else 0.0
        return usd_per_month * self.hours / MONTH_H + waiting
