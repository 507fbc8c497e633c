"""Diffusion, vision, encoders: whole samples by their FLOPs. Numbers in, numbers out; no published run is in reach, so all of it is prior.

Time is FLOPs over a share of the peak; activations are bytes per forward FLOP. Every interval is a factor 2 either way.
"""

from typing import Any

import numpy as np

from rackwright.estimate.case import Chip
from rackwright.estimate.network import Network
from rackwright.estimate.result import MemoryTerms

Num = Any

EFFICIENCY = 0.3
"""Of the peak, forward or backward; rackwright's choice 2026-11, not measured."""
SATURATION_FLOPS = 2e12
"""Of one launch: at so many the efficiency is half; rackwright's choice 2026-11, not measured (an SDXL U-Net pass at 1024 px is 6e12)."""
CONVOLUTION_BYTES_PER_FLOP = 0.005
"""Activations kept for backward; rackwright's choice 2026-11: U-Nets keep few channels at high resolution."""
TRANSFORMER_BYTES_PER_FLOP = 34 / (24 * 2400)
"""34h bytes for 24h^2 FLOPs per token and layer (arXiv 2205.05198), at a width of 2,400; layers are not published for these."""
RECOMPUTE_KEEPS = 0.2
"""Of those activations with full recompute; rackwright's choice 2026-11."""
FORWARD_KEEPS = 0.1
"""Of those activations at once in a forward pass, which frees as it goes; rackwright's choice 2026-11."""
FIXED_BYTES = 1.2 * 2**30
"""Context and libraries of one process; vLLM start-up logs: 0.3 to 1.8 GiB outside torch."""


def pass_seconds(n: Network, chip: Chip, batch: Num, backward: bool = False, adapter: bool = False, recompute: bool = False) -> Num:
    """One pass of a batch: forward, or forward and backward (3 x; 2 x with a frozen base; one forward more with recompute)."""
    times = (2.0 if adapter else 3.0) + recompute if backward else 1.0
    flops = batch * n.flops_per_sample * times
    filled = flops / (flops + SATURATION_FLOPS * chip.peak_flops / 1e15)
    reading = n.total * 2.0 / chip.bandwidth_bytes_per_s
    return np.maximum(flops / (chip.peak_flops * EFFICIENCY * filled), reading)


def activation_bytes(n: Network, batch: Num) -> Num:
    """Kept for backward, nothing recomputed."""
    each = np.where(np.greater(n.layers, 0) | np.greater(n.sample_tokens, 0), TRANSFORMER_BYTES_PER_FLOP, CONVOLUTION_BYTES_PER_FLOP)
    return batch * n.flops_per_sample * each


def forward_memory(n: Network, batch: Num, weight_bytes: Num) -> MemoryTerms:
    """weight_bytes: of all weights together, as they are held."""
    return MemoryTerms(weights=weight_bytes, activations=FORWARD_KEEPS * activation_bytes(n, batch), fixed=FIXED_BYTES)


def training_memory(n: Network, batch: Num, trainable: Num, shards: Num = 1.0, recompute: bool = False) -> MemoryTerms:
    """16-bit weights and gradients, fp32 master and Adam; with an adapter the base is held in 16 bit and not trained."""
    frozen = 2.0 * (n.total - np.minimum(trainable, n.trunk))
    kept = RECOMPUTE_KEEPS if recompute else 1.0
    return MemoryTerms(
        weights=frozen + 2.0 * trainable, gradients=4.0 * trainable, optimizer=12.0 * trainable / shards,
        activations=kept * activation_bytes(n, batch), fixed=FIXED_BYTES,
    )  # fmt: skip
