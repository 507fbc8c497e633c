"""One service on many accelerators: order of those that fit, compared with a published ratio."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.catalog import Catalog
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.economics.comparison import ComparisonRow, cheapest, compare, target_of
from rackwright.sizing.economics.replica import Replica, replicas_on
from rackwright.sizing.economics.serving import REPORTED, serving_job
from rackwright.sizing.job import ServingJob, lora_overhead
from rackwright.sizing.offers.offer import core_of
from rackwright.sizing.rejection import Reason
from rackwright.sizing.search import cpu_roofline
from rackwright.sizing.search.outcome import max_concurrency
from rackwright.spec.workload import Serve
from rackwright.wording.rejections import rejection_text

CATALOG = Catalog.default()
M7I = core_of(CATALOG.machine("m7i.4xlarge"))


def asked(name: str, tokens: tuple[float, float] = (1, 1), **more) -> ServingJob:
    usual = {"name": "service", "kind": "serve", "model": {"base": name}, "requests_per_second": 1}
    lengths = {"input_tokens": {"mean": tokens[0]}, "output_tokens": {"mean": tokens[1]}}
    return serving_job(Serve.model_validate(usual | lengths | more))


CHAT = asked("llama-3.1-8b", (800, 200), ttft={"target": "1 s"}, tpot={"target": "50 ms"}, max_context=8192)
IMAGES = asked("sdxl", loras={"count": 8, "rank": 32})


def on(job: ServingJob, machine: str) -> tuple[Replica, ...]:
    target = target_of(CATALOG.machine(machine), CATALOG)
    assert target
    return replicas_on(job, [target], DEFAULT, calibration())[target]


def by_name(rows: tuple[ComparisonRow, ...]) -> dict[str, ComparisonRow]:
    return {r.replica.accelerator: r for r in rows}


def test_rows_are_ordered_by_planned_cost_and_impossible_rows_are_last():
    rows = compare(CHAT, CATALOG)
    costs = [r.planned_usd_per_request for r in rows if r.planned_usd_per_request]
    assert costs == sorted(costs)
    assert [r.runs for r in rows] == sorted((r.runs for r in rows), reverse=True)
    assert {r.replica.accelerator for r in rows} >= {"NVIDIA T4", "NVIDIA L4", "NVIDIA L40S", "NVIDIA H100 80GB SXM5", "TPU v5e"}


def test_cost_is_price_over_requests():
    row = by_name(compare(CHAT, CATALOG))["NVIDIA L40S"]
    rate = row.replica.requests_per_s
    assert row.planned_usd_per_request == pytest.approx(row.usd_per_hour / 3600 / row.replica.planned_requests_per_s)
    assert row.planned_usd_per_million_tokens == pytest.approx(row.planned_usd_per_request / 200 * 1e6)
    assert row.usd_per_request.p50 == pytest.approx(row.usd_per_hour / 3600 / rate.p50)
    assert row.usd_per_million_tokens.p50 == pytest.approx(row.usd_per_request.p50 / 200 * 1e6)
    assert row.usd_per_request.p10 <= row.usd_per_request.p50 <= row.planned_usd_per_request <= row.usd_per_request.p90
    assert row.price_as_of


def test_machines_without_a_published_price_rank_last():
    prices = tuple(p for p in CATALOG.prices if not p.sku.startswith("g6e."))
    rows = compare(CHAT, replace(CATALOG, prices=prices))
    bare = by_name(rows)["NVIDIA L40S"]
    assert bare.runs
    assert bare.usd_per_request is None
    assert all(r.usd_per_request is None for r in rows[rows.index(bare) :])


def test_every_replica_meets_the_goals():
    for row in compare(CHAT, CATALOG):
        if row.runs:
            assert row.replica.tpot_s <= 0.05 * (1 + 1e-9)
            assert row.replica.ttft_s <= 1.0


def test_a_model_that_is_too_large_has_a_reason():
    rows = by_name(compare(asked("llama-3.1-70b", (800, 200)), CATALOG))
    assert [r.reason for r in rows["NVIDIA T4"].replica.rejections] == [Reason.REPLICA_MEMORY]
    (large,) = rows["CPU"].replica.rejections
    assert (large.reason, round(large.need, 1)) == (Reason.CPU_MODEL_SIZE, 70.6)
    assert rows["NVIDIA H100 80GB SXM5"].replica.accelerators >= 2


def test_8_bit_weights_on_a_card_without_them_are_refused_with_the_reason():
    ((unsupported,),) = (r.rejections for r in on(replace(CHAT, precision="fp8"), "g4dn.xlarge"))
    assert rejection_text(unsupported) == "number format: NVIDIA T4 does not compute in fp8; its nearest format is int8"


def test_four_bit_weights_run_in_16_bit_on_nvidia_cards_with_bf16_and_nowhere_else():
    """vLLM's Marlin kernels; T4 and TPUs read gpt-oss as 16 bit: 117 billion parameters, 27.2 GiB on each of eight."""
    job = asked("gpt-oss-120b", (1000, 300))
    rows = by_name(compare(job, CATALOG))
    assert all(rows[name].runs for name in ("NVIDIA L4", "NVIDIA L40S", "NVIDIA A100 40GB SXM4", "NVIDIA H100 80GB SXM5"))
    assert 1 in {r.accelerators for r in on(job, "p5.48xlarge") if r.planned_requests_per_s}
    for name in ("NVIDIA T4", "TPU v5e"):
        assert [r.reason for r in rows[name].replica.rejections] == [Reason.REPLICA_MEMORY], name
    (small,) = on(job, "ct6e-standard-4t")
    assert [r.reason for r in small.rejections] == [Reason.REPLICA_MEMORY], "4 bit would fit four v6e"
    assert all(r.need > 27.2 for name in ("NVIDIA T4", "TPU v5e") for r in rows[name].replica.rejections)


