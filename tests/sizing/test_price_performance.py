"""One service on many accelerators: order of those that fit, compared with a published ratio."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.catalog import Catalog, query
from rackwright.catalog.models import library
from rackwright.catalog.rows import CapacityMode, Machine
from rackwright.sizing.economics.comparison import ComparisonRow, best_replica, cheapest, compare
from rackwright.sizing.economics.replica import ServiceRequest, max_concurrency, replica
from rackwright.sizing.economics.serving import REPORTED, service_request
from rackwright.sizing.offers.offer import core_of
from rackwright.sizing.rejection import Reason
from rackwright.sizing.search import cpu_roofline
from rackwright.spec.workload import Serve
from rackwright.wording.rejections import rejection_text

CATALOG = Catalog.default()
M7I = core_of(CATALOG.machine("m7i.4xlarge"))


def asked(name: str, **more) -> ServiceRequest:
    row = library.find(name)
    assert row
    return ServiceRequest(row.name, row.architecture, **more)


CHAT = asked("llama-3.1-8b", tokens=(800, 200), ttft_s=1.0, tpot_s=0.05, max_context=8192)
IMAGES = asked("sdxl", passes=50, loras=8, lora_rank=32)


def by_name(rows: tuple[ComparisonRow, ...]) -> dict[str, ComparisonRow]:
    return {r.replica.accelerator: r for r in rows}


def test_rows_are_ordered_by_cost_and_impossible_rows_are_last():
    rows = compare(CHAT, CATALOG)
    costs = [r.usd_per_request.p50 for r in rows if r.usd_per_request]
    assert costs == sorted(costs)
    assert [r.runs for r in rows] == sorted((r.runs for r in rows), reverse=True)
    assert {r.replica.accelerator for r in rows} >= {"NVIDIA T4", "NVIDIA L4", "NVIDIA L40S", "NVIDIA H100 80GB SXM5", "TPU v5e"}


def test_cost_is_price_over_planned_requests():
    row = by_name(compare(CHAT, CATALOG))["NVIDIA L40S"]
    rate = row.replica.requests_per_s
    assert row.usd_per_request.p50 == pytest.approx(row.usd_per_hour / 3600 / (rate.p50 * CHAT.reserve))
    assert row.usd_per_million_tokens.p50 == pytest.approx(row.usd_per_request.p50 / 200 * 1e6)
    assert row.usd_per_request.p10 <= row.usd_per_request.p50 <= row.usd_per_request.p90
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
            assert row.replica.tpot_s <= 0.05
            assert row.replica.ttft_s <= 1.0


def test_a_model_that_is_too_large_has_a_reason():
    rows = by_name(compare(asked("llama-3.1-70b", tokens=(800, 200)), CATALOG))
    assert [r.reason for r in rows["NVIDIA T4"].replica.rejections] == [Reason.NO_CACHE_ROOM]
    (large,) = rows["CPU"].replica.rejections
    assert (large.reason, round(large.need, 1)) == (Reason.CPU_MODEL_SIZE, 70.6)
    assert rows["NVIDIA H100 80GB SXM5"].replica.accelerators >= 2


def test_four_bits_on_a_card_without_them_are_refused_with_the_reason():
    (unsupported,) = replica(replace(CHAT, numbers="fp8"), "NVIDIA T4", Catalog.default()).rejections
    assert "NVIDIA T4 has no fp8 arithmetic" in rejection_text(unsupported)


def test_images_on_t4_l4_and_tpu_are_prior_only_and_reconcile_with_the_report():
    rows = by_name(compare(IMAGES, CATALOG))
    rates = {name: row.replica.requests_per_s for name, row in rows.items() if row.replica.requests_per_s}
    for name in ("NVIDIA T4", "NVIDIA L4", "TPU v5e"):
        assert rates[name].is_prior_only
        assert rates[name].p90 / rates[name].p50 >= 2
    for card, reported in REPORTED:
        ours = rates["TPU v5e"].p50 / rates[card].p50
        assert reported / 2 < ours < reported * 2
    assert rows["TPU v5e"].usd_per_request.p50 < rows["NVIDIA T4"].usd_per_request.p50


def test_adapters_that_are_not_merged_cost_two_thin_matrices():
    assert IMAGES.lora_overhead == pytest.approx(2 * 32 / 1280)
    assert replace(IMAGES, loras=0).lora_overhead == 0
    bare, many = (replica(replace(IMAGES, loras=n), "NVIDIA L4", Catalog.default()).requests_per_s.p50 for n in (0, 8))
    assert bare / many == pytest.approx(1.05)


def test_a_small_model_runs_on_processors_and_is_prior_only():
    row = compare(asked("qwen2.5-1.5b", tokens=(400, 100), tpot_s=0.2), CATALOG)[-1]
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


def test_the_cheapest_machine_is_cheapest_for_its_share():
    def whole(m: Machine) -> bool:
        return m.accelerator == "NVIDIA L4" and m.accelerator_fraction == 1

    found = cheapest(CATALOG, whole, 2)
    assert found
    sold = [
        o
        for o in (query.offer(CATALOG, m, "us-east-1", CapacityMode.ON_DEMAND) for m in CATALOG.machines if whole(m))
        if o.machine.orderable
    ]
    shares = [
        o.price_usd_per_hour / (o.machine.accelerator_count // 2) for o in sold if o.price_usd_per_hour and o.machine.accelerator_count > 1
    ]
    assert found.price_usd_per_hour / (found.machine.accelerator_count // 2) == pytest.approx(min(shares))
    assert cheapest(CATALOG, whole, 64) is None


def test_fewer_accelerators_come_first():
    assert best_replica(CHAT, "NVIDIA H100 80GB SXM5", CATALOG).accelerators == 1
    assert best_replica(CHAT, "NVIDIA L4", CATALOG).accelerators == 2, "one is too slow for 50 ms per token"


def test_a_workload_is_converted_to_the_numbers_of_the_estimator():
    w = Serve.model_validate(
        {
            "name": "chat", "kind": "serve", "model": {"base": "llama-3.1-8b"}, "requests_per_second": 1, "quantization": "fp8",
            "input_tokens": {"mean": 100}, "output_tokens": {"mean": 10}, "loras": {"count": 4}, "engine": "tensorrt-llm",
            "ttft": {"target": "1 s"}, "kv_dtype": "fp8", "prefix_cache_hit_rate": "50 %",
        }
    )  # fmt: skip
    a = service_request(w)
    assert (a.numbers, a.kv_numbers, a.engine, a.ttft_s, a.cached_share, a.loras) == ("fp8", "fp8", "trtllm", 1.0, 0.5, 4)
