"""Conversion of a model's architecture to parameter counts and to the dimensions that the formulas take."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from rackwright.catalog.models import library
from rackwright.catalog.models.architecture import Architecture, ConfigError, from_fields
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.flops import forward_flops_per_token
from rackwright.estimator.model.layer_parameters import Block, ParameterCount, ffn_matrices, gqa_matrices, mla_matrices

BIASED = {"none": "", "qkv": "qkv", "qv": "qv"}


def architecture_of(model: str | dict[str, Any]) -> Architecture:
    """Return the architecture of a catalog name or alias, or of architecture fields. Raises UserError."""
    at = At() / "model"
    if isinstance(model, str):
        row = library.find(model)
        if row is None:
            near = ", ".join(library.nearest(model))
            fix = f"one of {near}" if near else "a name listed by `rackwright catalog models`"
            raise UserError([Problem("E-model", f"{model[:60]!r} is not in the model catalog", at, fix)])
        return row.architecture
    try:
        return _architecture_from_fields(tuple(sorted(model.items())))
    except TypeError:  # an unhashable value: a list or an object
        field, value = next(((str(name), v) for name, v in model.items() if isinstance(v, list | dict | set)), ("", None))
        reason = f"{field or 'a field'} must be a number, text or a boolean, got a {type(value).__name__}"
        raise UserError([Problem("E-model", reason, at / field if field else at, "a plain value")]) from None


@lru_cache(maxsize=4096)
def _architecture_from_fields(items: tuple[tuple[str, Any], ...]) -> Architecture:
    try:
        return from_fields(dict(items))
    except ConfigError as fault:
        at = At() / "model" / fault.field if fault.field else At() / "model"
        raise UserError([Problem("E-model", str(fault), at)]) from None


@lru_cache(maxsize=4096)
def model_dimensions(a: Architecture) -> ModelDimensions:
    """Return widths and parameter counts. The embedding table adds no FLOPs, except a tied table, which is also the output head."""
    c = count_parameters(a)
    table = a.vocab * a.hidden if a.tied_embeddings and a.kind == "llm" else 0
    layered = a.parameter_count is None
    network = ModelDimensions(
        layers=a.layers + a.encoder_layers if layered else 0,
        hidden=a.hidden, heads=a.heads, kv_heads=a.kv_heads, head_dim=a.head_dim, ffn=a.ffn, gated=a.gated_ffn,
        vocab=a.vocab, total=c.total, trunk=c.trunk, active=c.active, matmul=c.active - c.tower - c.embedding + table,
        embedding=c.embedding, head=c.head, routed=c.routed, linear=c.linear,
        largest_linear=c.largest_linear, largest_block=c.largest_block, tower=c.tower, tower_values=a.tower_values, mtp=c.mtp,
        experts=a.experts, top_k=a.experts_per_token if a.experts else 0, expert_ffn=a.expert_ffn,
        shared_ffn=a.shared_experts * a.shared_expert_ffn, moe_layers=a.moe_layers if layered else 0,
        q_rank=a.q_lora_rank or 0, kv_rank=a.kv_lora_rank or 0, nope_dim=a.qk_nope_head_dim or 0, rope_dim=a.qk_rope_head_dim or 0,
        v_dim=a.v_head_dim or 0, window=a.sliding_window or 0,
        local_layers=a.local_layers if layered else 0, global_layers=a.global_layers if layered else 0,
        max_context=a.max_context or 0, sample_tokens=a.sample_tokens or a.encoder_context or 0,
    )  # fmt: skip
    forward = forward_flops_per_token(network, network.sample_tokens) * network.sample_tokens if layered else 0.0
    return replace(network, flops_per_sample=a.flops_per_sample or forward)


@lru_cache(maxsize=256)
def count_parameters(a: Architecture) -> ParameterCount:
    """Count the parameters of a model, layer by layer.

    An architecture that gives only its published total (`parameter_count`) has no layers; its parameters are `other`.
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
    has_cross_attention = decoder and a.encoder_layers > 0
    if a.kv_lora_rank:
        dims = (a.qk_nope_head_dim or 0, a.qk_rope_head_dim or 0, a.v_head_dim or 0)
        attention = mla_matrices(a.hidden, a.heads, a.q_lora_rank, a.kv_lora_rank, *dims)
    else:
        attention = gqa_matrices(a.hidden, a.heads, a.kv_heads, a.head_dim, BIASED[a.qkv_bias], a.output_bias)
    attention *= 2 if has_cross_attention else 1
    small = _norm(a) * (a.norms_per_layer + has_cross_attention) + (a.hidden + a.router_bias) * experts
    small += (a.q_lora_rank or 0) + (a.kv_lora_rank or 0) + (2 * a.head_dim if a.qk_norm else 0) + (a.heads if a.attention_sinks else 0)
    if not experts:
        return Block(attention, ffn_matrices(a.hidden, a.ffn, a.gated_ffn, a.ffn_bias), small=small)
    shared = ffn_matrices(a.hidden, a.shared_expert_ffn, a.gated_ffn, a.ffn_bias, a.shared_experts)
    routed = ffn_matrices(a.hidden, a.expert_ffn, a.gated_ffn, a.ffn_bias, experts)
    return Block(attention, shared, routed, a.experts_per_token / experts, small)
