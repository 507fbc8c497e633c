"""Time of one training step on TPU, compiled by XLA (MaxText, Levanter): matrix units, memory and exposed communication.

Terms add; the roofline maximum is not used. Published runs of v5p, v6e and Ironwood reach 66, 47 and 53 % of peak at 166, 560 and 313 FLOP
per byte of memory bandwidth, which is linear in that ratio, so no coefficient per generation is needed.
Does not depend on the catalog or the spec.
"""

from dataclasses import dataclass

import numpy as np

from rackwright.estimator.calibration.coefficients import FittedModel, fitted
from rackwright.estimator.case import Num, TrainingCase
from rackwright.estimator.model.flops import attention_flops
from rackwright.estimator.result import StepTerms

ELEMENT_BYTES = 2.0
"""Bytes per gathered weight or activation: bf16."""
GRADIENT_BYTES = 4.0
"""Bytes per gradient sent between slices: fp32, MaxText's default."""
GATHERS = 3.0
"""FSDP transfers per weight and batch: gathered forward and backward, its gradient scattered."""
GATHER_EXPOSED_SHARE = 0.2
"""Exposed share of FSDP traffic: 80 to 90 % overlaps with compute."""
DCN_FLOPS_PER_BYTE = 73_000.0
"""Peak FLOP/s over a chip's share of the data-center network: MaxText documentation, Trillium; a v5e pod's 6.4 Tb/s gives 63,000."""
FULL_RECOMPUTE_EXPOSED_SHARE = 0.3
"""Exposed share of the second forward pass with full remat: MaxText's v5e and v5p tables lose 0 to 20 % against minimal remat, not 33 %."""


@dataclass(frozen=True)
class TpuCoefficients:
    matmul_efficiency: float = fitted(0.75, 0.3, 1.0, "share of peak that matrix products reach when memory is no limit", spread=0.2)
    matmul_reuse: float = fitted(700.0, 100.0, 10_000.0, "FLOPs of matrix products per byte they move through memory", "FLOP/byte")
    attention_efficiency: float = fitted(0.35, 0.1, 0.9, "share of the bf16 peak that attention kernels reach", spread=0.4)
    activation_passes: float = fitted(60.0, 0.0, 500.0, "reads and writes of a hidden vector per layer and token", spread=1.0)
    dispatch_passes: float = fitted(200.0, 0.0, 2000.0, "the same per expert a token goes to: sort, scatter, gather, combine", spread=1.0)


def step_seconds(case: TrainingCase, k: TpuCoefficients) -> StepTerms:
    """Return the seconds of one optimizer step by term. The case must be on TPU."""
    n, chip = case.network, case.chip
    tokens = case.step_tokens / case.accelerators
    bandwidth = chip.bandwidth_bytes_per_s
    matmul = case.passes * n.matmul
    products = matmul / (k.matmul_efficiency * chip.peak_flops) + matmul / (k.matmul_reuse * bandwidth)
    attention = attention_flops(n, case.sequence) / (k.attention_efficiency * chip.base_peak_flops)
    activations = k.activation_passes * ELEMENT_BYTES * n.hidden * n.layers / bandwidth
    compute = tokens * (products + attention + activations)
    dispatch = tokens * k.dispatch_passes * ELEMENT_BYTES * n.top_k * n.hidden * n.moe_layers / bandwidth
    gather, across = _gather_seconds(case), slice_exchange_seconds(case)
    return StepTerms(
        compute=compute,
        recompute=compute * FULL_RECOMPUTE_EXPOSED_SHARE * case.full_recompute_share * 2 / case.passes,
        expert_exposed=dispatch,
        data_exposed=GATHER_EXPOSED_SHARE * gather + across,
        expert_total=dispatch,
        data_total=gather + across,
    )


def tokens_per_s_per_accelerator(case: TrainingCase, k: TpuCoefficients) -> Num:
    return case.step_tokens / case.accelerators / step_seconds(case, k).total


def _gather_seconds(case: TrainingCase) -> Num:
    """Return the seconds of FSDP traffic within a slice; 0 on one chip."""
    chips = np.minimum(case.shards, case.accelerators / case.slices)
    volume = GATHERS * ELEMENT_BYTES * case.network.trunk / case.tensor * (chips - 1) / np.maximum(chips, 1)
    return case.micro_batches * volume / case.links.scale_up_bytes_per_s


def slice_exchange_seconds(case: TrainingCase) -> Num:
    """Return the seconds of the gradient all-reduce between slices."""
    each = GRADIENT_BYTES * case.network.trunk / (case.accelerators / case.slices)
    return 2 * each * (case.slices - 1) / case.slices * DCN_FLOPS_PER_BYTE / case.chip.base_peak_flops


def residual_classes(case: TrainingCase) -> tuple[str, ...]:
    """Return the residual classes. Dense runs are no evidence for mixtures of experts or adapters."""
    if case.adapter:
        return ("not measured",)
    return ("moe",) if case.network.is_moe else ("dense", "all")


MODELS = (
    FittedModel(
        "tpu_step", metric="tokens_per_s_per_accel", csv=("tpu_training",), kind=TpuCoefficients,
        predict=tokens_per_s_per_accelerator, classes=residual_classes, applies=lambda case: bool(case.chip.is_tpu),
    ),
)  # fmt: skip
