"""Floating-point operations per token. Numbers in, numbers out: knows neither catalog nor spec.

Source of the forms: 6N per trained token (arXiv 2001.08361) with causal attention counted once (half of the full square); the LoRA
form 4N (no weight gradients) agrees with every published LoRA run that prints both tokens/s and TFLOP/s. Works on networks of arrays.
"""

from typing import Any

import numpy as np

from rackwright.estimator.model.dimensions import ModelDimensions

Num = Any

FLOPS_PER_WEIGHT = {"full": 6.0, "lora": 4.0, "qlora": 4.0, "p-tuning": 4.0, "forward": 2.0}
"""FLOPs per weight and token: 2 forward, 2 for the gradient of the input, 2 for the gradient of the weight."""


def attention_flops(n: ModelDimensions, context: Num, passes: Num = 6.0) -> Num:
    """Scores and weighted sum per token of a causal sequence of `context` tokens; local layers see at most two windows."""
    latent = n.heads * (n.nope_dim + n.rope_dim + n.v_dim) / 2
    width = np.where(np.greater(n.kv_rank, 0), latent, n.heads * n.head_dim)
    local = np.where(np.greater(n.window, 0), np.minimum(context, 2 * n.window), context)
    return passes * width * (n.global_layers * context + n.local_layers * local)


def training_flops_per_token(n: ModelDimensions, context: Num, method: str = "full") -> Num:
    """Model FLOPs, recompute not counted. The gradient passes of attention are needed whatever is frozen."""
    return FLOPS_PER_WEIGHT[method] * n.matmul + attention_flops(n, context)


def forward_flops_per_token(n: ModelDimensions, context: Num) -> Num:
    return FLOPS_PER_WEIGHT["forward"] * n.matmul + attention_flops(n, context, FLOPS_PER_WEIGHT["forward"])
