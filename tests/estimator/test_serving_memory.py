"""Memory of a server: exact counts of published logs, and properties of every case."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.estimator.case import stack_cases
from rackwright.estimator.serving.memory import (
    CacheCoefficients,
    activation_bytes,
    cache_bytes,
    has_cache_pool,
    kv_bytes_per_sequence,
    kv_bytes_per_token,
    kv_tokens,
    max_context_tokens,
    max_sequences,
    serving_memory,
    weight_bytes,
)
from rackwright.units import GIB

from tests.estimator.serving import served

K = CacheCoefficients()


@pytest.mark.parametrize(
    ("model", "tensor", "pipeline", "printed"),
    [
        ("llama-3.1-8b", 1, 1, 131072),
        ("qwen3-30b-a3b", 1, 1, 98304),
        ("qwen3-235b-a22b", 4, 1, 48128),
        ("qwen3-235b-a22b", 8, 1, 48128),
        ("deepseek-v3", 1, 1, 61 * (512 + 64) * 2),
        ("deepseek-v3", 8, 1, 61 * (512 + 64) * 2),
        ("llama-3.1-70b", 1, 8, 40960),
    ],
)
def test_cache_bytes_per_token_match_engine_logs(model, tensor, pipeline, printed):
    case = served(model, "H100-80GB", tensor=float(tensor), pipeline=float(pipeline))
    assert kv_bytes_per_token(case) == pytest.approx(printed)


def test_more_ranks_than_kv_heads_repeat_them():
    eight, sixteen = (served("llama-3.1-70b", "H100-80GB", tensor=t) for t in (8.0, 16.0))
    assert kv_bytes_per_token(eight) == kv_bytes_per_token(sixteen)


def test_the_fullest_stage_of_an_uneven_pipeline_counts():
    case = served("deepseek-v3", "H200-141GB", pipeline=8.0)
    assert kv_bytes_per_token(case) == pytest.approx(8 * 576 * 2)


@pytest.mark.parametrize(("tokens", "printed_gib"), [(20000, 2.07), (29000, 2.99)])
def test_peak_activation_memory_matches_a_log(tokens, printed_gib):
    case = served("llama-3.1-8b", "RTX3090", batched_tokens=float(tokens))
    assert activation_bytes(case) / GIB == pytest.approx(printed_gib, rel=0.02)


@pytest.mark.parametrize(("limit", "printed"), [(20000, 31232), (29000, 23648)])
def test_cache_capacity_of_a_24_gib_card_matches_a_log(limit, printed):
    case = served("llama-3.1-8b", "RTX3090", batched_tokens=float(limit), max_context=float(limit))
    assert kv_tokens(case, K) == pytest.approx(printed, rel=0.1)


def test_each_engine_defines_its_memory_share_differently():
    vllm, trtllm, sglang = (served("llama-3.1-8b", "H100-80GB", engine=e) for e in ("vllm", "trtllm", "sglang"))
    held = weight_bytes(vllm) + activation_bytes(vllm) + K.fixed_gib * GIB
    memory = vllm.chip.memory_bytes
    assert cache_bytes(vllm, K) == pytest.approx(0.9 * memory - held)
    assert cache_bytes(trtllm, K) == pytest.approx(0.9 * (memory - held))
    assert cache_bytes(sglang, K) == pytest.approx(0.9 * (memory - K.fixed_gib * GIB) - weight_bytes(sglang))


def test_window_caches_of_vllm_021_multiply_the_capacity():
    before, after = (served("gemma-3-27b", "A100-80GB", release=r) for r in (20.0, 21.0))
    assert 4 < kv_tokens(after, K) / kv_tokens(before, K) < 10
    assert kv_tokens(served("gemma-3-27b", "A100-80GB"), K) == kv_tokens(after, K)


def test_a_window_stops_growing_with_the_context():
    case = served("gemma-3-27b", "H100-80GB", release=22.0)
    n = case.network
    grows = kv_bytes_per_sequence(case, 64_000.0) - kv_bytes_per_sequence(case, 32_000.0)
    assert grows == pytest.approx(32_000 * kv_bytes_per_token(case))
    assert kv_bytes_per_token(case) * (n.local_layers + n.global_layers) == pytest.approx(
        kv_bytes_per_sequence(case, 100.0) / 100 * n.global_layers
    )


def test_attention_data_parallelism_repeats_attention_and_spreads_experts():
    tensor = served("qwen3-235b-a22b", "H200-141GB", "fp8", tensor=8.0)
    data = replace(tensor, tensor=1.0, attention_data=8.0)
    n = tensor.network
    dense = (n.linear - n.routed) * 1.0 + (n.total - n.linear) * 2.0
    assert weight_bytes(tensor) == pytest.approx(dense / 8 + n.routed / 8)
    assert weight_bytes(data) == pytest.approx(dense + n.routed / 8)


def test_experts_of_many_ranks_process_tokens_in_chunks():
    case = served("qwen3-235b-a22b", "H200-141GB", "fp8")
    two, eight, many = (activation_bytes(replace(case, attention_data=a)) for a in (2.0, 8.0, 64.0))
    assert eight == many
    assert 3 < eight / two < 4.5


def test_attention_data_parallelism_increases_the_cache_of_latent_attention():
    tensor = served("deepseek-v3", "H200-141GB", "fp8", tensor=8.0, batched_tokens=2048.0)
    data = replace(tensor, tensor=1.0, attention_data=8.0)
    assert max_sequences(data, K) > 2 * max_sequences(tensor, K)


def test_largest_context_is_the_longest_sequence_that_fits():
    for model, release in (("llama-3.1-70b", 0.0), ("gemma-3-27b", 21.0), ("gemma-3-27b", 20.0)):
        case = served(model, "H100-80GB", "fp8", release=release)
        case = replace(case, network=replace(case.network, max_context=0))
        longest = max_context_tokens(case, K)
        assert kv_bytes_per_sequence(case, longest) <= cache_bytes(case, K) * (1 + 1e-9)
        assert kv_bytes_per_sequence(case, longest + 2) > cache_bytes(case, K)


def test_largest_context_is_at_most_the_models_maximum():
    assert max_context_tokens(served("llama-3.1-8b", "H200-141GB"), K) == 131072


def test_a_70b_in_16_bit_does_not_start_on_one_80_gib_card():
    alone, four = (served("llama-3.1-70b", "H100-80GB", tensor=t, engine="vllm") for t in (1.0, 4.0))
    assert not has_cache_pool(alone)
    assert has_cache_pool(four)


def test_memory_terms_sum_to_the_memory_share():
    terms = serving_memory(served("llama-3.1-8b", "H100-80GB"), K)
    assert terms.total == pytest.approx(0.9 * 80 * GIB, rel=1e-6)


@pytest.mark.parametrize(("model", "printed_gb"), [("llama-2-7b", 13.52), ("llama-2-13b", 26.21)])
def test_peak_without_a_pool_agrees_with_litgpt(model, printed_gb):
    case = served(model, "A100-40GB", engine="gpt-fast", concurrency=1.0, input=32.0, output=50.0, batched_tokens=32.0)
    terms = serving_memory(case, K)
    assert (terms.weights + terms.kv + terms.activations) / GIB == pytest.approx(printed_gb * 1e9 / GIB, rel=0.02)


def test_a_cache_that_grows_by_concatenation_counts_twice():
    once, grown = (served("llama-2-7b", "A100-80GB", engine=e, concurrency=8.0, input=1.0) for e in ("gpt-fast", "hf"))
    cache = 8 * kv_bytes_per_sequence(once, once.input + once.output)
    assert serving_memory(grown, K).kv - serving_memory(once, K).kv == pytest.approx(cache)


def test_a_group_adds_communicator_memory():
    alone, two = (serving_memory(served("llama-3.1-8b", "H100-80GB", tensor=t), K).fixed / GIB for t in (1.0, 2.0))
    assert alone == K.fixed_gib
    assert two - alone == pytest.approx(0.4)


def test_adapters_take_memory_from_the_cache():
    none, some = (served("llama-3.1-8b", "H100-80GB", adapters=a) for a in (0.0, 32.0))
    assert weight_bytes(some) - weight_bytes(none) == pytest.approx(32 * 16 * 2 * 32 * (2 * 8192 + 2 * 5120 + 3 * 18432))
    assert cache_bytes(some, K) < cache_bytes(none, K)


@pytest.mark.parametrize(
    ("tensor", "divided", "gib"),
    [(1, 2 * 8192 + 2 * 1024 + 3 * 28672, 24.7), (8, 2 * 1024 + 2 * 128 + 3 * 3584, 10.7)],
)
def test_every_rank_holds_the_hidden_side_of_adapters(tensor, divided, gib):
    """Llama 70B: q and o are 8192 wide, k and v 8 heads of 128. Per rank whole: A of q, k, v, gate, up; B of o, down: 7 x 8192."""
    none, some = (served("llama-3.1-70b", "H100-80GB", tensor=tensor, adapters=a, adapter_rank=64.0) for a in (0.0, 16.0))
    added = weight_bytes(some) - weight_bytes(none)
    assert added == pytest.approx(16 * 64 * 2 * 80 * (7 * 8192 + divided))
    assert added / GIB == pytest.approx(gib, abs=0.05)


@given(st.floats(16, 400), st.floats(1.0, 2.0), st.sampled_from(["vllm", "trtllm", "sglang"]))
def test_more_memory_never_reduces_capacity(gib, more, engine):
    case = served("llama-3.1-8b", "H100-80GB", engine=engine)
    small, large = (replace(case, chip=replace(case.chip, memory_bytes=m * GIB)) for m in (gib, gib * more))
    assert max_sequences(small, K) <= max_sequences(large, K)
    assert max_context_tokens(small, K) <= max_context_tokens(large, K)
    assert kv_tokens(small, K) <= kv_tokens(large, K)


def test_arrays_of_cases_agree_with_single_cases():
    cases = [
        served("llama-3.1-8b", "H100-80GB"),
        served("deepseek-v3", "H200-141GB", "fp8", tensor=8.0, engine="trtllm"),
        served("gemma-3-27b", "A100-80GB", engine="sglang", release=5.0),
        served("llama-2-7b", "A100-80GB", engine="hf", concurrency=4.0),
    ]
    together = stack_cases(cases)
    for formula in (kv_tokens, max_sequences, max_context_tokens, cache_bytes, lambda c, k: serving_memory(c, k).total):
        assert formula(together, K) == pytest.approx([float(formula(c, K)) for c in cases])


def test_vllm_profiles_the_vision_tower_with_a_batch_of_images():
    """gemma-3-27b: 8,192 image tokens are 131,072 patches, each with 3 x 1,152 and 2 x 4,304 values in 16 bit: 2.9 GiB."""
    server = served("gemma-3-27b", "H100-80GB")
    vllm, other = (activation_bytes(replace(server, engine=engine)) for engine in ("vllm", "trtllm"))
    assert vllm == pytest.approx(8192 * 16 * (3 * 1152 + 2 * 4304) * 2)
    assert other < vllm
    assert activation_bytes(replace(server, engine="vllm", batched_tokens=2048.0)) == pytest.approx(vllm / 4)


def test_small_cards_and_a100_have_the_small_defaults_of_vllm():
    """256 sequences below 70 GiB and on A100 (vllm/engine/arg_utils.py); a large card has 1,024."""
    few = {name: max_sequences(served("tinyllama-1.1b", name, input=16.0, output=16.0), K) for name in ("A100-80GB", "L4", "H100-80GB")}
    assert few == {"A100-80GB": 256, "L4": 256, "H100-80GB": 1024}
