"""Sustained FLOP/s and bytes/s of an accelerator with a trainer's kernels, for scalars or arrays.

There is no coefficient per generation: the rate of large products over the nameplate is measured (Chip.sustained_share), and utilisation
falls because memory bandwidth grows slower than FLOP/s. Does not depend on the catalog or the spec.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rackwright.estimator.case import Num, TrainingCase, lookup_by_label

TUNED_TRAINERS = {"megatron": 1.0}
"""Trainers with Transformer Engine and cuDNN, whose kernels are tuned for each generation from Hopper on."""
TUNED_FROM_FLOPS = 500e12
"""Peak bf16 FLOP/s from which tuned kernels are faster: H100 and later."""
TUNED_ATTENTION_YEAR = 2025.5
"""Year from which every trainer has attention kernels for Hopper and Blackwell. DeepSpeed with plain transformers reaches half of a B200's
peak in sequences of 200,000 tokens (TT0697), with PyTorch's cuDNN or FlashAttention-3 (arXiv 2407.08608). 2025.0 was tried too;
torchtitan's rows of June 2025 fit older kernels."""
TRITON_ATTENTION_TRAINERS = {"composer": 1.0}
"""Trainers that use the first FlashAttention in Triton (arXiv 2205.14135); later kernels are twice as fast (arXiv 2307.08691)."""
WIDE_FORMAT_FACTOR = {"fp32": 2.0, "tf32": 2.0}
"""Formats with 32-bit activations -> factor on the 16-bit byte counts."""
REFERENCE_PEAK_FLOPS = 312e12
"""bf16 peak of A100, the reference of the attention share."""
REFERENCE_HEAD = 128.0
LATEST = 2026.7
"""Year of the newest measured software (26.08); later and unknown releases are assumed to be as fast. 2026.5 to 2026.75 score alike."""
IMMATURE_YEARS = 1.0
"""Maximum age of expert software that counts. Chosen among 0.9, 1, 1.2, 2 and 3 by the grouped folds."""


@dataclass(frozen=True)
class SustainedRates:
    """Rates. matrix, narrow: FLOP/s of large products in 16 bit and in the format of the run; attention: FLOP/s; memory: bytes/s."""

    matrix: Num
    narrow: Num
    attention: Num
    memory: Num


def sustained_rates(case: TrainingCase, k: Any) -> SustainedRates:
    n, chip = case.network, case.chip
    has_tuned_kernels = np.greater(chip.base_peak_flops, TUNED_FROM_FLOPS)
    tuned = lookup_by_label(case.engine, TUNED_TRAINERS, 0.0) * has_tuned_kernels
    has_tuned_attention = has_tuned_kernels & (
        (tuned > 0) | np.equal(case.released, 0) | np.greater_equal(case.released, TUNED_ATTENTION_YEAR)
    )
    over = chip.peak_flops / chip.base_peak_flops
    sustained = chip.base_peak_flops * np.minimum(over, 1) * chip.sustained_share * chip.power_share**k.power_exponent
    matrix = sustained * k.matrix_share * (1 + (k.tuned_gain - 1) * tuned)
    triton = 1 - (1 - k.triton_share) * lookup_by_label(case.engine, TRITON_ATTENTION_TRAINERS, 0.0)
    plain = np.minimum(k.attention_share * triton * (chip.base_peak_flops / REFERENCE_PEAK_FLOPS) ** -k.attention_lag, k.matrix_share)
    dim = np.where(np.greater(n.kv_rank, 0), (n.nope_dim + n.rope_dim + n.v_dim) / 2, n.head_dim)
    filled = dim / (dim + k.head_half) * (REFERENCE_HEAD + k.head_half) / REFERENCE_HEAD
    return SustainedRates(
        matrix=matrix,
        narrow=matrix * (1 + k.narrow_share * np.maximum(over - 1, 0)),
        attention=sustained
        * np.maximum(filled, 1e-9)
        * np.where(has_tuned_attention, k.tuned_attention_share, plain)
        * chip.attention_gain**k.attention_gain_kept,
        memory=chip.bandwidth_bytes_per_s / lookup_by_label(case.numbers, WIDE_FORMAT_FACTOR, 1.0),
    )


def software_slowdown(case: TrainingCase, k: Any) -> Num:
    """Return the factor by which expert software was slower at its release than the newest."""
    age = np.where(np.greater(case.released, 0), np.clip(LATEST - case.released, 0.0, IMMATURE_YEARS), 0.0)
    return np.exp(k.expert_gain_per_year * age)