def test_images_on_t4_l4_and_tpu_reconcile_with_the_report():
    rows = by_name(compare(IMAGES, CATALOG))
    rates = {name: row.replica.requests_per_s for name, row in rows.items() if row.replica.requests_per_s}
    for card, reported in REPORTED:
        ours = rates["TPU v5e"].p50 / rates[card].p50
        assert reported / 2 < ours < reported * 2
    assert rows["TPU v5e"].usd_per_request.p50 < rows["NVIDIA T4"].usd_per_request.p50


def test_adapters_that_are_not_merged_cost_two_thin_matrices():
    assert lora_overhead(IMAGES.network, 8, 32) == pytest.approx(2 * 32 / 1280)
    bare, many = (on(replace(IMAGES, loras=n), "g6.xlarge")[0].planned_requests_per_s for n in (0, 8))
    assert bare / many == pytest.approx(1.05)


def test_a_small_model_runs_on_processors_and_is_prior_only():
    row = compare(asked("qwen2.5-1.5b", (400, 100), tpot={"target": "200 ms"}), CATALOG)[-1]
    assert row.replica.accelerator.startswith("CPU")
    assert row.machine.startswith(("m7i.", "c7i.", "r7i.", "m7g."))
    assert row.replica.evidence.startswith("prior only")
    assert row.replica.tpot_s <= 0.2
    assert row.usd_per_million_tokens.p90 / row.usd_per_million_tokens.p50 == pytest.approx(2)


def test_a_processor_reads_the_weights_for_every_token():
    """3 GB at 0.7 of 16 x 3.2 GB/s."""
    rate = cpu_roofline.generate(M7I, 16, 1.5e9, 3e9, 0.0, (1, 100), 1)
    assert rate.tpot_s == pytest.approx(3e9 / (0.7 * 16 * 3.2e9), rel=0.02)


@given(st.integers(1, 64), st.integers(1, 64))
def test_processors_more_at_once_answer_no_fewer_and_no_faster(some, more):
    low, high = (cpu_roofline.generate(M7I, 16, 1.5e9, 3e9, 1e7, (100, 100), n) for n in (some, some + more))
    assert high.requests_per_s >= low.requests_per_s * (1 - 1e-9)
    assert high.tpot_s >= low.tpot_s


@given(st.integers(0, 600))
def test_the_highest_rate_within_a_goal_is_found_to_a_sixteenth(limit):
    found, limit = max_concurrency(lambda n: n <= limit), min(limit, 512)
    assert found <= limit
    assert found >= limit - max(found // 16, 1)


def test_the_cheapest_region_of_a_machine_is_taken():
    machine = CATALOG.machine("g2-standard-4")
    found = cheapest(CATALOG, machine)
    assert found
    listed = [p.usd_per_hour for p in CATALOG.prices if p.sku == "g2-standard-4" and p.capacity == "on-demand"]
    assert found.usd_per_hour == pytest.approx(min(listed))


def test_the_cheapest_layout_is_taken_not_the_smallest():
    """70B on H100: two hold the model and have little room for a cache; four carry more for each dollar."""
    job = asked("llama-3.1-70b", (1500, 300), ttft={"target": "2 s"}, tpot={"target": "50 ms"})
    widths = {r.accelerators: r.planned_requests_per_s / r.accelerators for r in on(job, "p5.48xlarge")}
    best = by_name(compare(job, CATALOG))["NVIDIA H100 80GB SXM5"].replica
    assert min(widths) < best.accelerators == max(widths, key=widths.get)


def test_pinned_parallelism_holds_in_the_comparison():
    job = asked("llama-3.1-70b", (1500, 300), parallelism={"tensor": 2, "pipeline": 2})
    running = [row.replica for row in compare(job, CATALOG) if row.runs]
    assert running
    assert {(r.layout.tensor, r.layout.pipeline, r.accelerators) for r in running} == {(2, 2, 4)}
