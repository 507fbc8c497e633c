"""Floating-point operations per token and the time they take. Numbers in, numbers out: knows neither catalog nor spec.

Source of the forms: 6N per trained token (arXiv 2001.08361) with causal attention counted once (half of the full square); the LoRA
form 4N (no weight gradients) agrees with every published LoRA run that prints both tokens/s and TFLOP/s.
"""

from typing import Any

import numpy as np

from rackwright.sizing.assumptions import Assumptions
from rackwright.estimate.network import Network

Num = Any

PASSES = {"full": 6.0, "lora": 4.0, "qlora": 4.0, "p-tuning": 4.0, "forward": 2.0}
"""FLOPs per weight and token: 2 forward, 2 for the gradient of the input, 2 for the gradient of the weight."""


def attention_flops(n: Network, context: float, passes: float = 6.0) -> float:
    """Scores and weighted sum per token of a causal sequence of `context` tokens; local layers see at most two windows."""
    width = n.heads * (n.nope_dim + n.rope_dim + n.v_dim) / 2 if n.is_mla else n.heads * n.head_dim
    local = min(context, 2 * n.window) if n.window else context
    return passes * width * (n.global_layers * context + n.local_layers * local)


def training_flops_per_token(n: Network, context: float, method: str = "full") -> float:
    """Model FLOPs, recompute not counted. The gradient passes of attention are needed whatever is frozen."""
    return PASSES[method] * n.matmul + attention_flops(n, context)


def forward_flops_per_token(n: Network, context: float) -> float:
    return PASSES["forward"] * n.matmul + attention_flops(n, context, PASSES["forward"])


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
