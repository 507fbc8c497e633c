"""Time of one training step on TPU, compiled by XLA (MaxText, Levanter): roofline of the matrix units, memory, and what links leave over.

Each term's share of the step is added, not the largest taken: published runs of v5p, v6e and Ironwood keep 66, 47 and 53 % of peak at
166, 560 and 313 FLOP per byte of memory bandwidth, a straight line in that ratio. So a generation needs no coefficient of its own.
Knows neither catalog nor spec.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rackwright.estimator.calibration.coefficients import FittedModel, fitted
from rackwright.estimator.case import Num, TrainingCase
from rackwright.estimator.model.flops import attention_flops
from rackwright.estimator.result import StepTerms

ELEMENT_BYTES = 2.0
"""Of a gathered weight or an activation: bf16."""
GRADIENT_BYTES = 4.0
"""Of a gradient that crosses slices: fp32, MaxText's default."""
GATHERS = 3.0
"""FSDP moves each weight three times a pass over the batch: gathered forward and backward, its gradient scattered (sizing.md section 8)."""
GATHER_EXPOSED_SHARE = 0.2
"""Of FSDP's traffic that computing does not hide: 80 to 90 % is hidden (sizing.md section 8)."""
DCN_FLOPS_PER_BYTE = 73_000.0
"""Peak over a chip's share of the data-centre network: MaxText documentation, Trillium; a v5e pod's 6.4 Tb/s makes 63,000."""
FULL_RECOMPUTE_EXPOSED_SHARE = 0.3
"""Of the second forward pass under full remat: MaxText's published v5e and v5p tables lose 0 to 20 % against minimal remat, not 33 %."""


@dataclass(frozen=True)
class TpuCoefficients:
    matmul_efficiency: float = fitted(0.75, 0.3, 1.0, "share of peak that matrix products reach when memory is no limit", spread=0.2)
    matmul_reuse: float = fitted(700.0, 100.0, 10_000.0, "FLOPs of matrix products per byte they move through memory", "FLOP/byte")
    attention_efficiency: float = fitted(0.35, 0.1, 0.9, "share of the bf16 peak that attention kernels reach", spread=0.4)
    activation_passes: float = fitted(60.0, 0.0, 500.0, "reads and writes of a hidden vector per layer and token", spread=1.0)
    dispatch_passes: float = fitted(200.0, 0.0, 2000.0, "the same per expert a token goes to: sort, scatter, gather, combine", spread=1.0)


def step_seconds(case: TrainingCase, k: TpuCoefficients) -> StepTerms:
    """Seconds of one optimizer step by term. case.chip.is_tpu must hold."""
    n, chip = case.network, case.chip
    tokens = case.step_tokens / case.accelerators
    bandwidth = chip.bandwidth_bytes_per_s
    matmul = case.passes * n.matmul
    products = matmul / (k.matmul_efficiency * chip.peak_flops) + matmul / (k.matmul_reuse * bandwidth)
    attention = attention_flops(n, case.sequence) / (k.attention_efficiency * chip.base_peak_flops)
    activations = k.activation_passes * ELEMENT_BYTES * n.hidden * n.layers / bandwidth
    compute = tokens * (products + attention + activations)
    dispatch = tokens * k.dispatch_passes * ELEMENT_BYTES * n.top_k * n.hidden * n.moe_layers / bandwidth
    gather, across = _gather_seconds(case), _dcn_seconds(case)
    return StepTerms(
        compute=compute,
        recompute=compute * FULL_RECOMPUTE_EXPOSED_SHARE * _recomputed_share(case) * 2 / case.passes,
        expert_exposed=dispatch,
        data_exposed=GATHER_EXPOSED_SHARE * gather + across,
        expert_total=dispatch,
        data_total=gather + across,
    )


def tokens_per_s_per_accelerator(case: TrainingCase, k: TpuCoefficients) -> Num:
    return case.step_tokens / case.accelerators / step_seconds(case, k).total


def _recomputed_share(case: TrainingCase) -> Num:
    """Share of the layers that run forward twice."""
    return np.where(np.equal(case.recompute, 2), case.recompute_share, 0.0)


def _gather_seconds(case: TrainingCase) -> Num:
    """FSDP over the links of a slice; nothing on one chip."""
    chips = np.minimum(case.shards, case.accelerators / case.slices)
    volume = GATHERS * ELEMENT_BYTES * case.network.trunk / case.tensor * (chips - 1) / np.maximum(chips, 1)
    return case.micro_batches * volume / case.wires.scale_up_bytes_per_s


def _dcn_seconds(case: TrainingCase) -> Num:
    """All-reduce of the gradients between slices; a chip brings its slice's share of them."""
    each = GRADIENT_BYTES * case.network.trunk / (case.accelerators / case.slices)
    return 2 * each * (case.slices - 1) / case.slices * DCN_FLOPS_PER_BYTE / case.chip.base_peak_flops


def _classes(case: TrainingCase) -> tuple[str, ...]:
    """Runs of dense models say nothing of a mixture of experts, which with too few runs of its own is prior only; nor of adapters."""
    if case.adapter:
        return ("not measured",)
    return ("moe",) if case.network.is_moe else ("dense", "all")


def _applies(case: Any) -> bool:
    return bool(case.chip.is_tpu)


MODELS = (
    FittedModel(
        "tpu_step", metric="tokens_per_s_per_accel", csv=("tpu_training",), kind=TpuCoefficients,
        predict=tokens_per_s_per_accelerator, classes=_classes, applies=_applies,
    ),
)  # fmt: skip
