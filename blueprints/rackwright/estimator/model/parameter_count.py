"""From an architecture of the catalog to its parameter count: where the two rooms meet."""

from functools import lru_cache

from rackwright.catalog.models.architecture import Architecture
from rackwright.estimator.model.layer_parameters import Block, Matrix, ParameterCount, ffn_matrices, gqa_matrices, mla_matrices

BIASED = {"none": "", "qkv": "qkv", "qv": "qv"}


@lru_cache(maxsize=256)
def count(a: Architecture) -> ParameterCount:
    """Every parameter of the model, layer by layer.

    Where only the published total is known (`parameter_count`) there are no layers and all of it is `other`.
    """
    if a.parameter_count is not None:
        return ParameterCount((), 0, 0, other=a.parameter_count, other_linear=a.linear_parameter_count or 0, tower=a.tower_parameters)
    dense, moe = _block(a, experts=0), _block(a, experts=a.experts)
    encoder = (_block(a, experts=0, decoder=False),) * a.encoder_layers
    decoder = tuple(moe if a.is_moe_layer(i) else dense for i in range(a.layers))
    table = a.vocab * a.hidden
    norm = _norm(a)
    return ParameterCount(
        layers=encoder + decoder,
        embedding=table + (a.learned_positions + a.token_types) * a.hidden,
        head=0 if a.tied_embeddings else table,
        other=a.stem_parameters + a.head_parameters + norm * (a.final_norm + a.embedding_norm),
        tower=a.tower_parameters,
        mtp=a.mtp_layers * ((moe if a.is_moe else dense).total + 2 * a.hidden * a.hidden + 3 * norm),
    )


def _norm(a: Architecture) -> int:
    return a.hidden * (2 if a.norm == "layernorm" else 1)


def _block(a: Architecture, experts: int, decoder: bool = True) -> Block:
    crossed = decoder and a.encoder_layers > 0
    attention = _attention(a) * (2 if crossed else 1)
    small = _norm(a) * (a.norms_per_layer + crossed) + _attention_small(a) + (a.hidden + a.router_bias) * experts
    if not experts:
        return Block(attention, ffn_matrices(a.hidden, a.ffn, a.gated_ffn, a.ffn_bias), small=small)
    shared = ffn_matrices(a.hidden, a.shared_expert_ffn, a.gated_ffn, a.ffn_bias, a.shared_experts)
    routed = ffn_matrices(a.hidden, a.expert_ffn, a.gated_ffn, a.ffn_bias, experts)
    return Block(attention, shared, routed, a.experts_per_token / experts, small)


def _attention(a: Architecture) -> tuple[Matrix, ...]:
    if a.kv_lora_rank:
        dims = (a.qk_nope_head_dim or 0, a.qk_rope_head_dim or 0, a.v_head_dim or 0)
        return mla_matrices(a.hidden, a.heads, a.q_lora_rank, a.kv_lora_rank, *dims)
    return gqa_matrices(a.hidden, a.heads, a.kv_heads, a.head_dim, BIASED[a.qkv_bias], a.output_bias)


def _attention_small(a: Architecture) -> int:
    latent_norms = (a.q_lora_rank or 0) + (a.kv_lora_rank or 0)
    return latent_norms + (2 * a.head_dim if a.qk_norm else 0) + (a.heads if a.attention_sinks else 0)
