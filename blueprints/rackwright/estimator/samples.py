"""Memory of whole samples of diffusion, vision and encoder models, and priors of their time. Nothing here is fitted; see sample_rate.py.

Activations of transformers follow tokens and widths, those of convolutional networks FLOPs. Every interval spans a factor 2 either way.
Does not depend on the catalog or the spec.
"""

import numpy as np

from rackwright.estimator.case import Chip, Num, lookup_by_label
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.result import MemoryTerms
from rackwright.units import GIB

KERNEL_SHARE = 0.6
"""FLOP/s of convolutions and attention over those of a large matrix product. Assumption of rackwright, 2026-11; not measured."""
FLOPS_PER_WATT = {
    "volta": 125e12 / 300, "turing": 125e12 / 300, "ampere": 271.2e12 / 400, "ada": 794.5e12 / 700, "hopper": 794.5e12 / 700,
    "blackwell": 1745e12 / 1000,
}  # fmt: skip
"""16-bit matrix FLOP/s per watt of board power, by process node. Measured matrix peak (stas00/ml-engineering@744d01e) over TDP of A100 SXM
(7 nm), H100 SXM (4N, also Ada) and B200 SXM (4NP); nameplate peak of V100 SXM2 (12 nm, also Turing), which has no measurement."""
TPU_SUSTAINED_SHARE = 0.9
"""Sustained over nameplate FLOP/s of matrix units at a fixed clock. MaxText 32B on v5e reaches 0.67 in model FLOPs with full recompute."""
BANDWIDTH_SHARE = 0.8
"""Bandwidth of streaming kernels over nameplate memory bandwidth, fitted on published decode runs."""
TRAFFIC = 1.0
"""Bytes read and written per byte of activations, besides matrix products. Assumption of rackwright, 2026-11; not measured."""
TPU_TRAFFIC = 0.5
"""The same when XLA fuses the whole graph. Assumption of rackwright, 2026-11; not measured."""
SATURATION_FLOPS = 2e12
"""FLOPs of one launch at which an accelerator of 10^15 FLOP/s reaches half its rate. Assumption of rackwright, 2026-11; not measured. An
SDXL U-Net pass at 1024 px has 7e12."""
CONVOLUTION_BYTES_PER_FLOP = 0.005
"""Activation bytes per forward FLOP of U-Nets, which have few channels at high resolution. Assumption of rackwright, 2026-11."""
LAYER_BYTES_PER_TOKEN = 34.0
"""Bytes kept per token and hidden unit of a transformer layer, attention scores not stored (arXiv 2205.05198, section 4.1)."""
FORWARD_LAYERS = 1.5
"""Layers whose activations are alive at the same time in a forward pass. Assumption of rackwright, 2026-11."""
WIDTH_PER_LAYER = 80.0
"""hidden / layers of transformers whose layers are not published: SD3 medium 64, ViT-B 64, FLUX.1 54, Wan 14B 128."""
MAX_CONVOLUTION_TOKENS = 10_000.0
"""FLOPs over twice the parameters above which a network is a transformer on video: SDXL at 1024 px has 1,317."""
RECOMPUTE_KEPT_SHARE = 0.2
"""Activations kept with full recompute over those without. Assumption of rackwright, 2026-11."""
FORWARD_KEPT_SHARE = 0.1
"""Activations alive at the same time in a forward pass over those kept for backward. Assumption of rackwright, 2026-11."""
FIXED_BYTES = 1.2 * GIB
"""Driver context and libraries of one process. vLLM start-up logs: 0.3 to 1.8 GiB outside torch."""


def sustained_flops(chip: Chip) -> Num:
    """Return the sustained FLOP/s of matrix products: a share of the peak, limited by board power."""
    share = np.where(chip.is_tpu, TPU_SUSTAINED_SHARE, chip.sustained_share)
    power_limit = chip.watts * lookup_by_label(chip.generation, FLOPS_PER_WATT, np.inf) * chip.peak_flops / chip.base_peak_flops
    return np.minimum(chip.peak_flops * share, power_limit)


