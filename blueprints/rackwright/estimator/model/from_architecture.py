"""From an architecture of the catalog to the numbers the formulas see."""

from dataclasses import replace

from rackwright.catalog.models.architecture import Architecture
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.flops import forward_flops_per_token
from rackwright.estimator.model.parameter_count import count


def network_of(a: Architecture) -> ModelDimensions:
    """Widths and counts. The embedding table is looked up, not multiplied; a tied table is multiplied once, as the head."""
    c = count(a)
    table = a.vocab * a.hidden if a.tied_embeddings and a.kind == "llm" else 0
    layered = a.parameter_count is None
    network = ModelDimensions(
        layers=a.layers + a.encoder_layers if layered else 0,
        hidden=a.hidden, heads=a.heads, kv_heads=a.kv_heads, head_dim=a.head_dim, ffn=a.ffn, gated=a.gated_ffn,
        vocab=a.vocab, total=c.total, trunk=c.trunk, active=c.active, matmul=c.active - c.tower - c.embedding + table,
        embedding=c.embedding, head=c.head, routed=c.routed, linear=c.linear,
        largest_linear=c.largest_linear, largest_block=c.largest_block, tower=c.tower, mtp=c.mtp,
        experts=a.experts, top_k=a.experts_per_token, expert_ffn=a.expert_ffn,
        shared_ffn=a.shared_experts * a.shared_expert_ffn, moe_layers=a.moe_layers if layered else 0,
        q_rank=a.q_lora_rank or 0, kv_rank=a.kv_lora_rank or 0, nope_dim=a.qk_nope_head_dim or 0, rope_dim=a.qk_rope_head_dim or 0,
        v_dim=a.v_head_dim or 0, window=a.sliding_window or 0,
        local_layers=a.local_layers if layered else 0, global_layers=a.global_layers if layered else 0,
        max_context=a.max_context or 0, sample_tokens=a.sample_tokens or a.encoder_context or 0,
    )  # fmt: skip
    forward = forward_flops_per_token(network, network.sample_tokens) * network.sample_tokens if layered else 0.0
    return replace(network, flops_per_sample=a.flops_per_sample or forward)
