"""Serving on other vendors, on cards and with engines without captured graphs: each coefficient acts on its platform alone."""

from dataclasses import fields, replace

import pytest
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.case import stack_cases
from rackwright.estimator.serving import memory
from rackwright.estimator.serving.iteration import DecodeCoefficients
from rackwright.estimator.serving.platforms import PlatformCoefficients
from rackwright.estimator.serving.served_rate import MODELS, served_tokens_per_s_per_accelerator
from rackwright.estimator.serving.throughput import OfflineCoefficients

from tests.estimator.serving import served

K, OFFLINE = DecodeCoefficients(), OfflineCoefficients()
SERVER = served("llama-3.1-8b", "H100-80GB", engine="vllm", release=12.0, input=512.0, output=256.0, concurrency=8.0)
CARDS = served("llama-3.1-8b", "L40S", engine="vllm", release=12.0, input=512.0, output=256.0, concurrency=8.0, tensor=2.0)
MOVED_BY = {
    "neuroncore": served("llama-3.1-8b", "Inferentia2", engine="neuron", tensor=4.0, concurrency=1.0),
    "gaudi": served("llama-3.1-8b", "Gaudi2", engine="habana", concurrency=1.0),
    "cdna": served("llama-3.1-70b", "MI300X", engine="vllm", release=12.0, tensor=4.0, concurrency=8.0),
    "tpu": served("llama-3.1-8b", "TPU v5e", engine="jetstream", tensor=4.0, concurrency=8.0),
    "vendor_products": served("llama-3.1-70b", "MI300X", engine="vllm", release=12.0, tensor=4.0, input=2000.0, concurrency=64.0),
    "eager_us": replace(SERVER, compiled=0.0),
    "own_prompt": replace(SERVER, release=7.0, output=32.0),
    "step_us": replace(SERVER, release=7.0),
    "early_sequence_us": replace(SERVER, release=7.0, concurrency=128.0),
    "vector_tb_s": replace(SERVER, engine="llama.cpp", concurrency=1.0),
    "expanding": replace(SERVER, compiled=0.0, numbers="int4", input=4096.0, output=16.0, concurrency=64.0),
    "expanding_layers": replace(SERVER, compiled=0.0, numbers="int4", concurrency=1.0),
    "expert_loop_us": served("mixtral-8x7b", "Gaudi2", engine="habana", tensor=2.0, concurrency=1.0),
    "card_join_us": CARDS,
    "card_link_share": replace(CARDS, tensor=8.0, concurrency=64.0),
    "gaudi_join_us": served("llama-3.1-70b", "Gaudi2", engine="habana", tensor=8.0, concurrency=1.0),
    "weight_only": replace(CARDS, numbers="int4", linear_bytes=0.53, concurrency=64.0),
    "card_layers": CARDS,
    "card_products": replace(CARDS, input=4096.0, output=16.0, concurrency=64.0),
    "tail": replace(SERVER, concurrency=float("inf"), requests=200.0, varied=1.0),
}
FASTER = ("vector_tb_s", "card_link_share")
"""Coefficients that speed up their platform."""


def rate(case, k=None):
    k = k or PlatformCoefficients()
    return float(served_tokens_per_s_per_accelerator(case, replace(K, platform=k), replace(OFFLINE, platform=k)))


@pytest.mark.parametrize("name", [f.name for f in fields(PlatformCoefficients)])
def test_a_coefficient_slows_its_platform_and_no_current_server(name):
    prior = PlatformCoefficients()
    slower = replace(prior, **{name: getattr(prior, name) * (0.5 if name in FASTER else 2.0)})
    assert rate(MOVED_BY[name], slower) < rate(MOVED_BY[name], prior) * 0.999
    assert rate(SERVER, slower) == rate(SERVER, prior)
    offline = replace(SERVER, concurrency=float("inf"), requests=1000.0)
    assert rate(offline, slower) == rate(offline, prior)


