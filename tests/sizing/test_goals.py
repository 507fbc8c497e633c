"""Time and cost of a plan, and the percentile at which goals are checked."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.metrics import Interval
from rackwright.sizing.plan import Fit
from rackwright.sizing.rejection import Limit
from rackwright.sizing.search.outcome import at_p80
from rackwright.wording.plan_text import fit_warnings
from rackwright.wording.rejections import rejection_text, remedy

from tests.sizing.helpers import AWS, BOTH, GCP, block, finetune, labels, lora, plan, rejection, serve


def test_the_deadline_is_compared_with_p80():
    chosen = lora().chosen
    hours = at_p80(chosen.duration_s.p50, chosen.duration_s.p90 / chosen.duration_s.p50) / 3600
    median = chosen.duration_s.p50 / 3600
    tight = plan(finetune(), AWS, goals=f"{{max_duration: {(hours + median) / 2:.4f}h}}")
    assert chosen.candidate.label not in labels(tight)
    missed = rejection(tight, chosen.candidate.label, Limit.DEADLINE)
    assert missed.need == pytest.approx(hours)
    assert chosen.candidate.label in labels(plan(finetune(), AWS, goals=f"{{max_duration: {hours * 1.001:.4f}h}}"))


def test_remedy_of_a_deadline_works():
    tight = plan(finetune(), AWS, goals="{max_duration: 1h}")
    miss = next(r for r in tight.rejected if [x.limit for x in r.rejections] == [Limit.DEADLINE])
    hours = remedy(miss.rejections[0]).removeprefix("max_duration: ")
    assert miss.candidate.label in labels(plan(finetune(), AWS, goals=f"{{max_duration: {hours}}}"))


def test_serving_costs_a_month_of_730_hours():
    p = plan(serve(), GCP)
    assert p.chosen.cost_usd.p50 == pytest.approx(p.chosen.usd_per_hour * 730)
    assert p.chosen.duration_s is None


def test_cost_is_price_times_time():
    for f in lora().fits:
        assert isinstance(f, Fit)
        assert isinstance(f.cost_usd, Interval)
        assert f.cost_usd.p50 == pytest.approx(f.usd_per_hour * f.duration_s.p50 / 3600)


def test_intervals_are_in_order():
    fits = plan(finetune(), BOTH, GCP).fits
    assert fits
    for f in fits:
        for i in (f.cost_usd, f.duration_s):
            assert i is None or i.p10 <= i.p50 <= i.p90


def test_spot_is_charged_for_its_reclaims():
    p = plan(finetune(), BOTH)
    by_label = {f.candidate.label: f for f in p.fits}
    firm, spot = (by_label[f"8 x p5.48xlarge us-east-1 {mode}"] for mode in ("on-demand", "spot"))
    ran = (spot.duration_s.p50 - DEFAULT.startup_s) / (firm.duration_s.p50 - DEFAULT.startup_s)
    # 8 nodes: one reclaim or fault in 5.96 h, 0.9 % of them faults, so a checkpoint every 11 minutes; firm: a fault in 797 h, 2.1 hours
    lost, firm_lost = 10 / 655 + (655 / 2 + 898) / 21438, 10 / 7575 + (7575 / 2 + 600) / 2868750
    assert ran == pytest.approx((1 - firm_lost) / (1 - lost), rel=1e-3)
    assert (spot.goodput.share, firm.goodput.share) == pytest.approx((0.95 * (1 - lost), 0.95 * (1 - firm_lost)), rel=1e-3)
    assert spot.usd_per_hour < firm.usd_per_hour


def test_discounts_apply_to_list_prices_not_to_spot():
    p = plan(finetune(), BOTH, more="pricing: {discounts: {aws: 50 %}}")
    full = {f.candidate.label: f.usd_per_hour for f in plan(finetune(), BOTH).fits}
    for f in p.fits:
        share = 0.5 if f.candidate.capacity == "on-demand" else 1
        assert f.usd_per_hour is None or f.usd_per_hour == pytest.approx(full[f.candidate.label] * share)


def test_unpublished_prices_rank_last_with_a_note():
    p = plan(finetune(), AWS.replace("us-east-1", "us-east-2"))
    unpriced = [f for f in p.fits if f.cost_usd is None]
    assert {f.candidate.machine for f in unpriced} == {"p5e.48xlarge"}
    single = [f for f in p.fits if f.cost_usd is None or f.candidate.nodes == 1]
    assert p.fits[-len(unpriced) :] == tuple(unpriced)
    assert len(single) > len(unpriced)
    assert all(fit_warnings(f)[0].startswith("The price of p5e") for f in unpriced)


def test_unpublished_prices_never_satisfy_a_budget():
    here = AWS.replace("us-east-1", "us-east-2")
    p = plan(finetune(), here, goals="{max_cost: 1000 USD}")
    assert all(f.cost_usd for f in p.fits)
    missed = rejection(p, "1 x p5e.48xlarge us-east-2 on-demand", Limit.PRICE)
    words = "price: the price of p5e.48xlarge on-demand in us-east-2 is not published, so max_cost cannot be checked"
    assert rejection_text(missed) == words
    assert remedy(missed) == "a region or capacity mode with a published price, or no max_cost"
    pinned = plan(finetune(), here.replace("regions", "pin: {instance: p5e.48xlarge, nodes: 1}, regions"), goals="{max_cost: 1000 USD}")
    assert [r.limit for r in pinned.chosen.overruled] == [Limit.PRICE]


def test_a_capacity_block_is_paid_whole_and_ends_early():
    job = finetune(base="llama-3.1-70b", adapter="none", more="team: nlp").replace("samples: 20000", "samples: 1000000")
    long = plan(job, block(48)).chosen
    assert (long.candidate.nodes, long.candidate.capacity, long.candidate.capacity_id) == (4, "capacity-block", "cr-0123456789abcdef0")
    assert long.cost_usd.p10 == long.cost_usd.p90 == pytest.approx(long.usd_per_hour * 48)
    need_h = at_p80(long.duration_s.p50, long.duration_s.p90 / long.duration_s.p50) / 3600
    assert plan(job, block(need_h + 0.6)).fits
    missed = plan(job, block(need_h + 0.4))
    assert missed.fits == ()
    assert rejection(missed, "4 x p5.48xlarge us-east-1 capacity-block cr-0123456789abcdef0", Limit.RUN_LIMIT).have == pytest.approx(
        need_h - 0.1, abs=0.01
    )


@cache
def at_budget(dollars: int) -> frozenset[str]:
    return frozenset(labels(plan(finetune(), AWS, goals=f"{{max_cost: {dollars} USD}}")))


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 400), st.integers(1, 400))
def test_a_bigger_budget_never_loses_a_fit(one, other):
    assert at_budget(min(one, other)) <= at_budget(max(one, other))


@cache
def within(hours: int) -> frozenset[str]:
    return frozenset(labels(plan(finetune(base="llama-3.1-70b", adapter="none"), AWS, goals=f"{{max_duration: {hours}h}}")))


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60))
def test_a_later_deadline_never_loses_a_fit(one, other):
    assert within(min(one, other)) <= within(max(one, other))
