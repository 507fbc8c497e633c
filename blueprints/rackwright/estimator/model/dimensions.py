"""Dimensions of a model as plain numbers. Does not depend on the catalog or the spec."""

from dataclasses import dataclass
from typing import Any

import numpy as np

Num = Any
"""float or numpy array of floats."""


@dataclass(frozen=True)
class ModelDimensions:
    """Widths and parameter counts. 0 means "none"; layers 0: only totals and FLOPs per sample are known.

    trunk: trainable parameters; matmul: active parameters multiplied with each token, without the embedding table; routed: parameters of
    routed experts; linear: weights that can be quantized; shared_ffn: width of all shared experts together; mtp: parameters of
    multi-token-prediction modules, not included in any total.
    """

    layers: int = 0
    hidden: int = 0
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    ffn: int = 0
    gated: bool = True
    vocab: int = 0
    total: float = 0
    trunk: float = 0
    matmul: float = 0
    active: float = 0
    embedding: float = 0
    head: float = 0
    routed: float = 0
    linear: float = 0
    largest_linear: float = 0
    largest_block: float = 0
    tower: float = 0
    tower_values: float = 0
    mtp: float = 0
    experts: int = 0
    top_k: int = 0
    expert_ffn: int = 0
    shared_ffn: int = 0
    moe_layers: int = 0
    q_rank: int = 0
    kv_rank: int = 0
    nope_dim: int = 0
    rope_dim: int = 0
    v_dim: int = 0
    window: int = 0
    local_layers: int = 0
    global_layers: int = 0
    max_context: int = 0
    flops_per_sample: float = 0
    sample_tokens: int = 0

    @property
    def is_moe(self) -> bool:
        return self.experts > 0

    @property
    def active_routed(self) -> Num:
        """Parameters of the routed experts that one token uses."""
        return self.routed * self.top_k / np.maximum(self.experts, 1)

    @property
    def layer_parameters(self) -> float:
        """Parameters of all layers, experts included."""
        return self.trunk - self.embedding - self.head