def pass_seconds(n: ModelDimensions, chip: Chip, batch: Num, backward: bool = False, adapter: bool = False, recompute: bool = False) -> Num:
    """Return the seconds of one pass of a batch: forward, or forward and backward.

    A backward pass makes it 3 forward passes, 2 with a frozen base (adapter), and one more with recompute.
    """
    times = (2.0 if adapter else 3.0) + recompute if backward else 1.0
    flops, rate = batch * n.flops_per_sample * times, sustained_flops(chip)
    computing = (flops + SATURATION_FLOPS * rate / 1e15) / (rate * KERNEL_SHARE)
    moved = times * activation_bytes(n, batch) * np.where(chip.is_tpu, TPU_TRAFFIC, TRAFFIC) + n.total * 2.0
    return computing + moved / (chip.bandwidth_bytes_per_s * BANDWIDTH_SHARE)


def activation_bytes(n: ModelDimensions, batch: Num) -> Num:
    """Return the bytes of activations kept for the backward pass without recomputation."""
    width, layers, tokens = _layers(n)
    kept = LAYER_BYTES_PER_TOKEN * tokens * width * layers
    return batch * np.where(tokens > 0, kept, n.flops_per_sample * CONVOLUTION_BYTES_PER_FLOP)


def live_bytes(n: ModelDimensions, batch: Num) -> Num:
    """Return the bytes of activations alive at the same time in a forward pass. Those of transformers follow tokens, not FLOPs."""
    width, _, tokens = _layers(n)
    live = LAYER_BYTES_PER_TOKEN * tokens * width * FORWARD_LAYERS
    return batch * np.where(tokens > 0, live, FORWARD_KEPT_SHARE * n.flops_per_sample * CONVOLUTION_BYTES_PER_FLOP)


def _layers(n: ModelDimensions) -> tuple[Num, Num, Num]:
    """Return width, layers and tokens of a transformer; 0 tokens for a convolutional network.

    Unpublished widths follow from the parameters, 12 h^2 per layer; unpublished tokens from FLOPs = 2 P T (1 + T / 6h).
    """
    trunk = np.maximum(n.trunk, 1.0)
    width = np.where(np.greater(n.hidden, 0), n.hidden, (WIDTH_PER_LAYER * trunk / 12) ** (1 / 3))
    layers = np.where(np.greater(n.layers, 0), n.layers, trunk / (12 * width**2))
    linear = n.flops_per_sample / (2 * trunk)
    solved = 3 * width * (np.sqrt(1 + 2 * linear / (3 * width)) - 1)
    is_transformer = np.greater(n.layers, 0) | (linear > MAX_CONVOLUTION_TOKENS)
    return width, layers, np.where(np.greater(n.sample_tokens, 0), n.sample_tokens, np.where(is_transformer, solved, 0.0))


def forward_memory(n: ModelDimensions, batch: Num, weight_bytes: Num) -> MemoryTerms:
    """Return the memory of a forward pass. weight_bytes: bytes of all weights in their storage format."""
    return MemoryTerms(weights=weight_bytes, activations=live_bytes(n, batch), fixed=FIXED_BYTES)


def training_memory(n: ModelDimensions, batch: Num, trainable: Num, shards: Num = 1.0, recompute: bool = False) -> MemoryTerms:
    """Return the memory of training: 16-bit weights, fp32 gradients and master weights, two Adam moments. A frozen base is 16 bit."""
    frozen = 2.0 * (n.total - np.minimum(trainable, n.trunk))
    kept = RECOMPUTE_KEPT_SHARE if recompute else 1.0
    return MemoryTerms(
        weights=frozen + 2.0 * trainable, gradients=4.0 * trainable, optimizer=12.0 * trainable / shards,
        activations=kept * activation_bytes(n, batch), fixed=FIXED_BYTES,
    )  # fmt: skip
