"""Memory against the tables of the papers, and its laws."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.estimate.network import Network
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.memory import Split, layer_activation_bytes, optimizer_bytes, state_bytes, training_terms
from rackwright.sizing.recipe import Recipe

from tests.sizing.helpers import network

GB = 1e9
LLAMA_2_7B = Network(layers=32, hidden=4096, heads=32, kv_heads=32, head_dim=128, ffn=11008, vocab=32000)
GPT = Network(layers=96, hidden=12288, heads=96, kv_heads=96, head_dim=128, ffn=4 * 12288, gated=False)


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.88)])
def test_zero_table_of_the_paper(stage, gigabytes):
    """Figure 1 of arXiv 1910.02054: 7.5 billion parameters, 64 replicas, 2 + 2 + 12 bytes."""
    assert state_bytes(7.5e9, 64, stage, (2.0, 2.0, 12.0)).total / GB == pytest.approx(gigabytes, rel=0.01)


def test_megatron_bytes_per_parameter():
    """18 bytes without, 6 + 12/dp with the distributed optimizer."""
    assert state_bytes(1.0, 8, 0).total == 18
    assert state_bytes(1.0, 8, 1).total == 6 + 12 / 8
    assert state_bytes(1.0, 8, 3).total == 18 / 8


def test_activations_of_a_gpt_layer_are_34h():
    """Korthikanti et al., equation 1 without the attention core, which flash attention does not keep."""
    assert layer_activation_bytes(GPT, DEFAULT, dropout=True) == 34 * GPT.hidden


def test_tensor_parallelism_without_sequence_parallelism_keeps_10h():
    assert layer_activation_bytes(GPT, DEFAULT, 8, dropout=True, sequence_parallel=False) == (10 + 24 / 8) * GPT.hidden


def test_llama_3_layer_is_34h_and_llama_2_is_32h():
    assert layer_activation_bytes(network("llama-3.1-8b"), DEFAULT) == 34 * 4096
    assert layer_activation_bytes(LLAMA_2_7B, DEFAULT) == pytest.approx(32 * 4096, rel=0.01)


def test_experts_keep_top_k_copies_of_each_token():
    mixtral = network("mixtral-8x7b")
    dense = replace(mixtral, experts=0, moe_layers=0)
    routed = layer_activation_bytes(mixtral, DEFAULT) - layer_activation_bytes(dense, DEFAULT) + 6 * mixtral.ffn
    assert routed == pytest.approx(1.3 * 2 * (4 * 4096 + 6 * 14336) + 4 * 8)


def test_latent_attention_keeps_expanded_heads_and_latents():
    v3 = network("deepseek-v3")
    per_token = layer_activation_bytes(v3, DEFAULT, 1) - layer_activation_bytes(replace(v3, kv_rank=0, heads=0, kv_heads=0), DEFAULT, 1)
    assert per_token == 2 * (1536 + 512 + 64) + 4 * 128 * (128 + 64 + 128)


def test_quantised_base_of_llama_2_7b():
    """litgpt prints 4.26 GB for NF4 with double quantisation: 3.9 GB of weights and what the loader holds."""
    n = network("llama-2-7b")
    recipe = Recipe(trainable=4.2e6, linear_bytes=DEFAULT.nf4_bytes)
    terms = training_terms(n, recipe, Split(tokens=0), replace(DEFAULT, context_bytes=0.0))
    assert float(terms.weights - 2 * n.largest_linear) / GB == pytest.approx(3.9, rel=0.03)


def test_eight_bit_adam_and_sgd_need_less():
    assert optimizer_bytes("sgd") < optimizer_bytes("adamw")
    assert optimizer_bytes("adamw-8bit") == pytest.approx(6.03, abs=0.01)


def test_first_stage_holds_as_many_micro_batches_as_stages():
    n, recipe = network("llama-3.1-70b"), Recipe()
    one = training_terms(n, recipe, Split(tensor=8, pipeline=4, tokens=4096, micro_batches=1, shards=4), DEFAULT)
    many = training_terms(n, recipe, Split(tensor=8, pipeline=4, tokens=4096, micro_batches=64, shards=4), DEFAULT)
    assert float(many.activations / one.activations) == pytest.approx(4)


def test_last_stage_counts_when_the_head_dominates():
    wide = replace(network("llama-3.1-8b"), vocab=2_000_000)
    terms = training_terms(wide, Recipe(), Split(pipeline=2, tokens=4096), DEFAULT)
    assert float(terms.head) > 0


def test_adapters_free_gradients_and_optimizer():
    n = network("llama-3.1-8b")
    full, lora = (training_terms(n, r, Split(tokens=4096), DEFAULT) for r in (Recipe(), Recipe(trainable=4e7)))
    assert float(lora.optimizer) < float(full.optimizer) / 100
    assert float(lora.activations) == float(full.activations)


splits = st.builds(
    Split,
    tensor=st.sampled_from([1, 2, 4, 8]),
    pipeline=st.sampled_from([1, 2, 4, 8]),
    context=st.sampled_from([1, 2]),
    expert=st.sampled_from([1, 4, 8]),
    shards=st.sampled_from([8, 16, 64]),
    replicas=st.sampled_from([8, 16, 64]),
    zero_stage=st.sampled_from([0, 1, 2]),
    tokens=st.sampled_from([2048, 8192]),
    micro_batches=st.integers(1, 32),
    recompute=st.sampled_from([0, 1]),
)
models = st.sampled_from(["llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "deepseek-v3", "gemma-2-9b"])


def total(n: Network, s: Split) -> float:
    terms = training_terms(n, Recipe(), s, DEFAULT)
    return float(terms.weights + terms.gradients + terms.optimizer)


@given(models, splits)
def test_a_zero_stage_never_holds_more_than_the_one_before(name, split):
    """Stages 0 to 2; stage 3 trades weights for gathered blocks and is compared where the blocks are small."""
    n = network(name)
    if split.zero_stage < 2:
        assert total(n, replace(split, zero_stage=split.zero_stage + 1)) <= total(n, split) * (1 + 1e-12)


@given(st.sampled_from(["llama-3.1-8b", "llama-3.1-70b", "gemma-2-9b"]), splits)
def test_stage_3_holds_less_than_stage_2(name, split):
    split = replace(split, pipeline=1, expert=1)
    assert total(network(name), replace(split, zero_stage=3)) <= total(network(name), replace(split, zero_stage=2)) * (1 + 1e-12)


@given(models, splits)
def test_recompute_never_needs_more(name, split):
    n = network(name)
    kept, again = (float(training_terms(n, Recipe(), replace(split, recompute=r), DEFAULT).activations) for r in (0, 1))
    assert again <= kept * (1 + 2 / 30) + 1e-6 or split.micro_batches * split.pipeline == 1


@given(models, splits)
def test_more_replicas_never_need_more_state(name, split):
    n = network(name)
    assert total(n, replace(split, shards=split.shards * 2)) <= total(n, split) * (1 + 1e-12)


@given(models, splits)
def test_arrays_and_numbers_agree(name, split):
    n = network(name)
    one = float(training_terms(n, Recipe(), split, DEFAULT).allocated)
    many = training_terms(n, Recipe(), replace(split, tensor=np.array([split.tensor] * 3)), DEFAULT).allocated
    assert many == pytest.approx([one] * 3)


def test_towers_are_held_and_not_trained():
    bare = replace(network("llama-3.1-8b"), tower=0)
    with_tower = replace(bare, tower=1e9, total=bare.total + 1e9)
    one, other = (training_terms(n, Recipe(), Split(tokens=4096), DEFAULT) for n in (bare, with_tower))
    assert float(other.weights - one.weights) == pytest.approx(2e9)
    assert (float(other.gradients), float(other.optimizer)) == (float(one.gradients), float(one.optimizer))


def test_stage_3_gathers_two_blocks_and_the_head():
    n = network("llama-3.1-8b")
    held = training_terms(n, Recipe(), Split(tokens=4096, shards=1e9, zero_stage=3), DEFAULT)
    assert float(held.weights) == pytest.approx(2 * (2 * n.largest_block + n.head), rel=1e-3)


def test_adapters_are_trained_with_a_shifted_copy_of_the_logits():
    n = network("llama-3.1-8b")
    full, lora = (training_terms(n, r, Split(tokens=4096), DEFAULT).head for r in (Recipe(), Recipe(trainable=4e7)))
    assert (float(full), float(lora)) == (4096 * n.vocab * 10, 4096 * n.vocab * 14)


def test_single_precision_doubles_activations_and_gradients():
    n, split = network("llama-3.1-8b"), Split(tokens=4096, shards=8, zero_stage=3)
    half = training_terms(n, Recipe(), split, DEFAULT)
    single = training_terms(n, Recipe(weight_bytes=4, optimizer_bytes=8, activation_bytes=4), split, DEFAULT)
    assert float(single.activations) == 2 * float(half.activations)
    assert float(single.gradients) == 2 * float(half.gradients)


def test_recompute_keeps_a_part_where_layers_are_not_published():
    n = network("sdxl")
    kept, again = (float(training_terms(n, Recipe(), Split(tokens=1, recompute=r), DEFAULT).activations) for r in (0, 1))
    assert again == pytest.approx(kept * DEFAULT.sample_recompute_share)


def test_transformers_keep_less_than_convolutions_per_operation():
    """FLUX.1 at 1,024 x 1,024 trains one image on 80 GB with everything kept."""
    n = network("flux.1-dev")
    assert 30e9 < float(training_terms(n, Recipe(trainable=6e7), Split(tokens=1), DEFAULT).activations) < 50e9
