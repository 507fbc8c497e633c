"""Floating-point operations per token, for scalars or arrays. Does not depend on the catalog or the spec.

Source: 6N per trained token (arXiv 2001.08361), with causal attention counted once (half of the full square). LoRA needs 4N, because it
computes no weight gradients; every published LoRA run that prints both tokens/s and TFLOP/s agrees.
"""

import numpy as np

from rackwright.estimator.model.dimensions import ModelDimensions, Num

FLOPS_PER_WEIGHT = {"full": 6.0, "lora": 4.0, "qlora": 4.0, "p-tuning": 4.0, "forward": 2.0}
"""FLOPs per weight and token: 2 forward, 2 for the gradient of the input, 2 for the gradient of the weight."""


def attention_flops(n: ModelDimensions, context: Num, passes: Num = 6.0) -> Num:
    """Return the FLOPs of scores and weighted sum per token of a causal sequence of `context` tokens. Local layers attend to at most two
    windows. passes: FLOPs per weight and token."""
    latent = n.heads * (n.nope_dim + n.rope_dim + n.v_dim) / 2
    width = np.where(np.greater(n.kv_rank, 0), latent, n.heads * n.head_dim)
    local = np.where(np.greater(n.window, 0), np.minimum(context, 2 * n.window), context)
    return passes * width * (n.global_layers * context + n.local_layers * local)


def training_flops_per_token(n: ModelDimensions, context: Num, method: str = "full") -> Num:
    """Return the model FLOPs per token without recomputation. Attention needs its gradient passes even when weights are frozen."""
    return FLOPS_PER_WEIGHT[method] * n.matmul + attention_flops(n, context)


def forward_flops_per_token(n: ModelDimensions, context: Num) -> Num:
    """Return the FLOPs of a forward pass per token."""
    return FLOPS_PER_WEIGHT["forward"] * n.matmul + attention_flops(n, context, FLOPS_PER_WEIGHT["forward"])
