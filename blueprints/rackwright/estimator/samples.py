"""Diffusion, vision, encoders: whole samples by their FLOPs. Numbers in, numbers out; no published run is in reach, so all of it is prior.

Time is FLOPs over what the accelerator keeps up, and activations over its memory bandwidth, one after the other; activations are bytes
per forward FLOP. What an accelerator keeps up is the lesser of a share of its peak and what its board's power pays for: an inference card
of 70 W has the matrix units of more. Every interval is a factor 2 either way.
"""

from typing import Any

import numpy as np

from rackwright.estimator.case import Chip, lookup_by_label
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.result import MemoryTerms
from rackwright.units import GIB

Num = Any

KERNEL_SHARE = 0.6
"""Of what a large matrix product sustains, convolutions and attention of these networks; rackwright's choice 2026-11, not measured."""
FLOPS_PER_WATT = {
    "volta": 125e12 / 300, "turing": 125e12 / 300, "ampere": 271.2e12 / 400, "ada": 794.5e12 / 700, "hopper": 794.5e12 / 700,
    "blackwell": 1745e12 / 1000,
}  # fmt: skip
"""16-bit matrix FLOP/s per watt of board power that a process node pays for. Measured matrix peak (stas00/ml-engineering@744d01e) over TDP
of A100 SXM (7 nm), H100 SXM (4N, Ada's too) and B200 SXM (4NP); V100 SXM2's nameplate (12 nm, Turing's too), where none was measured."""
TPU_SUSTAINED_SHARE = 0.9
"""Of the nameplate peak, matrix units at a fixed clock: MaxText: 32B on v5e reaches 0.67 in model FLOPs, full recompute beside."""
BANDWIDTH_SHARE = 0.8
"""Of nameplate memory bandwidth, streaming kernels; rackwright's own fit of published decode runs."""
TRAFFIC = 1.0
"""Bytes read and written per byte of activations, beside what matrix products do on the way; rackwright's choice 2026-11, not measured."""
TPU_TRAFFIC = 0.5
"""The same where XLA fuses the whole graph; rackwright's choice 2026-11, not measured."""
SATURATION_FLOPS = 2e12
"""Of one launch at 10^15 FLOP/s: at so many the rate is half; rackwright's choice 2026-11, not measured (an SDXL U-Net pass at 1024 px
is 7e12)."""
CONVOLUTION_BYTES_PER_FLOP = 0.005
"""Activations kept for backward; rackwright's choice 2026-11: U-Nets keep few channels at high resolution."""
TRANSFORMER_BYTES_PER_FLOP = 34 / (24 * 2400)
"""34h bytes for 24h^2 FLOPs per token and layer (arXiv 2205.05198), at a width of 2,400; layers are not published for these."""
RECOMPUTE_KEPT_SHARE = 0.2
"""Of those activations with full recompute; rackwright's choice 2026-11."""
FORWARD_KEPT_SHARE = 0.1
"""Of those activations at once in a forward pass, which frees as it goes; rackwright's choice 2026-11."""
FIXED_BYTES = 1.2 * GIB
"""Context and libraries of one process; vLLM start-up logs: 0.3 to 1.8 GiB outside torch."""


def sustained_flops(chip: Chip) -> Num:
    """What matrix products keep up, FLOP/s: the peak's share, or what the board's power pays for at the width of the format."""
    share = np.where(chip.is_tpu, TPU_SUSTAINED_SHARE, chip.sustained_share)
    paid = chip.watts * lookup_by_label(chip.generation, FLOPS_PER_WATT, np.inf) * chip.peak_flops / chip.base_peak_flops
    return np.minimum(chip.peak_flops * share, paid)


def pass_seconds(n: ModelDimensions, chip: Chip, batch: Num, backward: bool = False, adapter: bool = False, recompute: bool = False) -> Num:
    """One pass of a batch: forward, or forward and backward (3 x; 2 x with a frozen base; one forward more with recompute)."""
    times = (2.0 if adapter else 3.0) + recompute if backward else 1.0
    flops, rate = batch * n.flops_per_sample * times, sustained_flops(chip)
    computing = (flops + SATURATION_FLOPS * rate / 1e15) / (rate * KERNEL_SHARE)
    moved = times * activation_bytes(n, batch) * np.where(chip.is_tpu, TPU_TRAFFIC, TRAFFIC) + n.total * 2.0
    return computing + moved / (chip.bandwidth_bytes_per_s * BANDWIDTH_SHARE)


def activation_bytes(n: ModelDimensions, batch: Num) -> Num:
    """Kept for backward, nothing recomputed."""
    each = np.where(np.greater(n.layers, 0) | np.greater(n.sample_tokens, 0), TRANSFORMER_BYTES_PER_FLOP, CONVOLUTION_BYTES_PER_FLOP)
    return batch * n.flops_per_sample * each


def forward_memory(n: ModelDimensions, batch: Num, weight_bytes: Num) -> MemoryTerms:
    """weight_bytes: of all weights together, as they are held."""
    return MemoryTerms(weights=weight_bytes, activations=FORWARD_KEPT_SHARE * activation_bytes(n, batch), fixed=FIXED_BYTES)


def training_memory(n: ModelDimensions, batch: Num, trainable: Num, shards: Num = 1.0, recompute: bool = False) -> MemoryTerms:
    """16-bit weights and gradients, fp32 master and Adam; with an adapter the base is held in 16 bit and not trained."""
    frozen = 2.0 * (n.total - np.minimum(trainable, n.trunk))
    kept = RECOMPUTE_KEPT_SHARE if recompute else 1.0
    return MemoryTerms(
        weights=frozen + 2.0 * trainable, gradients=4.0 * trainable, optimizer=12.0 * trainable / shards,
        activations=kept * activation_bytes(n, batch), fixed=FIXED_BYTES,
    )  # fmt: skip
