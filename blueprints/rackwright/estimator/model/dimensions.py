"""A model as the formulas see it: plain numbers. Knows neither catalog nor spec."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelDimensions:
    """Widths and parameter counts. 0 means "has none"; `layers` 0: known by totals and FLOPs per sample only.

    trunk: what training trains; matmul: active parameters that multiply each token (the lookup table is left out);
    routed: parameters of routed experts; linear: weights a 4 or 8 bit format can hold; shared_ffn: width of all shared experts together;
    mtp: multi-token-prediction modules after the stack, in no total.
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
    def layer_parameters(self) -> float:
        """Of all layers together, experts included."""
        return self.trunk - self.embedding - self.head
