"""Time and memory of whole samples of diffusion, vision and encoder models, from FLOPs per sample. All values are priors without fit.

Time is FLOPs over the sustained FLOP/s plus activation traffic over memory bandwidth. Sustained FLOP/s is the smaller of a share of the
peak and a limit by board power, which matters for inference cards of 70 W. Activations are bytes per forward FLOP. Every interval spans a
factor 2 either way. Does not depend on the catalog or the spec.
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
TRANSFORMER_BYTES_PER_FLOP = 34 / (24 * 2400)
"""34h bytes for 24h^2 FLOPs per token and layer (arXiv 2205.05198), at a width of 2,400; the layers of these models are not published."""
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
    each = np.where(np.greater(n.layers, 0) | np.greater(n.sample_tokens, 0), TRANSFORMER_BYTES_PER_FLOP, CONVOLUTION_BYTES_PER_FLOP)
    return batch * n.flops_per_sample * each


def forward_memory(n: ModelDimensions, batch: Num, weight_bytes: Num) -> MemoryTerms:
    """Return the memory of a forward pass. weight_bytes: bytes of all weights in their storage format."""
    return MemoryTerms(weights=weight_bytes, activations=FORWARD_KEPT_SHARE * activation_bytes(n, batch), fixed=FIXED_BYTES)


def training_memory(n: ModelDimensions, batch: Num, trainable: Num, shards: Num = 1.0, recompute: bool = False) -> MemoryTerms:
    """Return the memory of training: 16-bit weights, fp32 gradients and master weights, two Adam moments. A frozen base is 16 bit."""
    frozen = 2.0 * (n.total - np.minimum(trainable, n.trunk))
    kept = RECOMPUTE_KEPT_SHARE if recompute else 1.0
    return MemoryTerms(
        weights=frozen + 2.0 * trainable, gradients=4.0 * trainable, optimizer=12.0 * trainable / shards,
        activations=kept * activation_bytes(n, batch), fixed=FIXED_BYTES,
    )  # fmt: skip
