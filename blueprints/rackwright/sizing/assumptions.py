"""Assumptions of sizing with unit, source and date. A plan lists those that it used."""

from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, cast

from rackwright.estimator.training.run_time import CHECKPOINT_PAUSE_S, FAILURE_HOURS, RESTART_S
from rackwright.sizing.plan import Assumption
from rackwright.units import GIB, MONTH_H

LLAMA3 = "Llama 3 report 2024, arXiv 2407.21783"
OWN = "rackwright's choice 2026-11, not measured"
FIT = "rackwright's own fit of published runs, 2026-11"


def assumed(default: float, unit: str, source: str, scope: str = "all") -> Any:
    """A field of a frozen dataclass of assumptions. scope: the kind of plan that it concerns."""
    return field(default=default, metadata={"unit": unit, "source": source, "scope": scope})


def listed(record: object, *scopes: str) -> tuple[Assumption, ...]:
    """Assumptions of such a dataclass for the scopes and for all plans, in the order of its fields."""
    shown = [f for f in fields(cast(Any, record)) if f.metadata["scope"] in (*scopes, "all")]
    return tuple(Assumption(f.name, f"{getattr(record, f.name):.6g}", f.metadata["unit"], f.metadata["source"]) for f in shown)


_training = partial(assumed, scope="training")


@dataclass(frozen=True)
class Assumptions:
    """Defaults of this release. Replace one with `dataclasses.replace`; every formula takes its numbers from here."""

    max_fill: float = _training(0.92, "of accelerator memory", f"{FIT}: runs above it fail on allocation", scope="all")

    goodput_routine: float = _training(0.95, "of wall clock, before faults", f"{OWN}: evaluation, data that is late, slow machines")
    accelerator_hours_per_failure: float = _training(
        FAILURE_HOURS, "accelerator-hours", f"{LLAMA3}: 419 interruptions in 54 days on 16,384 GPUs"
    )
    spot_hours_per_interruption: float = _training(48, "node-hours", OWN)
    interruption_band: float = _training(2.0, "p90 over median of what faults and reclaims cost", OWN)
    restart_s: float = _training(RESTART_S, "s", f"{OWN}: detect, reschedule, load the checkpoint; {LLAMA3} keeps over 90 % of its time")
    reclaim_restart_s: float = _training(900, "s", f"{OWN}: the same, and another machine has to be got first")
    checkpoint_pause_s: float = _training(CHECKPOINT_PAUSE_S, "s", f"{OWN}: what a step waits for; the rest is written beside the training")
    flex_wait_s: float = _training(2 * 3600, "s", f"{OWN}: queue of flex-start; no waits are published")
    flex_wait_band: float = _training(6.0, "p90 over median", OWN)
    startup_s: float = _training(900, "s", f"{OWN}: boot, image pull, load of weights; billed")
    startup_band: float = _training(2.0, "p90 over median", OWN)
    capacity_block_drain_s: float = _training(1800, "s", "AWS: instances of a capacity block end 30 minutes before the block")

    checkpoint_bytes_per_parameter: float = _training(14, "bytes", "bf16 weights 2, fp32 master 4, two moments 8; BLOOM-176B wrote 13")
    checkpoint_write_share: float = _training(
        0.5, "of the checkpoint interval", f"{OWN}: one checkpoint is on storage in this time, before the next one starts"
    )
    node_write_bytes_per_s: float = _training(
        1e9, "bytes per second and node", f"{OWN}: all processes of a node write their shards at once; BLOOM-176B wrote 1.2e9 per node"
    )
    checkpoint_min_interval_s: float = _training(600, "s", OWN)
    checkpoint_max_interval_s: float = _training(4 * 3600, "s", OWN)
    token_bytes: float = _training(4, "bytes per token", "token ids as 32-bit integers")
    host_base_bytes: float = _training(6 * GIB, "bytes per node", f"{OWN}: system, trainer process, libraries", scope="all")
    host_per_accelerator_bytes: float = _training(
        4 * GIB, "bytes per accelerator", f"{OWN}: data loaders and one 4 GiB weight shard in flight", scope="all"
    )

    padding: float = _training(
        1.3, "times the tokens of unpacked samples", f"{OWN}: samples are padded to the longest of their micro-batch"
    )
    adapter_share: float = _training(0.005, "of the weights", f"{OWN}: trained by LoRA where no layer widths are known")
    default_sequence_length: int = _training(4096, "tokens", OWN)
    default_finetune_batch: int = _training(32, "sequences", OWN)
    default_sample_batch: int = _training(32, "images", f"{OWN}: fine-tuning; at most the data set, which has few images for DreamBooth")
    default_pretrain_sample_batch: int = _training(256, "images", "ResNet, arXiv 1512.03385: mini-batches of 256 images")
    default_pretrain_batch_tokens: float = _training(2**22, "tokens", "Llama 2, arXiv 2307.09288: 4 million tokens per step")
    most_accelerators: int = _training(4096, "accelerators considered", f"{OWN}; state limits.accelerators to change it", scope="all")

    serving_max_fill: float = _training(0.90, "of accelerator memory", "vLLM default gpu_memory_utilization", scope="serving")
    batched_tokens: float = _training(8192, "tokens", "vLLM default max_num_batched_tokens of recent releases", scope="serving")
    max_sequences: int = _training(256, "sequences", "vLLM default max_num_seqs; a batch is held by its cache alone", scope="serving")
    request_margin: float = _training(
        2.0, "of the p95 lengths", f"{OWN}: longest request allowed when max_context is not given; longer ones are refused", scope="serving"
    )
    denoising_passes: float = _training(
        50,
        "passes of the network per image",
        "diffusers: 28 to 50 steps by default; image.steps sets it",
        scope="serving",
    )
    max_utilisation: float = _training(0.8, "of prefill time", f"{OWN}: queues explode above", scope="serving")
    user_request_interval_s: float = _training(60, "s between requests of one user", OWN, scope="serving")
    month_h: float = _training(MONTH_H, "h", "average month", scope="serving")

    sharing_vcpus: float = _training(2, "vCPU per replica on a shared accelerator", OWN, scope="sharing")
    mig_slowdown: float = _training(
        1.2, "p90 over median, besides that of the model", f"{OWN}: 16 of 132 SMs of an H100 in 1g are 12 %, not 1/7", scope="sharing"
    )
    mps_slowdown: float = _training(
        1.5, "p90 over median, besides that of the model", f"{OWN}: caches and bandwidth are not divided", scope="sharing"
    )
    time_slicing_slowdown: float = _training(
        2.0, "p90 over median, besides that of the model", f"{OWN}: a replica waits for the time slices of the others", scope="sharing"
    )

    def sharing_slowdown(self, strategy: str) -> float:
        """p90 over median of times that the other replicas of a shared accelerator cause."""
        return {"mig": self.mig_slowdown, "mps": self.mps_slowdown, "time-slicing": self.time_slicing_slowdown}[strategy]

    def listed(self, *scopes: str) -> tuple[Assumption, ...]:
        """Assumptions for the scopes and for all plans, in the order of the fields."""
        return listed(self, *scopes)


DEFAULT = Assumptions()
