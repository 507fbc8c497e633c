"""Time that adapters add to a micro-batch, and the least time that an eager trainer needs to launch its kernels, in seconds.

For scalars or arrays. Does not depend on the catalog or the spec.
"""

from typing import Any

import numpy as np

from rackwright.estimator.case import Num, TrainingCase, lookup_by_label
from rackwright.estimator.training.sustained_rates import SustainedRates

ADAPTER_FLOPS = 6.0
"""FLOPs per trained parameter and token: forward, gradient of the input, gradient of the weight."""
ADAPTER_PASSES_OF_16_BIT = 3.0 * 2.0
"""Bytes of one pass over a value, forward once and backward twice, 16 bit."""
DEQUANTISE_BYTES = {"int4": 32.0, "int8": 32.0}
"""Bytes of memory traffic that cost as much as dequantizing one weight, per pass: kernels of GPTQ (Qwen 72B in int4 takes 3.2 s for each
micro-batch of 256 tokens on A100, 230 billion weights in three passes)."""
HOOKED_TRAINERS = {"deepspeed": 1.7}
"""Trainers whose ZeRO-3 runs Python hooks for each module and gradient -> their time over that of launches: full fine-tuning of Qwen-1.8B
takes 2.1 s for 8 micro-batches of 256 to 2,048 tokens."""
NF4_BYTES = 4.0
"""Bytes written and read per dequantized weight of bitsandbytes, over the memory bandwidth."""


def adapter_seconds(case: TrainingCase, r: SustainedRates, k: Any) -> Num:
    """Return the seconds of adapters in the forward and backward pass of one micro-batch: low-rank products, which are so thin that memory
    limits them, and the casts, scales and sums around them, which a compiler fuses as it fuses norms."""
    products = ADAPTER_FLOPS * (case.trainable - case.trained_modules) / k.adapter_reuse
    fused = np.where(np.greater(case.compiled, 0), k.fused_passes / k.eager_passes, 1.0)
    moved = ADAPTER_PASSES_OF_16_BIT * k.adapter_passes * fused * case.adapter_inputs * case.network.layers
    return np.where(np.greater(case.adapter, 0), case.local_tokens / case.tensor * (products + moved) / r.memory, 0.0)


def dequantise_bytes(case: TrainingCase, k: Any) -> Num:
    """Return the bytes of memory traffic per frozen weight and pass; 0 for a base in 16 bit."""
    quantised = np.greater(case.adapter, 0) & np.less(case.frozen_bytes, 2.0)
    return np.where(quantised, lookup_by_label(case.frozen_numbers, DEQUANTISE_BYTES, NF4_BYTES * k.dequantise_passes), 0.0)


def launch_seconds(case: TrainingCase, k: Any) -> Num:
    """Return the seconds in which the host launches the kernels of one micro-batch. Compiled trainers launch a few fused ones."""
    passes = 2 + case.full_recompute_share
    adapters = np.where(np.greater(case.adapter_inputs, 0) & np.greater(case.adapter, 0), k.adapter_launches, 0.0)
    hooks = lookup_by_label(case.engine, HOOKED_TRAINERS, 0.0) * np.greater_equal(case.zero_stage, 3) * (1 - case.adapter)
    return np.where(np.greater(case.compiled, 0), 0.0, case.network.layers * passes * k.launch_s * (1 + adapters + hooks))
