"""Cost and revenue of serving: properties over load, replicas and revenue, and results of a spec."""

import math
import re
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rackwright import size
from rackwright.catalog import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.report.terminal.economics import economics_lines, loads
from rackwright.sizing.economics import formulas
from rackwright.sizing.economics.formulas import TRAFFIC_ASSUMPTIONS, ServiceCost
from rackwright.sizing.economics.serving import Economics, economics_of
from rackwright.sizing.note import NoteKind
from rackwright.spec import read
from rackwright.spec.spec import Spec
from rackwright.units import HOUR
from rackwright.wording.plan_text import economics_with_text

from tests.sizing.helpers import AWS, GCP, TODAY, finetune, serve

PRICES, RATES = st.floats(0.1, 100), st.floats(0.01, 100)
SERVICES = st.builds(ServiceCost, RATES, PRICES, st.floats(1, 2000), st.integers(0, 3), st.sampled_from([1, 2, 8]))
PLENTY = st.floats(0.001, 1000)


def spec_of(workload: str, place: str = AWS) -> Spec:
    return read(f"api_version: rackwright/v1\nname: t\nworkloads: [{workload}]\ninfra: {{any_of: [{place}]}}")


def found(workload: str) -> Economics:
    spec = spec_of(workload)
    made = economics_of(spec, size(spec, today=TODAY), Catalog.default())
    assert made
    return made


@given(SERVICES, st.floats(0.01, 0.99), st.floats(1.01, 10))
def test_cost_per_token_falls_with_load_until_the_machines_are_full(s, share, more):
    full = s.requests_per_s * s.copies * s.least_machines
    low, high = full * share, min(full * share * more, full)
    assume(high > low * 1.001)
    assert s.usd_per_million_tokens(low) > s.usd_per_million_tokens(high) >= formulas.per_million(s.full_usd_per_request, s.output_tokens)


@given(SERVICES, PLENTY)
def test_a_request_never_costs_less_than_on_full_machines(s, rate):
    whole = ServiceCost(s.requests_per_s, s.usd_per_hour, s.output_tokens, 1, s.copies)
    assert s.usd_per_request(rate) >= whole.usd_per_hour / (HOUR * s.requests_per_s * s.copies) * (1 - 1e-9)


@given(SERVICES, PLENTY, st.floats(1, 10))
def test_replicas_never_fall_as_traffic_grows(s, rate, more):
    assert s.replicas(rate * more) >= s.replicas(rate) >= max(s.least, 1)
    assert s.replicas(rate) * s.requests_per_s >= rate * (1 - 1e-9)


@given(SERVICES, PLENTY, st.floats(1.01, 10))
def test_cost_grows_with_price(s, rate, dearer):
    more = ServiceCost(s.requests_per_s, s.usd_per_hour * dearer, s.output_tokens, s.least, s.copies)
    assert more.usd_per_request(rate) > s.usd_per_request(rate)
    low, high = (formulas.month(x, rate, rate, 0.2, 1e9) for x in (s, more))
    assert high.follows_usd >= low.follows_usd


@given(SERVICES, PLENTY)
def test_cost_per_token_times_tokens_is_the_cost_of_the_machines(s, rate):
    tokens = rate * HOUR * s.output_tokens
    assert s.usd_per_million_tokens(rate) * tokens / 1e6 == pytest.approx(s.usd_an_hour(rate))


@given(SERVICES, st.floats(1.001, 100))
def test_at_break_even_revenue_equals_the_cost_of_the_machines(s, generous):
    earned = s.full_usd_per_request * generous
    rate = formulas.break_even_requests_per_s(s, earned)
    assert rate is not None
    assert rate * HOUR * earned == pytest.approx(s.usd_an_hour(rate))


@given(SERVICES, st.floats(0.01, 0.999))
def test_revenue_below_the_cost_of_a_full_replica_has_no_break_even(s, share):
    assert formulas.break_even_requests_per_s(s, s.full_usd_per_request * share) is None


@given(SERVICES, PLENTY, st.floats(0, 0.9))
def test_scale_to_zero_never_costs_more_than_one_kept_warm(s, mean, idle):
    m = formulas.month(s, mean, mean * 2, idle, 1e9)
    assert m.follows_usd <= m.kept_warm_usd * (1 + 1e-9)


@given(PLENTY, st.floats(1, 20), st.floats(0, 0.9))
def test_loads_of_a_month_keep_their_mean_and_stay_below_the_busiest(mean, peak, idle):
    loads = formulas.busy_loads(mean, mean * peak, idle)
    busy = min(mean / (1 - idle), mean * peak)
    assert max(loads) <= mean * peak * (1 + 1e-9)
    assert sum(loads) / len(loads) == pytest.approx(busy, rel=1e-3)


def test_zero_traffic_on_zero_replicas_costs_nothing_and_has_no_cost_per_request():
    s = ServiceCost(1.0, 4.0, 100.0, least=0)
    assert s.usd_an_hour(0) == 0
    assert s.usd_per_request(0) is None
    assert formulas.month(s, 0, 0, 0, 1e9).follows_usd == 0


