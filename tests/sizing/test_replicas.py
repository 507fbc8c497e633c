"""Servers: minimum number of replicas, and properties of their latencies."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.serving.first_token import first_token_seconds
from rackwright.estimator.serving.iteration import token_seconds
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.job import ServingJob, weight_bytes
from rackwright.sizing.rejection import Limit
from rackwright.sizing.search.outcome import Outcome
from rackwright.sizing.search.serving.best_serving import best_batch, best_serving
from rackwright.sizing.search.serving.replicas import MAX_REPLICAS, ServingLayouts, lognormal_sigma, serving_layouts
from rackwright.sizing.search.target import Target, TargetArrays

from tests.sizing.helpers import network, servers
from tests.sizing.jobs import with_memory, with_wires

H100, L4, A100 = servers(1), servers(1, "NVIDIA L4", 4), servers(1, "NVIDIA A100 80GB SXM4")


def job(model: str = "llama-3.1-8b", rate: float = 20.0, ttft: float | None = 2.0, tpot: float | None = 0.05, **more) -> ServingJob:
    return replace(
        ServingJob(
            network(model), True, "bf16", 2.0, "vllm", 800, 2000, 200, 5000, 0.0, rate, 0.0, ttft and (ttft, 95), tpot and (tpot, 95)
        ),
        **more,
    )


def of(j: ServingJob, *targets: Target) -> ServingLayouts:
    return serving_layouts(j, TargetArrays.of(targets), ["bf16"] * len(targets), DEFAULT, calibration())


def every_way(s: ServingLayouts) -> np.ndarray:
    return np.ones(len(s.ways.target), dtype=bool)


def best(j: ServingJob, *targets: Target) -> list[Outcome]:
    return best_serving(j, TargetArrays.of(targets), ["bf16"] * len(targets), DEFAULT, calibration())


jobs = st.builds(
    job,
    model=st.sampled_from(["llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "deepseek-v3"]),
    rate=st.sampled_from([0.01, 1.0, 30.0, 400.0]),
    ttft=st.sampled_from([None, 0.3, 2.0]),
    tpot=st.sampled_from([None, 0.02, 0.1]),
)


@settings(max_examples=25, deadline=None)
@given(jobs, st.sampled_from([H100, L4, A100]))
def test_the_fewest_replicas_equal_a_linear_search(j, target):
    s = of(j, target)
    found = s.fewest(DEFAULT.max_utilisation, every_way(s))
    every = np.arange(1, MAX_REPLICAS + 1)
    for way, few in enumerate(found.tolist()):
        ok = s.at(np.full(MAX_REPLICAS, way)).loaded(every.astype(float), DEFAULT.max_utilisation).ok
        assert few == (int(every[ok][0]) if ok.any() else 0)


@settings(max_examples=25, deadline=None)
@given(jobs, st.floats(1.1, 5.0))
def test_more_traffic_never_needs_fewer(j, factor):
    s, more = of(j, H100), of(replace(j, rate=j.rate * factor), H100)
    few, many = (x.fewest(0.8, every_way(x)) for x in (s, more))
    assert np.all((many == 0) | ((few > 0) & (few <= many)))


@settings(max_examples=25, deadline=None)
@given(jobs, st.sampled_from([1, 3, 17]))
def test_more_replicas_never_answer_later(j, count):
    s = of(j, H100, L4)
    one, two = (s.loaded(float(n), 0.8) for n in (count, 2 * count))
    assert np.all(two.ttft_s <= one.ttft_s * (1 + 1e-6))
    assert np.all(two.tpot_s <= one.tpot_s * (1 + 1e-6))


@pytest.mark.parametrize("percentile", [90, 99])
def test_a_higher_percentile_waits_longer_than_the_mean(percentile):
    j = replace(job(), ttft=(2.0, percentile), tpot=(0.05, percentile))
    s = of(j, H100)
    seen = s.loaded(2.0, 0.8)
    case = replace(s.case, rate=j.rate / 2)
    assert np.all(seen.ttft_s > first_token_seconds(case, s.decode, s.ttft))
    assert np.all(seen.tpot_s > token_seconds(case, s.decode, 1.0))


@settings(max_examples=15, deadline=None)
@given(jobs)
def test_targets_do_not_affect_each_other(j):
    several = [H100, L4, servers(1, per_node=2), A100, servers(1, per_node=1), with_memory(H100, 0.5)]
    assert best(j, *several) == [best(j, t)[0] for t in several]


def test_a_slow_link_is_for_stages_and_a_fast_one_for_shares():
    """Over PCIe, two all-reduces per layer take longer than a hop between stages."""
    slow = with_wires(servers(1, "NVIDIA L40S", 4), scale_up_bytes_per_s=4e9)
    (found,) = best(job("llama-3.1-70b", 2.0, None, None), slow)
    assert found.parallelism.pipeline > 1
    (found,) = best(job("llama-3.1-70b", 2.0), H100)
    assert (found.parallelism.pipeline, found.parallelism.tensor > 1) == (1, True)


def test_pinned_ways_are_used():
    (found,) = best(job(tensor=4, pipeline=2, ttft=None, tpot=None), H100)
    assert (found.parallelism.tensor, found.parallelism.pipeline) == (4, 2)
    (none,) = best(job(tensor=3), H100)
    assert none.rejections[0].limit is Limit.GEOMETRY


def test_pinned_stages_can_span_machines():
    """405B in 16 bits exceeds eight H100; without a pin, sizing keeps a replica on one machine."""
    (found,) = best(job("llama-3.1-405b", 1.0, None, None, tensor=8, pipeline=2), H100)
    assert not found.rejections
    assert (found.parallelism.tensor, found.parallelism.pipeline, found.nodes) == (8, 2, 2 * found.replicas)
    (none,) = best(job("llama-3.1-405b", 1.0, None, None, tensor=4, pipeline=4), H100)
    assert none.rejections, "a part of a machine is no stage of a wide replica"


def test_a_model_larger_than_the_machine_is_rejected_for_memory():
    (found,) = best(job("llama-3.1-405b"), H100)
    (only,) = found.rejections
    assert only.limit is Limit.DEVICE_MEMORY
    assert only.need > only.have == pytest.approx(0.9 * 80)
    assert found.parallelism.accelerators == 8


def test_unreachable_goals_are_named():
    (found,) = best(job("llama-3.1-70b", tpot=0.001, ttft=0.001), H100)
    assert {r.limit for r in found.rejections} == {Limit.TPOT, Limit.TTFT}
    (many,) = best(job("llama-3.1-70b", rate=1e6, tpot=None, ttft=None), H100)
    assert {r.limit for r in many.rejections} == {Limit.THROUGHPUT}


def test_more_memory_for_the_cache_needs_no_more_replicas():
    small, large = best(job(rate=200), with_memory(H100, 0.5), with_memory(H100, 2.0))
    assert small.replicas >= large.replicas


@cache
def batch(factor: float = 1.0) -> list[Outcome]:
    j = replace(job(ttft=None, tpot=None, rate=0.0), requests=1e6 * factor)
    return best_batch(j, TargetArrays.of([servers(1), servers(2)]), ["bf16"] * 2, DEFAULT, calibration())


def test_a_batch_takes_half_the_time_on_twice_the_machines():
    one, two = batch()
    assert two.work_s == pytest.approx(one.work_s / 2, rel=0.01)
    assert two.replicas == 2 * one.replicas
    assert one.work_s == pytest.approx(1e6 * 200 / one.speed.tokens_per_s)


def test_a_batch_is_done_in_proportion():
    assert batch(10)[0].work_s == pytest.approx(10 * batch()[0].work_s, rel=0.02)


def test_request_lengths_without_spread_have_no_sigma():
    assert lognormal_sigma(800, 800) == 0
    assert lognormal_sigma(800, 2000) > lognormal_sigma(800, 1000)


def test_weights_in_few_bits():
    n = network("llama-3.1-8b")
    assert weight_bytes(n, "bf16") == 2 * n.total
    assert weight_bytes(n, "fp8") == n.linear + 2 * (n.total - n.linear)
