"""The formulas alone: published counts of parts, and properties of every shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.catalog.models import library
from rackwright.catalog.models.architecture import from_fields
from rackwright.estimator.model.from_architecture import count_parameters
from rackwright.estimator.model.layer_parameters import (
    ffn_matrices,
    gqa_matrices,
    lora_parameters,
    mla_matrices,
    prefix_parameters,
    prompt_parameters,
)

SHAPES = st.fixed_dictionaries(
    {
        "layers": st.integers(1, 12),
        "hidden": st.sampled_from([128, 256, 512]),
        "heads": st.sampled_from([4, 8]),
        "kv_heads": st.sampled_from([1, 2, 4]),
        "ffn": st.integers(64, 2048),
        "vocab": st.integers(100, 5000),
        "qk_norm": st.booleans(),
        "tied_embeddings": st.booleans(),
        "experts": st.sampled_from([0, 4, 16]),
        "experts_per_token": st.integers(1, 4),
        "expert_ffn": st.integers(8, 512),
        "dense_layers": st.integers(0, 1),
    }
)


@pytest.mark.parametrize(
    ("model", "rank", "expected"), [("llama-2-7b", 8, 4_194_304), ("llama-2-13b", 8, 6_553_600), ("llama-3.2-3b", 32, 9_175_040)]
)
def test_lora_on_queries_and_values_has_the_count_of_litgpt_and_peft(model, rank, expected):
    assert lora_parameters(count_parameters(library.find(model).architecture).layers, rank, "qv") == expected


def test_prompt_tuning_has_the_count_of_peft():
    assert prompt_parameters(hidden=3072, virtual_tokens=200) == 614_400


def test_prefix_tuning_holds_a_key_and_a_value_per_layer():
    assert prefix_parameters(layers=28, kv_heads=8, head_dim=128, virtual_tokens=10) == 28 * 2 * 8 * 128 * 10


def test_wider_targets_train_more():
    layers = count_parameters(library.find("deepseek-v2-lite").architecture).layers
    qv, attention, everything = (lora_parameters(layers, 16, t) for t in ("qv", "attention", "all-linear"))
    assert 0 < qv < attention < everything


def test_latent_attention_of_deepseek_v3():
    """187.1 M per layer: dimensions of arXiv 2412.19437, section 4.2, in the closed formula."""
    by_hand = 7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168
    assert sum(m.parameters for m in mla_matrices(7168, 128, 1536, 512, 128, 64, 128)) == by_hand == 187_105_280


def test_uncompressed_queries_replace_two_matrices_by_one():
    assert [m.name for m in mla_matrices(2048, 16, None, 512, 128, 64, 128)] == ["q", "kv_a", "kv_b", "o"]


def test_biases_are_counted_but_not_quantised():
    q = gqa_matrices(64, 4, 2, 16, biased="qkv")[0]
    assert (q.weights, q.parameters) == (64 * 64, 64 * 64 + 64)


def test_a_layer_without_width_has_no_matrices():
    assert ffn_matrices(64, 0) == ffn_matrices(64, 32, copies=0) == ()


def test_the_largest_block_of_a_mixture_is_a_layer_with_experts():
    parts = count_parameters(library.find("deepseek-v3").architecture)
    assert parts.largest_block == parts.layers[-1].total > 15 * parts.layers[0].total
    assert parts.routed == 58 * 256 * 3 * 7168 * 2048


@given(SHAPES)
def test_parts_add_up_to_the_total(shape):
    parts = count_parameters(from_fields(shape))
    assert parts.total == parts.embedding + parts.head + parts.other + parts.tower + sum(b.total for b in parts.layers)
    assert 0 < parts.active <= parts.total
    assert 0 < parts.linear < parts.total
    assert parts.routed <= parts.linear
    assert parts.largest_linear <= parts.largest_block <= parts.total


@given(SHAPES)
def test_all_experts_and_shared_parts_sum_to_the_trunk(shape):
    parts = count_parameters(from_fields(shape | {"experts_per_token": shape["experts"] or 1}))
    assert parts.active == parts.trunk


@given(SHAPES, st.integers(1, 64))
def test_adapters_grow_linearly_with_the_rank(shape, rank):
    layers = count_parameters(from_fields(shape)).layers
    assert lora_parameters(layers, rank) == rank * lora_parameters(layers, 1)