def test_one_gpu_of_four_dollars_at_a_thousand_tokens_a_second():
    """4 USD / 3.6 million tokens."""
    s = ServiceCost(10.0, 4.0, 100.0)
    assert s.usd_per_million_tokens(10) == pytest.approx(4 / 3.6)
    assert s.usd_per_million_tokens(5) == pytest.approx(8 / 3.6)
    assert s.usd_per_million_tokens(10.01) == pytest.approx(8 / 3.6036)
    assert formulas.month(s, 5, 10, 0, 0).follows_usd == pytest.approx(4 * 730)


def test_a_machine_costs_its_full_price_at_any_load():
    s = ServiceCost(1.0, 8.0, copies=8)
    assert s.usd_an_hour(1) == s.usd_an_hour(8) == 8
    assert s.usd_an_hour(8.5) == 16


def test_without_a_price_the_cost_is_unknown():
    s = ServiceCost(1.0, None, 100.0)
    assert (s.usd_an_hour(1), s.usd_per_request(1), s.usd_per_million_tokens(1), s.full_usd_per_request) == (None,) * 4
    assert formulas.month(s, 1, 2, 0, 0).follows_usd is None
    made = formulas.returns(s, 1.0, 1, None, 1000)
    assert made
    assert (made.margin_usd_per_month, made.break_even_requests_per_s, made.pay_back_s, made.pays_month_s) == (None,) * 4


def test_no_revenue_no_pay_back():
    assert formulas.returns(ServiceCost(1.0, 4.0), None, 1, 2920, 1000) is None


def test_only_a_positive_margin_has_a_pay_back_time():
    s = ServiceCost(1.0, 4.0)
    month_s = TRAFFIC_ASSUMPTIONS.month_h * HOUR
    loss = formulas.returns(s, 0.0001, 1, 2920, 1000)
    assert loss
    assert loss.margin_usd_per_month < 0
    assert (loss.pay_back_s, loss.pays_month_s) == (None, None)
    gain = formulas.returns(s, 2 * 2920 / month_s, 1, 2920, 2920)
    assert gain
    assert gain.pay_back_s == pytest.approx(month_s)
    assert gain.pays_month_s == pytest.approx(month_s / 2)


def test_a_cold_start_reads_the_weights():
    assert formulas.cold_start_s(140e9) - formulas.cold_start_s(0) == pytest.approx(140)


def test_a_cold_start_reads_over_the_baseline_of_the_network():
    """A g6e.xlarge bursts to 20 Gbit/s; its baseline of 2.5 Gbit/s reads 140 GB in 448 s, and pulls no slower than assumed."""
    rate = Catalog.default().machine("g6e.xlarge").sustained_network_bytes_per_s
    assert formulas.cold_start_s(140e9, rate) - formulas.cold_start_s(0, rate) == pytest.approx(140e9 / 312.5e6)
    assert formulas.cold_start_s(0, rate) == formulas.cold_start_s(0)
    place = "{cloud: aws, regions: [us-east-1], pin: {instance: %s}}"
    starts = []
    for name in ("g6e.xlarge", "g6e.48xlarge"):
        spec = spec_of(serve("llama-3.1-8b", 2), place % name)
        starts.append(economics_of(spec, size(spec, today=TODAY), Catalog.default()).month.cold_start_s)
    assert starts[0] > starts[1] + 20


def test_the_curve_runs_through_both_sides_of_every_step():
    points = formulas.curve(ServiceCost(1.0, 4.0, 100.0), 3.0)
    assert [p.requests_per_s for p in points] == sorted(p.requests_per_s for p in points)
    assert {p.replicas for p in points} == {1, 2, 3}
    assert any(math.isclose(p.share, 1) for p in points)


def test_a_spec_with_revenue_and_investment():
    more = "tpot: {target: 50 ms}, revenue: 20 USD / 1M tokens, investment: 5000 USD, mean_requests_per_second: 5"
    e = found(serve(more=more))
    assert e.unit == "token"
    assert e.mean_requests_per_s == 5
    assert e.p95_requests_per_s == 10
    assert e.revenue
    assert e.revenue.earned_usd_per_month == pytest.approx(5 * 200 * 20e-6 * 730 * 3600)
    assert e.revenue.pay_back_s == pytest.approx(5000 / e.revenue.margin_usd_per_month * 730 * 3600)
    assert "break-even at" in dict(economics_lines(e))["revenue"]


def test_a_spec_without_revenue_gives_a_note():
    e = found(serve(more="tpot: {target: 50 ms}"))
    assert e.revenue is None
    assert e.mean_requests_per_s == pytest.approx(10 / TRAFFIC_ASSUMPTIONS.peak_to_mean)
    assert "No revenue is set, so break-even and pay-back time are not computed" in economics_with_text(e).warnings
    assert "peak_to_mean" in {i.name for i in e.assumptions}


def test_replicas_of_p95_are_those_of_the_plan():
    spec = spec_of(serve(rate=60, more="tpot: {target: 50 ms}"), GCP)
    plan = size(spec, today=TODAY)
    e = economics_of(spec, plan, Catalog.default())
    assert e
    assert plan.chosen
    assert e.p95_point.replicas == plan.chosen.candidate.replicas