def test_arrays_of_cases_agree_with_single_cases():
    cases = list(MOVED_BY.values())
    rates = served_tokens_per_s_per_accelerator(stack_cases(cases), K, OFFLINE)
    assert rates == pytest.approx([rate(case) for case in cases])


def test_a_replica_with_half_a_request_in_flight_is_idle_half_of_the_time():
    one = replace(SERVER, concurrency=1.0)
    assert rate(replace(SERVER, concurrency=0.5)) == pytest.approx(rate(one) / 2)


@pytest.mark.parametrize(
    ("hardware", "release", "sequences"),
    [("H100-80GB", 12.0, 1024.0), ("H100-80GB", 7.0, 256.0), ("A100-80GB", 12.0, 256.0), ("RTX4090", 12.0, 256.0)],
)
def test_vllm_runs_256_sequences_below_70_gib_on_a100_and_before_0_8(hardware, release, sequences):
    case = served("qwen2.5-0.5b", hardware, engine="vllm", release=release, input=1.0, output=1.0, concurrency=float("inf"))
    assert memory.max_sequences(case, memory.CacheCoefficients()) == sequences


def test_residual_classes_name_the_platform():
    (model,) = MODELS
    assert [model.classes(case)[0] for case in (SERVER, CARDS, MOVED_BY["cdna"])] == ["large GPU", "card", "other vendor"]


def test_latency_on_a_card_without_a_latency_run_has_the_inverse_interval_of_rates():
    c = calibration()
    rates = c.residuals["platform"]["card"]
    times = c.residual("decode", ("dense", "all"), "ada cards")
    assert times.n == rates.n > 0
    assert (times.p10, times.p90) == (1 / rates.p90, 1 / rates.p10)
    assert c.residual("ttft", ("dense", "all"), "ada cards").n == 0


def test_optimum_habana_multiplies_every_expert():
    habana = served("mixtral-8x7b", "Gaudi2", engine="habana", tensor=2.0, input=2048.0, output=128.0, concurrency=96.0)
    assert rate(habana) < 0.5 * rate(replace(habana, engine="vllm"))


def test_the_host_launches_kernels_while_the_accelerator_works():
    """Llama 2 7B in fp16 takes 15.5 ms on an RTX 4090 with plain transformers (NI1073): the time of its reads, not reads and launches."""
    eager = served("llama-2-7b", "RTX4090", numbers="fp16", engine="hf", compiled=0.0, input=4.0, output=200.0, concurrency=1.0)
    alone_ms = 1000 / rate(eager, replace(PlatformCoefficients(), eager_us=0.0))
    assert 1000 / rate(eager) < 0.8 * (alone_ms + 32 * PlatformCoefficients().eager_us / 1000)


@pytest.mark.parametrize("concurrency", [float("inf"), 64.0])
def test_exchanges_through_host_memory_slow_down_with_the_cards_that_share_it(concurrency):
    """Of Llama 3 8B on RTX 4090 (NI2013 to NI2032), eight cards run an offline batch little faster than one."""
    one = served("llama-3-8b", "RTX4090", engine="vllm", release=7.0, input=250.0, output=350.0, requests=150.0, concurrency=concurrency)
    assert 8 * rate(replace(one, tensor=8.0)) < 3 * rate(one)


def test_vllm_before_0_14_schedules_between_iterations_on_tpu():
    slow, early = replace(PlatformCoefficients(), step_us=20_000.0), served("llama-3.1-8b", "TPU v6e", engine="vllm", concurrency=64.0)
    ratios = [rate(case, slow) / rate(case) for release in (13.0, 14.0, 0.0) for case in [replace(early, release=release)]]
    assert [ratio < 0.8 for ratio in ratios] == [True, False, False]


def test_four_bit_weights_slow_decode_steps_of_many_requests_and_not_their_prompts():
    four, slower = MOVED_BY["weight_only"], replace(PlatformCoefficients(), weight_only=4.0)
    prompts = replace(four, input=8192.0, output=1.0)
    assert rate(four, slower) < 0.9 * rate(four)
    assert rate(prompts, slower) > 0.98 * rate(prompts)
