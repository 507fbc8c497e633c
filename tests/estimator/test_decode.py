"""Time per output token and of a prompt: published runs outside the fit, values computed by hand, and properties."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.estimator.calibration.coefficients import fitted_fields
from rackwright.estimator.case import has_label, stack_cases
from rackwright.estimator.serving import iteration, throughput
from rackwright.estimator.serving.decode import (
    MODELS,
    DecodeCoefficients,
    decode_seconds,
    iteration_seconds,
    prefill_seconds,
    running_requests,
)
from rackwright.estimator.serving.iteration import share_before_first_token, token_seconds
from rackwright.estimator.serving.platforms import PlatformCoefficients

from tests.estimator.serving import served

K = DecodeCoefficients()
"""The priors: a refit breaks no test."""
EXACT = DecodeCoefficients(1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, prompt_link_share=1.0, hop_us=0.0, narrow=1.0)
"""Nothing but reads, products and bytes on links."""


def server(**changes: Any):
    return served("llama-3.1-70b", "H100-80GB", "fp8", **{"tensor": 4.0, "engine": "vllm", "concurrency": 16.0, **changes})


@pytest.mark.parametrize(
    ("case", "published_ms"),
    [
        (served("llama-2-7b", "A100-80GB", engine="gpt-fast", concurrency=1.0, input=5.0, output=200.0), 9.53),
        (served("llama-2-7b", "A100-80GB", engine="gpt-fast", concurrency=1.0, input=5.0, output=200.0, tensor=8.0), 3.04),
        (served("llama-3.1-8b", "A100-80GB", engine="gpt-fast", concurrency=1.0, input=5.0, output=200.0, tensor=2.0), 6.71),
        (served("mixtral-8x7b", "A100-80GB", engine="gpt-fast", concurrency=1.0, input=5.0, output=200.0, tensor=2.0), 10.34),
        (served("llama-3.3-70b", "TPU v6e", engine="vllm", input=1000.0, output=1000.0, tensor=8.0, concurrency=64.0), 25.35),
        (served("llama-3.1-70b", "H100-80GB", engine="trtllm", input=467.0, output=16.0, tensor=4.0, open_loop=1.0, rate=2.0), 18.0),
        (served("llama-3.1-70b", "H100-80GB", engine="trtllm", input=202.0, output=214.0, tensor=4.0, open_loop=1.0, rate=16.0), 32.0),
        (served("llama-3.1-8b", "H200-141GB", engine="trtllm", input=467.0, output=256.0, open_loop=1.0, rate=32.0), 16.0),
        (served("qwen3-32b", "H100-80GB", engine="vllm", input=1024.0, output=512.0, tensor=8.0, concurrency=8.0), 8.05),
        (served("deepseek-r1", "H200-141GB", "fp8", engine="sglang", input=8192.0, output=1024.0, tensor=8.0, concurrency=16.0), 20.41),
    ],
)  # fmt: skip
def test_published_runs_are_predicted_within_a_fifth(case, published_ms):
    case = replace(case, concurrency=float("inf")) if case.open_loop else case
    assert decode_seconds(case, K) * 1e3 == pytest.approx(published_ms, rel=0.2)


def test_a_batch_of_one_on_one_accelerator_reads_its_weights_and_cache_once():
    """Llama 2 7B: 6.607e9 weights of two bytes read, and 0.5 MiB of cache a token, at 2.039 TB/s."""
    case = served("llama-2-7b", "A100-80GB", engine="gpt-fast", input=100.0, output=0.0)
    read = (6_738_415_616 - 131_072_000) * 2 / 2.039e12
    cache = 100 * 2 * 32 * 32 * 128 * 2 / 2.039e12
    product = 2 * 6_607_343_616 / (case.chip.peak_flops * case.chip.sustained_share)
    traffic = 32 * 4096 * 20 / 2.039e12
    expected = np.hypot(read, product) + cache + traffic
    assert iteration_seconds(case, EXACT, 1.0) == pytest.approx(expected, rel=1e-3)


def test_launches_all_reduces_and_requests_match_a_hand_calculation():
    base = server(concurrency=4.0)
    none = DecodeCoefficients(layer_us=0.0, expert_layer_us=0.0, join_us=0.0, sequence_us=0.0, hop_us=0.0)
    one = iteration_seconds(base, none, 4.0)
    assert iteration_seconds(base, replace(none, layer_us=10.0, python=1.5), 4.0) - one == pytest.approx(80 * 15e-6)
    assert iteration_seconds(base, replace(none, join_us=3.0), 4.0) - one == pytest.approx(160 * 3e-6)
    assert iteration_seconds(base, replace(none, hop_us=0.5), 4.0) - one == pytest.approx(160 * 6 * 0.5e-6)
    assert iteration_seconds(base, replace(none, sequence_us=25.0), 4.0) - one == pytest.approx(4 * 25e-6)
    assert iteration_seconds(replace(base, engine="trtllm"), replace(none, layer_us=10.0, python=1.5), 4.0) == pytest.approx(
        one + 80 * 10e-6
    )
    eager = replace(none, platform=PlatformCoefficients(eager_us=300.0, vector_tb_s=1e6))
    assert iteration_seconds(replace(base, compiled=0.0), eager, 4.0) == pytest.approx((one**3 + (80 * 300e-6) ** 3) ** (1 / 3))


def test_prompt_time_is_products_attention_and_two_all_reduces_per_layer():
    case = server(input=1000.0, output=100.0)
    product = 2 * 69_503_033_344 / (4 * case.chip.peak_flops * case.chip.sustained_share)
    attention = 2 * 64 * 128 * 80 * 1000 / (4 * case.chip.base_peak_flops * 0.5)
    joins = 160 * 8192 * 2 * 2 * 3 / 4 / 450e9
    traffic = 80 * 8192 * 20 / 3.35e12
    assert prefill_seconds(case, EXACT) == pytest.approx(1000 * (product + attention + joins + traffic), rel=1e-6)


def test_latent_attention_reads_one_latent_and_multiplies_it_by_every_head():
    """DeepSeek V3: 576 values per layer on each rank, 2 * 128 * 1088 products of them over the ranks."""
    short, long = (served("deepseek-v3", "H200-141GB", "fp8", tensor=8.0, input=tokens, output=0.0) for tokens in (1000.0, 3000.0))
    reads = 61 * 576 * 2 / 4.8e12
    products = 61 * 2 * 128 * 1088 / (8 * short.chip.base_peak_flops * 0.5)
    assert iteration_seconds(long, EXACT, 4.0) - iteration_seconds(short, EXACT, 4.0) == pytest.approx(4 * 2000 * (reads + products))


def test_one_accelerator_does_not_use_links():
    alone = server(tensor=1.0)
    slow = replace(alone, links=replace(alone.links, scale_up_bytes_per_s=1.0))
    assert decode_seconds(slow, K) == decode_seconds(alone, K)
    assert decode_seconds(alone, replace(K, join_us=40.0)) == decode_seconds(alone, K)


def test_all_reduces_beyond_the_domain_use_the_nodes_network():
    wide = server(tensor=16.0)
    slower = replace(wide, links=replace(wide.links, scale_out_bytes_per_s=wide.links.scale_out_bytes_per_s / 4))
    assert decode_seconds(slower, K) > 1.5 * decode_seconds(wide, K)
    inside = server(tensor=8.0)
    assert decode_seconds(replace(inside, links=slower.links), K) == decode_seconds(inside, K)


@given(st.floats(1.0, 4.0), st.sampled_from(["bandwidth_bytes_per_s", "peak_flops", "base_peak_flops"]))
def test_a_better_accelerator_is_never_slower(more, what):
    for case in (server(), served("deepseek-v3", "H200-141GB", "fp8", tensor=8.0, concurrency=32.0)):
        better = replace(case, chip=replace(case.chip, **{what: getattr(case.chip, what) * more}))
        assert decode_seconds(better, K) <= decode_seconds(case, K) * (1 + 1e-12)


@given(st.floats(1.0, 300.0), st.floats(1.0, 300.0))
def test_more_requests_never_reduce_tpot(one, other):
    low, high = sorted((one, other))
    assert decode_seconds(server(concurrency=low), K) <= decode_seconds(server(concurrency=high), K) * (1 + 1e-12)


def test_prompt_work_counts_once_in_ttft_or_tpot():
    """SGLang and vLLM take the same time for a whole request, but spend it in different phases."""
    mixed, first = (server(engine=e, output=200.0) for e in ("vllm", "sglang"))
    moved = share_before_first_token(first, 16.0) * 15 * prefill_seconds(first, K)
    assert share_before_first_token(mixed, 16.0) == 0.0
    assert share_before_first_token(first, 16.0) == pytest.approx(0.5)
    assert 200 * token_seconds(mixed, K, 16.0) == pytest.approx(200 * token_seconds(first, K, 16.0) + moved)


def test_long_answers_reduce_the_lockstep_share():
    assert share_before_first_token(server(engine="sglang", output=800.0), 16.0) == pytest.approx(0.25)


def test_a_simultaneous_start_delays_only_the_first_wave():
    burst = server(concurrency=float("inf"), requests=100.0)
    assert share_before_first_token(burst, 100.0) == pytest.approx(0.5)
    assert share_before_first_token(burst, 50.0) == pytest.approx(0.25)


def test_a_cached_prefix_is_not_computed_again():
    assert prefill_seconds(server(cached_share=1.0), K) == 0.0
    half = prefill_seconds(server(cached_share=0.5), K)
    assert 0.5 * prefill_seconds(server(), K) < half < 0.6 * prefill_seconds(server(), K)
    assert decode_seconds(server(cached_share=0.9), K) < decode_seconds(server(), K)


def test_accepted_drafts_save_iterations_and_rejected_ones_cost_products():
    lone = server(concurrency=1.0)
    quick = replace(lone, accepted_tokens=2.5, draft_share=0.15, draft_tokens=3.0)
    assert 0.4 < decode_seconds(quick, K) / decode_seconds(lone, K) < 0.6
    useless = replace(server(concurrency=256.0), draft_share=0.15, draft_tokens=3.0)
    assert decode_seconds(useless, K) > 1.15 * decode_seconds(server(concurrency=256.0), K)


def test_adapters_add_launches_and_reads_of_adapters_in_use():
    """Punica: 2 ms per token on a 7B model of 32 layers, independent of the number of adapters."""
    plain = served("llama-2-7b", "A100-80GB", engine="vllm", concurrency=8.0)
    few, many = (replace(plain, adapters=n, adapter_rank=16.0) for n in (8.0, 800.0))
    added = iteration_seconds(few, K, 8.0) - iteration_seconds(plain, K, 8.0)
    assert 1.9e-3 < added < 3.5e-3
    assert iteration_seconds(many, K, 8.0) == iteration_seconds(few, K, 8.0)


def test_an_open_loop_follows_littles_law():
    case = server(concurrency=float("inf"), open_loop=1.0, rate=4.0, output=256.0, input=512.0)
    running = running_requests(case, K)
    stay = prefill_seconds(case, K) + case.output * decode_seconds(case, K)
    assert running == pytest.approx(4.0 * stay, rel=0.02)


def test_pipeline_stages_process_batches_in_turn():
    """Two stages instead of one: each reads half of the weights, with one more hop; a full batch saves no time per token."""
    one, two = server(tensor=2.0), server(tensor=2.0, pipeline=2.0)
    assert iteration_seconds(two, K, 16.0) == pytest.approx(iteration_seconds(one, K, 16.0), rel=0.1)
    assert prefill_seconds(two, K) == pytest.approx(prefill_seconds(one, K) / 2)


def test_attention_data_parallelism_reads_whole_dense_weights_and_split_experts():
    tensor, data = (served("deepseek-v3", "B200", "fp8", **w, concurrency=8.0) for w in ({"tensor": 8.0}, {"attention_data": 8.0}))
    assert iteration_seconds(data, EXACT, 8.0) > iteration_seconds(tensor, EXACT, 8.0)
    assert iteration_seconds(data, EXACT, 1024.0) < iteration_seconds(tensor, EXACT, 1024.0)


def test_arrays_of_cases_agree_with_single_cases():
    cases = [server(), server(engine="sglang", concurrency=64.0), server(concurrency=float("inf"), open_loop=1.0, rate=2.0)]
    assert decode_seconds(stack_cases(cases), K) == pytest.approx([float(decode_seconds(c, K)) for c in cases])


def test_serving_models_stay_within_their_number_of_coefficients():
    assert [model.metric for model in MODELS] == ["tpot_ms", "ttft_ms"]
    assert sum(len(fitted_fields(model.kind)) for model in MODELS) <= 17


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("LAYER_TRAFFIC_BYTES", server(input=4096.0)),
        ("ATTENTION_SHARE", server(input=65536.0)),
        ("ADAPTER_LAYER_S", server(adapters=4.0)),
        ("LOCKSTEP_SHARE", server(engine="sglang")),
        ("LOCKSTEP_TOKENS", server(engine="sglang", output=900.0)),
    ],
)
def test_every_constant_changes_a_prediction(monkeypatch, name, case):
    before = decode_seconds(case, K)
    home = iteration if name in vars(iteration) else throughput
    monkeypatch.setattr(home, name, getattr(home, name) * 1.5)
    assert abs(decode_seconds(case, K) / before - 1) > 1e-3


def test_a_known_time_of_the_prompt_changes_no_time_per_token():
    for case in (server(), stack_cases([server(), server(engine="sglang"), server(input=9000.0)])):
        assert np.all(token_seconds(case, K, 8.0, prefill_seconds(case, K)) == token_seconds(case, K, 8.0))


@pytest.mark.parametrize("text", ["vllm", "other", np.array(["vllm", "sglang", "other"])])
def test_labels_are_found_as_by_numpy(text):
    found, expected = has_label(text, ("vllm", "sglang")), np.isin(text, ("vllm", "sglang"))
    assert np.array_equal(found, expected)
    assert np.array_equal(~found, ~expected)
