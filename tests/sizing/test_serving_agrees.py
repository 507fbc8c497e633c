"""A serving plan equals the estimate of the same configuration, on its pessimistic side, and uses the values of the spec."""

from dataclasses import replace

import numpy as np
import pytest
from rackwright.estimator.calibration.coefficients import ResidualQuantiles, calibration
from rackwright.estimator.config.configuration import EngineConfig, HardwareConfig, ServingConfig, ServingLayout
from rackwright.estimator.estimate import estimate
from rackwright.estimator.result import Estimate
from rackwright.estimator.serving.memory import kv_tokens
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.job import ServingJob
from rackwright.sizing.plan import Fit
from rackwright.sizing.search.serving.replicas import ServingLayouts, serving_layouts
from rackwright.sizing.search.target import TargetArrays

from tests.sizing.helpers import AWS, GCP, network, plan, serve, servers

EXACT = ResidualQuantiles(10, 1.0, 1.0, 1.0)
SURE = replace(
    calibration(),
    residuals={m: {"all": EXACT} for m in calibration().models},
    evidence_groups=dict.fromkeys(calibration().models, ("hopper", "ampere", "")),
)
"""Calibration whose predictions are never off: what is left between plan and estimate is the formulas."""
GOALS = "ttft: {target: 2 s, percentile: 95}, tpot: {target: 60 ms, percentile: 95}"


def job(model: str, **more) -> ServingJob:
    return replace(ServingJob(network(model), True, "bf16", 2.0, "vllm", 800, 800, 200, 5000, 0.0, 12.0, 0.0, None, None), **more)


def config(model: str, accelerator: str, tensor: int, replicas: int = 1, pipeline: int = 1, **said) -> ServingConfig:
    usual = {"input_tokens": 800.0, "output_tokens": 200.0, "max_context": 5000, "requests_per_s": 12.0}
    return ServingConfig(
        model=model, hardware=HardwareConfig(accelerator=accelerator, count=tensor * pipeline * replicas), engine=EngineConfig(name="vllm"),
        layout=ServingLayout(tensor=tensor, pipeline=pipeline), max_sequences=DEFAULT.max_sequences, **{**usual, **said},
    )  # fmt: skip


def of(j: ServingJob, accelerator: str) -> ServingLayouts:
    return serving_layouts(j, TargetArrays.of([servers(1, accelerator)]), ["bf16"], DEFAULT, SURE)


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize(
    ("accelerator", "model", "of_job", "said"),
    [
        ("NVIDIA H100 80GB SXM5", "llama-3.1-8b", {}, {}),
        ("NVIDIA A100 80GB SXM4", "llama-3.1-8b", {"cached_share": 0.6}, {"prefix_hit_rate": 0.6}),
        ("NVIDIA H100 80GB SXM5", "llama-3.1-70b", {"kv_element": 1.0}, {"kv_numbers": "fp8"}),
        ("NVIDIA H100 80GB SXM5", "mixtral-8x7b", {}, {}),
        ("NVIDIA H100 80GB SXM5", "llama-3.1-8b", {"loras": 20, "lora_rank": 64}, {"loras": 20, "lora_rank": 64}),
    ],
)
def test_the_search_uses_the_formulas_of_the_estimator(accelerator, model, of_job, said, replicas):
    """Without percentiles and margin, latency and cache of every layout equal those of `estimate` exactly."""
    s = of(job(model, **of_job), accelerator)
    seen = s.loaded(float(replicas), DEFAULT.max_utilisation)
    for row, tensor in enumerate(s.ways.tensor.tolist()):
        pipeline = int(s.ways.pipeline[row])
        e = estimate(config(model, accelerator, int(tensor), replicas, pipeline, **said), SURE)
        if not e.fits:
            continue
        assert e.tpot_s
        assert e.ttft_s
        assert e.kv_tokens
        assert seen.tpot_s[row] == pytest.approx(e.tpot_s.p50)
        assert seen.ttft_s[row] == pytest.approx(e.ttft_s.p50)
        assert e.kv_tokens.p50 == pytest.approx(float(np.broadcast_to(kv_tokens(s.case, s.pool), len(s.ways.tensor))[row]))


