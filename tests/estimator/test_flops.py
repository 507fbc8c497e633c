"""FLOPs compared with the published formulas."""

import pytest
from rackwright.catalog.models import library
from rackwright.estimator.model import flops
from rackwright.estimator.model.from_architecture import model_dimensions


def network(name: str):
    return model_dimensions(library.find(name).architecture)


def test_dense_training_is_six_n_and_causal_attention():
    n = network("llama-3.1-8b")
    weights = 8_030_261_248 - 128256 * 4096
    assert flops.training_flops_per_token(n, 8192) == 6 * weights + 6 * 32 * 4096 * 8192


def test_a_tied_head_is_multiplied_once():
    n = network("gemma-2-9b")
    assert n.matmul == n.total


def test_lora_leaves_out_the_weight_gradient():
    n = network("llama-3.1-8b")
    assert flops.training_flops_per_token(n, 0, "lora") / flops.training_flops_per_token(n, 0) == pytest.approx(4 / 6)


def test_experts_count_as_active():
    n = network("mixtral-8x7b")
    assert flops.training_flops_per_token(n, 0) == pytest.approx(6 * 12.75e9, rel=0.01)  # 12.9 billion active, less the table


def test_local_layers_look_back_two_windows_at_most():
    """Gemma 2 9B: 21 layers attend to all tokens, 21 to at most 2 x 4,096."""
    assert flops.attention_flops(network("gemma-2-9b"), 131072) == 6 * 16 * 256 * 21 * (131072 + 8192)


def test_latent_attention_has_its_own_width():
    n = network("deepseek-v3")
    assert flops.attention_flops(n, 4096) == 3 * 61 * 128 * (128 + 64 + 128) * 4096
