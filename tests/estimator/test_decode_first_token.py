"""Time to the first token: published runs outside the fit, and properties."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.estimator.case import stack_cases
from rackwright.estimator.serving.first_token import TtftCoefficients, first_token_seconds
from rackwright.estimator.serving.iteration import DecodeCoefficients, iteration_seconds, prefill_seconds, running_requests, token_seconds

from tests.estimator.serving import served

D, K = DecodeCoefficients(), TtftCoefficients()
"""The priors: a refit breaks no test."""


def server(**changes):
    return served("qwen3-32b", "H100-80GB", "bf16", **{"tensor": 4.0, "engine": "vllm", "concurrency": 16.0, "output": 512.0, **changes})


def first(case):
    return first_token_seconds(case, D, K)


@pytest.mark.parametrize(
    ("rate", "model", "accelerator", "tensor", "input_tokens", "output", "published_ms"),
    [
        (2.0, "llama-3.1-70b", "H100-80GB", 4.0, 467.0, 256.0, 62.0),
        (8.0, "llama-3.1-70b", "H100-80GB", 4.0, 202.0, 214.0, 57.0),
        (16.0, "llama-3.1-70b", "H100-80GB", 4.0, 467.0, 16.0, 109.0),
        (4.0, "llama-3.1-8b", "H200-141GB", 1.0, 202.0, 214.0, 18.0),
        (16.0, "llama-3.1-8b", "H200-141GB", 1.0, 467.0, 256.0, 27.0),
    ],
)
def test_published_open_loops_are_predicted_within_a_quarter(rate, model, accelerator, tensor, input_tokens, output, published_ms):
    case = served(model, accelerator, "bf16", engine="trtllm", tensor=tensor, input=input_tokens, output=output)
    case = replace(case, concurrency=float("inf"), open_loop=1.0, rate=rate)
    assert first(case) * 1e3 == pytest.approx(published_ms, rel=0.25)


def test_a_burst_waits_for_half_of_the_prompts():
    """500 prompts of 467 tokens at once, Llama 3.1 70B on four H100: 9.1 s on average."""
    case = served("llama-3.1-70b", "H100-80GB", "bf16", engine="trtllm", tensor=4.0, input=467.0, output=256.0, requests=500.0)
    assert first(replace(case, concurrency=float("inf"))) == pytest.approx(9.123, rel=0.25)


def test_a_single_request_does_not_wait():
    case = server(concurrency=1.0)
    assert first(case) == pytest.approx(K.fixed_ms * 1e-3 + iteration_seconds(case, D, 1.0) + prefill_seconds(case, D))


def test_prompts_before_decoding_increase_the_wait():
    assert first(server(engine="sglang", concurrency=64.0)) > 1.5 * first(server(concurrency=64.0))


def test_requests_beyond_the_cache_wait_in_a_queue():
    """Closed loop: by Little's law, the queue has the requests that exceed the cache, and advances at the rate of completions."""
    full = server(tensor=2.0, input=4096.0, output=128.0, concurrency=128.0)
    held = running_requests(full, D)
    assert held < 128
    pace = full.output * token_seconds(full, D, held) / held
    inside = first(replace(full, concurrency=float(held)))
    assert first(full) - inside == pytest.approx((128 - held) * pace, rel=0.01)


@given(st.floats(16.0, 16000.0), st.floats(16.0, 16000.0))
def test_longer_prompts_never_reduce_ttft(one, other):
    low, high = sorted((one, other))
    for extra in ({}, {"concurrency": float("inf"), "open_loop": 1.0, "rate": 0.5}):
        assert first(server(input=low, **extra)) <= first(server(input=high, **extra)) * (1 + 1e-9)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_more_prefix_hits_never_increase_ttft(one, other):
    cold, warm = sorted((one, other))
    assert first(server(cached_share=warm)) <= first(server(cached_share=cold)) * (1 + 1e-9)


def test_busier_open_loops_wait_longer():
    rates = [first(server(concurrency=float("inf"), open_loop=1.0, rate=r)) for r in (0.5, 2.0, 8.0)]
    assert rates == sorted(rates)


def test_an_overloaded_open_loop_has_the_ttft_of_the_stable_limit():
    """Prompts use at most 0.8 of the time: the wait is half a service time times 0.8 / 0.2, and stays finite under overload."""
    case = server(concurrency=float("inf"), open_loop=1.0, rate=1e4)
    batch = running_requests(case, D)
    own = K.fixed_ms * 1e-3 + iteration_seconds(case, D, batch) + token_seconds(case, D, batch) / 2
    assert first(case) - own == pytest.approx(3 * prefill_seconds(case, D))


def test_arrays_of_cases_agree_with_single_cases():
    cases = [server(), server(engine="sglang", concurrency=64.0), server(concurrency=float("inf"), open_loop=1.0, rate=2.0)]
    assert first(stack_cases(cases)) == pytest.approx([float(first(c)) for c in cases])


def test_every_coefficient_changes_a_prediction():
    case = server(concurrency=64.0)
    for name in ("fixed_ms", "layer_ms", "vllm", "bunch", "others"):
        changed = replace(K, **{name: getattr(K, name) * 1.5})
        assert first_token_seconds(case, D, changed) > first(case) * 1.001, name
