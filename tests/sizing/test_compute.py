"""FLOPs against the published forms, and the law of micro-batches."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.sizing import compute
from rackwright.sizing.assumptions import DEFAULT

from tests.sizing.helpers import network


def test_dense_training_is_six_n_and_causal_attention():
    n = network("llama-3.1-8b")
    weights = 8_030_261_248 - 128256 * 4096
    assert compute.training_flops_per_token(n, 8192) == 6 * weights + 6 * 32 * 4096 * 8192


def test_a_tied_head_is_multiplied_once():
    n = network("gemma-2-9b")
    assert n.matmul == n.total


def test_lora_leaves_out_the_weight_gradient():
    n = network("llama-3.1-8b")
    assert compute.training_flops_per_token(n, 0, "lora") / compute.training_flops_per_token(n, 0) == pytest.approx(4 / 6)


def test_experts_count_as_active():
    n = network("mixtral-8x7b")
    assert compute.training_flops_per_token(n, 0) == pytest.approx(6 * 12.75e9, rel=0.01)  # 12.9 billion active, less the table


def test_local_layers_look_back_two_windows_at_most():
    n = network("gemma-2-9b")
    long, longer = (compute.attention_flops(n, s) for s in (65536, 131072))
    everywhere = replace(n, window=0)
    assert longer - long == pytest.approx((compute.attention_flops(everywhere, 131072) - compute.attention_flops(everywhere, 65536)) / 2)


def test_latent_attention_has_its_own_width():
    n = network("deepseek-v3")
    assert compute.attention_flops(n, 4096) == 3 * 61 * 128 * (128 + 64 + 128) * 4096


def test_recompute_costs_a_third_and_half_with_a_frozen_base():
    assert compute.recompute_factor("full", 1) == pytest.approx(4 / 3)
    assert compute.recompute_factor("lora", 1) == pytest.approx(3 / 2)
    assert compute.recompute_factor("full", 0) == 1


@given(st.floats(16, 1e6), st.floats(1.0, 8.0))
def test_larger_micro_batches_are_never_less_efficient(tokens, factor):
    assert compute.saturation(tokens * factor, DEFAULT) >= compute.saturation(tokens, DEFAULT) - 1e-12
    assert np.all(compute.saturation(tokens, DEFAULT) <= 1)
