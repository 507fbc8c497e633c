"""Stored activations compared with the closed formulas of the papers, per layer."""

from dataclasses import replace

import numpy as np
import pytest
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.training.activations import (
    attention_bytes,
    attention_score_bytes,
    ffn_bytes,
    in_flight_layers,
    kept_score_bytes,
    layer_activation_bytes,
)

from tests.estimator.memory_cases import case, network

GPT = ModelDimensions(layers=96, hidden=12288, heads=96, kv_heads=96, head_dim=128, ffn=4 * 12288, gated=False)
LLAMA_2 = ModelDimensions(layers=32, hidden=4096, heads=32, kv_heads=32, head_dim=128, ffn=11008)


@pytest.mark.parametrize(
    ("said", "per_hidden"),
    [
        ({}, 34),
        ({"tensor": 8.0, "sequence_parallel": 0.0}, 10 + 24 / 8),
        ({"tensor": 8.0, "sequence_parallel": 1.0}, 34 / 8),
        ({"tensor": 8.0, "sequence_parallel": 1.0, "gathered": 1.0}, 34 / 8 + 4 * 7 / 8),
    ],
)
def test_table_2_of_the_paper(said, per_hidden):
    """arXiv 2205.05198, table 2, without the attention core, which flash attention does not store."""
    assert layer_activation_bytes(GPT, dropout=1.0, **said) == pytest.approx(per_hidden * GPT.hidden)


def test_attention_core_of_the_paper():
    """5 a s / h per hidden unit and layer; selective recompute removes it, and the caller applies full recompute."""
    c = case(GPT, sequence=2048.0, tensor=8.0, flash=0.0)
    assert attention_score_bytes(c) == pytest.approx(5 * 96 * 2048 / 8)
    assert kept_score_bytes(replace(c, recompute=1.0)) == 0
    assert kept_score_bytes(replace(c, recompute=1.0, recompute_share=0.25)) == pytest.approx(0.75 * attention_score_bytes(c))
    assert attention_score_bytes(replace(c, flash=1.0)) == 0


def test_llama_3_keeps_34h_and_llama_2_32h():
    assert layer_activation_bytes(network("llama-3.1-8b")) == 34 * 4096
    assert layer_activation_bytes(LLAMA_2) == pytest.approx(32 * 4096, rel=0.01)


def test_an_unfused_gate_keeps_its_activation():
    more = layer_activation_bytes(LLAMA_2, eager=1.0) - layer_activation_bytes(LLAMA_2)
    assert more == 2 * LLAMA_2.ffn


def test_experts_keep_a_copy_of_each_token_for_every_choice():
    n = network("mixtral-8x7b")
    assert ffn_bytes(n, imbalance=1.5) == pytest.approx(1.5 * 2 * (4 * 4096 + 6 * 14336) + 4 * 8)
    assert ffn_bytes(n, act=1.0) == pytest.approx(ffn_bytes(n) - 2 * 2 * 14336)
    assert ffn_bytes(n, expert_tensor=2.0) == pytest.approx(ffn_bytes(n) + 2 * 4 * 4096)
    assert ffn_bytes(n, mlp=1.0) == ffn_bytes(n), "the dense network is recomputed, experts are not"


def test_dense_layers_of_a_mixture_count_as_dense():
    n = network("deepseek-v3")
    moe, dense = ffn_bytes(replace(n, moe_layers=n.layers)), ffn_bytes(replace(n, moe_layers=0))
    assert dense == 6 * 18432
    assert ffn_bytes(n) == pytest.approx((3 * dense + 58 * moe) / 61)


def test_latent_attention_keeps_expanded_heads_and_latents_that_are_not_split():
    n = network("deepseek-v3")
    latents = 2 * (1536 + 512 + 64)
    assert attention_bytes(n) == latents + 4 * 128 * (128 + 64 + 128)
    assert attention_bytes(n, 8.0, up=1.0) == latents + 2 * 128 * 128 / 8


@pytest.mark.parametrize(
    ("said", "layers"),
    [
        ({"pipeline": 4.0, "micro_batches": 64.0}, [4 * 8, 3 * 8, 2 * 8, 8]),
        ({"pipeline": 4.0, "micro_batches": 2.0}, [2 * 8, 2 * 8, 2 * 8, 8]),
        ({"pipeline": 4.0, "virtual": 8.0, "micro_batches": 64.0}, [35, 33, 31, 29]),
        ({"pipeline": 4.0, "virtual": 8.0, "micro_batches": 4.0}, [32, 32, 31, 29]),
        ({"pipeline": 1.0, "micro_batches": 64.0}, [8]),
    ],
)
def test_micro_batches_in_flight(said, layers):
    """arXiv 2104.04473, section 2.2: 8 layers per stage, in layers times micro-batches."""
    c = case(**said)
    assert [float(in_flight_layers(c, 8.0, float(i))) for i in range(len(layers))] == layers


def test_an_uneven_pipeline_of_megatron_runs_two_virtual_stages():
    c = case(replace(network("llama-3.1-8b"), layers=14), pipeline=4.0, micro_batches=64.0)
    assert in_flight_layers(c, 4.0, 3.0) == 4 / 2 * (4 + 1)
    assert in_flight_layers(replace(c, engine="nanotron"), 4.0, 3.0) == 4


def test_arrays_of_cases_agree_with_single_cases():
    n, tensor = network("deepseek-v3"), np.array([1.0, 4.0])
    both = layer_activation_bytes(n, tensor, eager=np.array([0.0, 1.0]))
    assert both.tolist() == [layer_activation_bytes(n, 1.0), layer_activation_bytes(n, 4.0, eager=1.0)]
