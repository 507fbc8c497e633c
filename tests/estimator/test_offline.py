"""Offline throughput: published runs, and properties of every case."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.estimator.case import stack_cases
from rackwright.estimator.serving import throughput
from rackwright.estimator.serving.throughput import (
    OfflineCoefficients,
    closed_loop_tokens_per_s,
    disaggregated_rates,
    kv_transfer_seconds,
    max_running_requests,
    offline_cycle,
    offline_tokens_per_s,
    offline_tokens_per_s_per_accelerator,
    weight_bytes_read,
)

from tests.estimator.serving import served

K = OfflineCoefficients(0.66, 0.2, 2.4e-5, 1.6, 2.2e-4, 8e-8, 0.08)
"""Near the shipped values, so that a refit breaks no test."""
CPP = {"engine": "trtllm", "release": 17.0}
PYTHON = {"engine": "trtllm", "release": 100.0}


@pytest.mark.parametrize(
    ("case", "published"),
    [
        (served("llama-3.1-8b", "H200-141GB", "fp8", **CPP, input=1000.0, output=1000.0, requests=3000.0), 17538),
        (served("llama-3.1-8b", "A100-80GB", "fp16", **CPP, input=2048.0, output=128.0, requests=3000.0), 800),
        (served("llama-3.1-70b", "H100-80GB", "fp8", **CPP, tensor=2.0, input=500.0, output=2000.0, requests=3000.0), 2486),
        (served("llama-3.3-70b", "GB200", "fp4", **PYTHON, input=128.0, output=4096.0, requests=1500.0), 7849),
        (served("mixtral-8x7b", "A100-80GB", "fp16", **CPP, tensor=4.0, input=128.0, output=128.0, requests=30000.0), 2581),
        (served("qwen3-30b-a3b", "B200", "fp4", **PYTHON, input=2048.0, output=2048.0, requests=1500.0), 17554),
    ],
)  # fmt: skip
def test_published_runs_are_predicted_within_a_fifth(case, published):
    assert offline_tokens_per_s_per_accelerator(case, K) == pytest.approx(published, rel=0.2)


def test_attention_data_parallel_experts_over_pcie_are_limited_by_links():
    """The published table: eight accelerators compute a 2048-token prompt hardly faster than four."""
    four, eight = (
        served("qwen3-30b-a3b", "RTX-PRO-6000-Blackwell-SE", "fp4", **PYTHON, attention_data=n, input=2048.0, output=128.0)
        for n in (4.0, 8.0)
    )
    assert offline_tokens_per_s(eight, K) < 1.3 * offline_tokens_per_s(four, K)


@given(st.floats(1.0, 4.0), st.sampled_from(["bandwidth_bytes_per_s", "memory_bytes", "peak_flops", "base_peak_flops"]))
def test_a_better_accelerator_is_never_slower(more, what):
    for case in (
        served("llama-3.1-70b", "H100-80GB", "fp8", **CPP, tensor=2.0),
        served("deepseek-v3", "H200-141GB", "fp8", attention_data=8.0, batched_tokens=2048.0),
    ):
        better = replace(case, chip=replace(case.chip, **{what: getattr(case.chip, what) * more}))
        assert offline_tokens_per_s(better, K) >= offline_tokens_per_s(case, K) * (1 - 1e-9)


@given(st.floats(1.0, 10.0))
def test_a_faster_link_is_never_slower(more):
    case = served("llama-3.1-70b", "H100-80GB", "fp8", tensor=8.0)
    better = replace(case, links=replace(case.links, scale_up_bytes_per_s=case.links.scale_up_bytes_per_s * more))
    assert offline_tokens_per_s(better, K) >= offline_tokens_per_s(case, K)


def test_one_accelerator_has_no_communication():
    assert offline_cycle(served("llama-3.1-8b", "H100-80GB"), K).links == 0
    assert offline_cycle(served("llama-3.1-8b", "H100-80GB", tensor=2.0), K).links > 0


def test_every_further_stage_adds_waiting_while_decoding():
    one, four = (offline_cycle(served("llama-3.1-8b", "H100-80GB", pipeline=p), K) for p in (1.0, 4.0))
    assert one.stages == 0
    assert four.stages < 3 * K.stage_wait * four.total
    longer = offline_cycle(served("llama-3.1-8b", "H100-80GB", pipeline=4.0, output=8192.0), K)
    assert longer.stages / longer.total > four.stages / four.total


def test_a_group_wider_than_its_domain_uses_the_network():
    inside = served("llama-3.1-405b", "H100-80GB", "fp8", tensor=8.0)
    outside = replace(inside, links=replace(inside.links, domain=4.0))
    assert offline_cycle(outside, K).links > 4 * offline_cycle(inside, K).links


def test_running_requests_never_exceed_the_load():
    case = served("llama-3.1-8b", "H100-80GB")
    assert max_running_requests(replace(case, concurrency=7.0)) == 7
    assert max_running_requests(replace(case, requests=5.0)) == 5
    assert max_running_requests(replace(case, engine="trtllm", input=16.0, output=16.0)) == 2048
    assert max_running_requests(replace(case, engine="trtllm", input=16.0, output=16.0, max_sequences=300.0)) == 300


def test_the_offered_rate_limits_the_output():
    case = served("llama-3.1-8b", "H100-80GB", input=500.0, output=200.0)
    assert offline_tokens_per_s_per_accelerator(replace(case, rate=2.0), K) == pytest.approx(400)
    assert offline_tokens_per_s_per_accelerator(replace(case, rate=1e6), K) == offline_tokens_per_s_per_accelerator(case, K)


def test_short_runs_lose_time_to_filling_and_draining():
    case = served("llama-3.1-8b", "H100-80GB", input=500.0, output=200.0)
    few, many = (offline_tokens_per_s(replace(case, requests=n), K) for n in (1000.0, 1e6))
    assert few < many < offline_tokens_per_s(case, K)
    assert many == pytest.approx(offline_tokens_per_s(case, K), rel=0.01)


def test_longer_prompts_and_fewer_prefix_hits_reduce_throughput():
    case = served("llama-3.1-8b", "H100-80GB", input=4000.0, output=500.0)
    plain = offline_tokens_per_s(case, K)
    assert offline_tokens_per_s(replace(case, input=8000.0), K) < plain
    assert offline_tokens_per_s(replace(case, cached_share=0.9), K) > 1.3 * plain


def test_a_batch_reads_its_chosen_experts():
    case = served("mixtral-8x7b", "H100-80GB", tensor=2.0)
    one, all_of_them = (weight_bytes_read(case, b) for b in (1.0, 1000.0))
    n = case.network
    assert all_of_them - one == pytest.approx(n.routed * 2 / 2 * 0.75, rel=1e-6)
    assert weight_bytes_read(served("llama-3.1-8b", "H100-80GB"), 1.0) == weight_bytes_read(served("llama-3.1-8b", "H100-80GB"), 99.0)


def test_matrix_products_never_exceed_the_measured_rate():
    case = served("llama-3.1-8b", "T4", "fp16", input=4096.0, output=16.0)
    least = 2 * case.network.matmul / (case.chip.peak_flops * case.chip.sustained_share)
    taken = offline_cycle(case, K)
    assert taken.matrices >= taken.running * (case.input + case.output) * least * (1 - 1e-9)


def test_eager_layers_take_longer_than_captured_ones():
    case = served("llama-2-7b", "A100-80GB", engine="hf", concurrency=1.0, input=1.0, output=1000.0)
    assert offline_tokens_per_s_per_accelerator(replace(case, compiled=0.0), K) < 1000 / (32 * K.platform.eager_us * 1e-3)
    assert offline_tokens_per_s_per_accelerator(case, K) > 100


def test_launches_from_python_slow_only_expert_layers():
    before, after = (served("mixtral-8x7b", "H100-80GB", "fp8", tensor=2.0, engine="trtllm", release=r) for r in (17.0, 100.0))
    assert offline_tokens_per_s(after, K) < offline_tokens_per_s(before, K)
    before, after = (served("llama-3.1-8b", "H100-80GB", "fp8", engine="trtllm", release=r) for r in (17.0, 100.0))
    assert offline_tokens_per_s(after, K) == offline_tokens_per_s(before, K)


def test_a_closed_loop_follows_littles_law():
    case = served("llama-3.1-8b", "H100-80GB", concurrency=16.0, output=101.0)
    assert closed_loop_tokens_per_s(case, 0.5, 0.02) == pytest.approx(16 * 101 / 2.5)


PREFILL = served("llama-3.1-70b", "H100-80GB", "fp8", tensor=4.0, replicas=2.0, input=4000.0, output=500.0)
DECODE = replace(PREFILL, replicas=1.0, concurrency=64.0)


def test_the_slower_pool_limits_the_rate():
    bound = disaggregated_rates(PREFILL, DECODE, lambda _: 1.0, lambda _: 0.01)
    assert bound.bottleneck == "prefill"
    assert bound.requests_per_s == pytest.approx(2 / 1.0 * (1 - throughput.RATE_MATCHING_LOSS))
    free = disaggregated_rates(PREFILL, DECODE, lambda _: 0.01, lambda _: 0.02)
    assert free.bottleneck == "decode"
    assert free.output_tokens_per_s == pytest.approx(64 * 500 / (499 * 0.02 + free.kv_transfer_s) * 0.92)
    assert free.ttft_s == pytest.approx(0.01 + free.kv_transfer_s + 0.02)


def test_a_decode_pool_without_a_concurrency_runs_what_its_cache_holds():
    asked = []
    disaggregated_rates(
        PREFILL, replace(DECODE, concurrency=float("inf")), lambda _: 1.0, lambda case: asked.append(case.concurrency) or 0.02
    )
    assert asked == [max_running_requests(replace(DECODE, concurrency=float("inf")))]


def test_the_kv_cache_is_sent_once_over_the_narrower_side():
    whole = 80 * 2 * 8 * 128 * 2 * 4000
    assert kv_transfer_seconds(PREFILL, DECODE) == pytest.approx(whole / (4 * 50e9))
    assert kv_transfer_seconds(PREFILL, replace(DECODE, tensor=1.0)) == pytest.approx(whole / 50e9)


def test_arrays_of_cases_agree_with_single_cases():
    cases = [
        served("llama-3.1-8b", "H100-80GB", requests=3000.0),
        served("deepseek-v3", "H200-141GB", "fp8", attention_data=8.0, **PYTHON),
        served("llama-3.3-70b", "RTX-PRO-6000-Blackwell-SE", "fp4", pipeline=4.0, **PYTHON),
        served("llama-2-7b", "A100-80GB", engine="hf", concurrency=4.0, compiled=0.0),
    ]
    assert offline_tokens_per_s_per_accelerator(stack_cases(cases), K) == pytest.approx(
        [float(offline_tokens_per_s_per_accelerator(c, K)) for c in cases]
    )