CHAT = serve(more="tpot: {target: 50 ms, percentile: 95}, ttft: {target: 1 s, percentile: 95}, max_context: 8192")


def test_of_equal_servers_the_smaller_machines_come_first():
    plan = size(spec_of(CHAT, GCP), today=TODAY)
    equal = [f for f in plan.fits if f.usd_per_hour == plan.fits[0].usd_per_hour]
    sizes = [f.candidate.accelerators_per_node for f in equal]
    assert len(set(sizes)) > 1
    assert sizes == sorted(sizes)


def test_a_fit_that_is_cheaper_with_autoscaling_gives_a_note():
    """Two replicas at p95 and one most of the time: a machine for two is billed in full."""
    spec = spec_of(CHAT, GCP)
    plan = size(spec, today=TODAY)
    small, large = plan.fits[0], next(f for f in plan.fits if f.candidate.accelerators_per_node > 1)
    assert small.usd_per_hour == large.usd_per_hour
    best = economics_of(spec, plan, Catalog.default())
    other = economics_of(spec, replace(plan, fits=(large, small)), Catalog.default())
    assert best
    assert other
    assert (best.month.follows_usd or 0) < 0.7 * (other.month.follows_usd or 0)
    assert best.month.fixed_usd == other.month.fixed_usd == pytest.approx(small.cost_usd and small.cost_usd.p50)
    assert NoteKind.CHEAPER_WITH_AUTOSCALING not in {note.kind for note in best.notes}
    (note,) = (note for note in other.notes if note.kind is NoteKind.CHEAPER_WITH_AUTOSCALING)
    assert note.values["machines"] == small.candidate.label
    assert "its full price is paid" in dict(economics_lines(other))["machine"]


def test_without_break_even_cost_and_revenue_of_full_machines_are_shown():
    e = found(serve(more="tpot: {target: 50 ms}, revenue: 0.01 USD / 1M tokens"))
    assert re.search(r"full machines cost [\d.]+ and earn 0.01 USD per million output tokens", dict(economics_lines(e))["revenue"])


def test_scale_to_zero_shows_its_saving_and_the_cold_start():
    more = "tpot: {target: 50 ms}, min_replicas: 0, scale_to_zero: true, idle: 40 %"
    words = dict(economics_lines(found(serve(rate=1, more=more))))["zero"]
    assert words.startswith("scales to zero: ")
    assert "a month less than one warm replica" in words
    assert " min" in words


def test_training_has_no_serving_economics():
    with pytest.raises(UserError, match="economics needs kind: serve, not finetune"):
        found(finetune())


@pytest.mark.parametrize(
    ("workload", "used"),
    [
        ("model: {base: sdxl}, image: {size: 1024, steps: 30}", {"encode_s"}),
        ("model: {base: sdxl}, image: {size: 1024}", {"denoising_passes", "encode_s"}),
        ("model: {base: resnet-50}, image: {size: 224}", {"inference_decode_bytes_per_s"}),
        ("model: {base: whisper-large-v3}, audio: {seconds: 30}", set()),
        ("model: {base: bert-base}, sequence_length: 256", {"tokens_per_s"}),
        ("model: {base: llama-3.1-8b}, input_tokens: {mean: 500}, output_tokens: {mean: 100}", set()),
    ],
)
def test_only_assumptions_that_were_used_are_shown(workload, used):
    """50 denoising steps were shown although image.steps was set, and for models that denoise nothing."""
    made = found(f"{{name: a, kind: serve, {workload}, requests_per_second: 2, mean_requests_per_second: 1}}")
    names = [item.name for item in made.assumptions]
    questionable = {"denoising_passes", "peak_to_mean", "encode_s", "inference_decode_bytes_per_s", "tokens_per_s"}
    assert set(names) & questionable == used
    assert len(set(names)) == len(names)


def test_a_disaggregated_service_has_the_planned_replicas_alone():
    """Economics counted both pools as one replica: 1.26 USD of one L40S, where the plan needs a prefill and two decode replicas."""
    goals = "ttft: {target: 2 s, percentile: 95}, tpot: {target: 60 ms, percentile: 95}"
    workload = serve("llama-3.1-8b", 4, f"{goals}, disaggregation: auto")
    spec = spec_of(workload, AWS)
    found = size(spec, today=TODAY)
    e = economics_of(spec, found, Catalog.default())
    c = found.chosen.candidate
    assert {point.replicas for point in (e.mean_point, e.p95_point, *e.curve)} == {c.replicas}
    assert (e.month.follows_usd, e.month.fixed_usd) == pytest.approx((found.chosen.cost_usd.p50,) * 2)
    assert e.comparison == ()
    assert [row[0] for row in loads(e)] == ["4 (p95)"]
    assert NoteKind.POOLS_NOT_SCALED in {note.kind for note in e.notes}
    assert "no autoscaling is computed" in dict(economics_lines(e))["month"]