def pinned(fit: Fit, **said) -> Estimate:
    c = fit.candidate
    return estimate(config("llama-3.1-8b", c.accelerator, c.parallelism.tensor, c.replicas, c.parallelism.pipeline, **said))


@pytest.mark.parametrize("place", [AWS, GCP])
def test_a_plan_promises_no_more_than_the_estimate_of_the_same_configuration(place):
    """The median of the estimate plus percentiles and margin: never below it, and above its p90 by at most the percentile."""
    found = plan(serve(rate=12, more=f"{GOALS}, max_context: 5000"), place, more="limits: {accelerators: 32}")
    fits = [f for f in found.fits if not f.candidate.topology][:6]
    assert fits
    for fit in fits:
        e = pinned(fit, weight_numbers=fit.candidate.precision)
        assert e.tpot_s
        assert e.ttft_s
        assert e.fits
        assert not e.warnings
        assert e.memory.weights == pytest.approx(fit.memory.weights_bytes)
        assert e.tpot_s.p50 < (fit.speed.tpot_s or 0) < 1.5 * e.tpot_s.p90
        assert e.ttft_s.p50 < (fit.speed.ttft_s or 0) < 4 * e.ttft_s.p90


def served(more: str) -> dict[str, Fit]:
    """One replica of each machine, by machine name."""
    found = plan(serve(rate=1, more=f"max_context: 5000{more}"), GCP)
    return {f.candidate.machine: f for f in found.fits if f.candidate.replicas == 1 and not f.candidate.topology}


OF = {
    "weights": lambda f: f.memory.weights_bytes,
    "tpot": lambda f: f.speed.tpot_s,
    "ttft": lambda f: f.speed.ttft_s,
    "kv": lambda f: f.speed.kv_tokens,
}


@pytest.mark.parametrize(
    ("more", "quantity", "sign"),
    [
        ("loras: {count: 32, rank: 64}", "weights", 1),
        ("loras: {count: 32, rank: 64}", "tpot", 1),
        ("loras: {count: 32, rank: 64}", "kv", -1),
        ("prefix_cache_hit_rate: 80 %", "ttft", -1),
        ("prefix_cache_hit_rate: 80 %", "tpot", -1),
        ("kv_dtype: fp8", "kv", 1),
        ("kv_dtype: fp8", "tpot", -1),
        ("quantization: fp8", "weights", -1),
        ("quantization: fp8", "tpot", -1),
    ],
)
def test_values_of_the_spec_change_memory_and_time(more, quantity, sign):
    plain, said = served(""), served(f", {more}")
    both = [m for m in plain.keys() & said.keys() if plain[m].candidate.parallelism == said[m].candidate.parallelism]
    assert both
    for machine in both:
        assert (OF[quantity](said[machine]) - OF[quantity](plain[machine])) * sign > 0, machine


def test_adapters_of_an_image_service_take_memory_and_time():
    images = "{name: images, kind: serve, model: {base: sdxl}, requests_per_second: 1, input_tokens: {mean: 1}, output_tokens: {mean: 1}%s}"
    plain, many = ({f.candidate.machine: f for f in plan(images % more, GCP).fits} for more in ("", ", loras: {count: 8, rank: 64}"))
    both = plain.keys() & many.keys()
    assert both
    for machine in both:
        before, after = plain[machine], many[machine]
        assert after.memory.weights_bytes - before.memory.weights_bytes == pytest.approx(8 * 0.1 * 2 * network("sdxl").total)
        assert after.speed.unloaded_s == pytest.approx(1.1 * (before.speed.unloaded_s or 0), rel=0.01), "hosts encode both alike"


def test_no_warning_about_images_that_are_counted():
    found = plan("{name: v, kind: finetune, model: {base: sdxl}, adapter: {type: lora}, data: {samples: 1000}}", AWS)
    assert not any("images is not counted" in w for w in found.warnings)
