"""Serving: cache sizes that engines print, queueing laws, replicas."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.sizing import serving
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.priors import decode
from rackwright.sizing.serving import Engine, Load

from tests.sizing.helpers import network

GIB = 2**30
N = network("llama-3.1-8b")
H100 = Engine(989e12, 80 * GIB, 3.35e12, 1, 450e9, serving.weight_bytes(N, "bf16"), 2.0, decode("vllm", False, "NVIDIA H100 80GB SXM5"))


@pytest.mark.parametrize(
    ("model", "tensor", "kept"),
    [("qwen3-235b-a22b", 4, 48_128), ("llama-3.1-8b", 1, 131_072), ("qwen3-30b-a3b", 1, 98_304), ("llama-3.1-70b", 16, 40_960)],
)
def test_cache_bytes_per_token_as_engines_print_them(model, tensor, kept):
    """SGLang: 367,404 tokens in 16.46 GiB; vLLM: 31,232 in 3.81 GiB and 262,144 in 24.0 GiB. More tensor than key heads copies them."""
    assert serving.kv_bytes_per_token(network(model), tensor) == kept


def test_latent_cache_is_the_same_at_every_width():
    v3 = network("deepseek-v3")
    assert serving.kv_bytes_per_token(v3, 8) == serving.kv_bytes_per_token(v3, 1) == 61 * (512 + 64) * 2


def test_local_layers_stop_growing_at_the_window():
    gemma = network("gemma-2-9b")
    per_token = 2 * 8 * 256 * 2
    assert serving.kv_bytes_per_sequence(gemma, 8192) == 21 * 8192 * per_token + 21 * 4096 * per_token


def test_weights_in_eight_bit_keep_the_table_in_sixteen():
    assert serving.weight_bytes(N, "bf16") == 2 * N.total
    assert serving.weight_bytes(N, "fp8") == N.linear + 2 * (N.total - N.linear)


def test_a_step_reads_few_experts_for_one_request_and_all_for_many():
    v3 = network("deepseek-v3")
    assert serving.read_share(v3, 1.0) == pytest.approx((v3.total - v3.routed * (1 - 8 / 256)) / v3.total)
    assert serving.read_share(v3, 1000.0) == pytest.approx(1.0)


def test_one_request_on_h100_decodes_at_about_seven_milliseconds():
    """Published vLLM runs of Llama-3.1-8B bf16 on one H100: 6.5 to 8.5 ms at low concurrency."""
    assert 0.006 < float(serving.decode_seconds(N, H100, 1.0, Load(800, 800, 200, 200, 0.1), DEFAULT)) < 0.0095


@given(st.floats(0.1, 20))
def test_running_requests_obey_littles_law(rate):
    load = Load(800, 2000, 200, 500, rate)
    running = float(serving.running_at(N, H100, load, DEFAULT))
    if np.isfinite(running):
        assert running == pytest.approx(rate * 200 * float(serving.decode_seconds(N, H100, running, load, DEFAULT)), rel=0.02)


@given(st.floats(0.1, 10), st.floats(1, 2), st.sampled_from([50, 90, 95, 99]))
def test_more_load_never_answers_sooner(rate, factor, percentile):
    calm, busy = (
        float(serving.first_token(N, H100, Load(800, 2000, 200, 500, r), percentile, 0.01, DEFAULT).seconds) for r in (rate, rate * factor)
    )
    assert busy >= calm - 1e-12


@given(st.floats(0.5, 10))
def test_higher_percentiles_wait_longer(rate):
    waits = [float(serving.first_token(N, H100, Load(800, 2000, 200, 500, rate), q, 0.01, DEFAULT).seconds) for q in (50, 90, 95, 99)]
    assert waits == sorted(waits)
    assert rate < 5 or waits[0] < waits[1] < waits[2] < waits[3]


def test_occupancy_exceeds_its_mean_like_poisson():
    assert serving.peak_running(100.0, 50) == 100
    assert serving.peak_running(100.0, 95) == pytest.approx(116.45)


def test_prompts_served_from_the_prefix_cache_are_not_computed():
    cold, warm = (serving.first_token(N, H100, Load(4000, 4000, 200, 200, 2, share), 95, 0.0, DEFAULT) for share in (0.0, 0.75))
    assert float(warm.seconds) < float(cold.seconds) / 2


def test_request_lengths_without_spread_have_no_sigma():
    assert serving.lognormal_sigma(800, 800) == 0
    assert serving.lognormal_sigma(800, 2000) > serving.lognormal_sigma(800, 1000)


def test_wider_tensor_parallelism_leaves_more_room_for_the_cache():
    two = replace(H100, tensor=2)
    assert serving.cache_room_bytes(N, two, DEFAULT) > serving.cache_room_bytes(N, H100, DEFAULT)


def test_all_reduces_over_nvlink_are_inside_the_fit():
    """c0 was fitted on runs of one to eight devices; a slower link adds what it is slower by."""
    eight = replace(H100, tensor=8)
    steps = [float(serving.decode_seconds(N, replace(eight, link_bytes_per_s=link), 64.0, Load(800, 800, 200, 200, 0.1), DEFAULT))
             for link in (900e9, 450e9, 25e9)]  # fmt: skip
    assert steps[0] == steps[1]
    assert steps[2] - steps[1] == pytest.approx(2 * N.layers * 2 * 64 * N.hidden * 2 * (1 / 25e9 - 1 / 450e9))
