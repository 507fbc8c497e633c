"""The time operations take. Numbers in, numbers out: knows neither catalog nor spec."""

from typing import Any

import numpy as np

from rackwright.estimate.flops import PASSES
from rackwright.sizing.assumptions import Assumptions

Num = Any


def recompute_factor(method: str, recompute: Num, visible: float = 1.0) -> Num:
    """Hardware FLOPs over model FLOPs: full recompute runs the forward pass twice (4/3 for full training, 3/2 with a frozen base).

    visible: share of the second pass that lengthens the step; the larger micro-batches it makes room for win some of it back.
    """
    return np.where(np.greater(recompute, 0), 1.0 + visible * 2.0 / PASSES[method], 1.0)


def saturation(tokens: Num, a: Assumptions) -> Num:
    """Share of the large-batch efficiency that a micro-batch of `tokens` per accelerator reaches; 1 at 4,096 tokens."""
    half = a.kernel_saturation_tokens
    return np.minimum(tokens / (tokens + half) * (4096 + half) / 4096, 1.0)


def compute_seconds(flops: Num, peak_flops: float, mfu: float, moe: bool, a: Assumptions) -> Num:
    """Time of `flops` on one accelerator. `mfu`: published model FLOPs utilisation of a whole step, which already contains the
    waiting that traffic.py adds again, so that much is taken out first."""
    waiting = a.published_exposed_share_moe if moe else a.published_exposed_share
    return flops / (peak_flops * mfu / (1 - waiting))
