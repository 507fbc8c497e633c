"""Exact values of server logs and tables: bytes per cached token, tokens of a pool, milliseconds of a prompt."""

import pytest
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.dataset.runs import row_readings
from rackwright.estimator.serving import memory
from rackwright.estimator.serving.case import ServingCase
from rackwright.estimator.serving.iteration import DecodeCoefficients, prefill_seconds, token_seconds
from rackwright.estimator.serving.memory import CacheCoefficients, kv_tokens
from rackwright.estimator.serving.throughput import OfflineCoefficients, max_running_requests, offline_tokens_per_s
from rackwright.units import GIB

from tests.estimator.serving import served

K = DecodeCoefficients()


@pytest.mark.parametrize(
    ("model", "tensor", "engine", "gib", "printed", "off"),
    [
        ("qwen3-235b-a22b", 4.0, "sglang", 16.46, 367_404, 5e-4),
        ("qwen3-235b-a22b", 4.0, "vllm", 8.11, 180_935, 1e-5),
        ("qwen3-235b-a22b", 4.0, "vllm", 8.11, 178_880, 0.012),
        ("llama-3.1-8b", 1.0, "vllm", 3.81, 31_232, 1e-3),
        ("qwen3-30b-a3b", 1.0, "vllm", 24.0, 262_144, 1e-9),
    ],
    ids=["SGLang prints", "vLLM by the formula", "vLLM prints, in whole blocks", "vLLM on 24 GiB", "a whole context"],
)
def test_cache_tokens_match_server_logs(monkeypatch, model, tensor, engine, gib, printed, off):
    monkeypatch.setattr(memory, "cache_bytes", lambda case, k: gib * GIB)
    assert kv_tokens(served(model, "H100-80GB", engine=engine, tensor=tensor), CacheCoefficients()) == pytest.approx(printed, rel=off)


def fastertransformer() -> ServingCase:
    """GPT-13B, 16 bit, one A100, a single prompt of 512 tokens (sizing rows IN1829)."""
    case = next(r.case for r in row_readings() if r.row.id == "IN1829")
    assert isinstance(case, ServingCase)
    return case


def test_fastertransformers_prompt_is_bound_by_products():
    """63.2 ms for 512 tokens of 13B, 67 % of 312 TFLOP/s. The formula is for a full batch, which is slightly better than one prompt."""
    seconds = prefill_seconds(fastertransformer(), K)
    assert seconds * 1e3 == pytest.approx(63.2, rel=0.15)
    flops = 2 * fastertransformer().network.matmul * 512
    assert 0.67 <= flops / seconds / 312e12 <= 0.85


def test_fastertransformers_token_reads_every_weight():
    assert token_seconds(fastertransformer(), K, 1.0) * 1e3 == pytest.approx(22.0, rel=0.15)


def test_prefill_follows_the_form_of_the_roofline():
    """[2 (N_a - V h) S + 2 L a d S^2] over the rates of products and attention; a doubled prompt takes more than twice as long."""
    case = served("llama-3.1-8b", "H100-80GB", engine="trtllm")
    one, two = (prefill_seconds(case, K, s) for s in (4096.0, 8192.0))
    chip, n = case.chip, case.network
    products = 2 * n.matmul * 4096 / (chip.peak_flops * chip.sustained_share * K.compute_share)
    attention = 2 * 4096**2 * n.layers * n.heads * n.head_dim / (chip.base_peak_flops * 0.5)
    assert one == pytest.approx(products + attention, rel=0.05)
    assert two > 2 * one


@pytest.mark.parametrize(
    ("model", "hardware", "numbers", "tensor"),
    [("llama-3.1-8b", "B200", "fp4", 1.0), ("llama-3.1-8b", "H200-141GB", "fp8", 1.0), ("llama-3.1-70b", "H100-80GB", "fp8", 4.0)],
)
def test_latency_and_throughput_of_a_full_server_agree(model, hardware, numbers, tensor):
    """The offline rate and the requests in flight over the time per token describe the same state."""
    case = served(model, hardware, numbers, engine="trtllm", release=100.0, input=1000.0, output=1000.0, tensor=tensor)
    c = calibration()
    offline = offline_tokens_per_s(case, c.of("offline", OfflineCoefficients))
    running = max_running_requests(case)
    latency = running / token_seconds(case, c.of("decode", DecodeCoefficients), running)
    assert 1 / 1.4 < latency / offline < 1.4
