"""What an accelerator keeps up under a trainer's kernels: FLOP/s and bytes/s. Numbers or arrays in, rates out.

A generation has no coefficient: what large products reach of its nameplate is measured (Chip.sustained_share), and faster matrices over
the same memory are what makes utilisation fall from one to the next. Knows neither catalog nor spec.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rackwright.estimator.case import Num, TrainingCase, lookup_by_label

TUNED_TRAINERS = {"megatron": 1.0}
"""Trainers on Transformer Engine and cuDNN, whose kernels are made for each generation from Hopper on."""
TUNED_FROM_FLOPS = 500e12
"""Peak (bf16) from which that shows: H100 and later."""
TUNED_ATTENTION_YEAR = 2025.5
"""Year from which every trainer has attention kernels made for Hopper and Blackwell: DeepSpeed with plain transformers reaches half of a
B200's peak in sequences of 200,000 tokens (TT0697), through PyTorch's cuDNN or FlashAttention-3 (arXiv 2407.08608). 2025.0
was tried too; torchtitan's rows of June 2025 fit older kernels."""
TRITON_ATTENTION_TRAINERS = {"composer": 1.0}
"""Trainers of the time of the first FlashAttention, in Triton (arXiv 2205.14135); later kernels are twice as fast (arXiv 2307.08691)."""
WIDE_FORMAT_FACTOR = {"fp32": 2.0, "tf32": 2.0}
"""Formats whose activations are 32 bit -> over the 16 bit that byte counts take; all of the work is as slow as their matrices."""
REFERENCE_PEAK_FLOPS = 312e12
"""A100, bf16: where the attention share is stated."""
REFERENCE_HEAD = 128.0
LATEST = 2026.7
"""Year of the newest measured software (26.08); later and unknown releases are taken to be as fast. 2026.5 to 2026.75 score alike."""
IMMATURE_YEARS = 1.0
"""Software for experts older than this is taken to be this old. Of 0.9, 1, 1.2, 2 and 3 tried 1 was kept, by the grouped folds."""


@dataclass(frozen=True)
class SustainedRates:
    """matrix, narrow: FLOP/s of large products in 16 bit and in the format of the run; attention: FLOP/s; memory: bytes/s."""

    matrix: Num
    narrow: Num
    attention: Num
    memory: Num


def sustained_rates(case: TrainingCase, k: Any) -> SustainedRates:
    n, chip = case.network, case.chip
    made_for_it = np.greater(chip.base_peak_flops, TUNED_FROM_FLOPS)
    tuned = lookup_by_label(case.engine, TUNED_TRAINERS, 0.0) * made_for_it
    caught_up = made_for_it & ((tuned > 0) | np.equal(case.released, 0) | np.greater_equal(case.released, TUNED_ATTENTION_YEAR))
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
        attention=sustained * np.maximum(filled, 1e-9) * np.where(caught_up, k.tuned_attention_share, plain),
        memory=chip.bandwidth_bytes_per_s / lookup_by_label(case.numbers, WIDE_FORMAT_FACTOR, 1.0),
    )


def software_slowdown(case: TrainingCase, k: Any) -> Num:
    """By what factor software for experts was slower when it was released than today."""
    age = np.where(np.greater(case.released, 0), np.clip(LATEST - case.released, 0.0, IMMATURE_YEARS), 0.0)
    return np.exp(k.expert_gain_per_year * age)
