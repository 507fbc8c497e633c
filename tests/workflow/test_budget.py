"""The budget covers the whole bill: a plan that is chosen keeps it at p50 and p80, and a machine without a price never does."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rackwright.cost.bill import bill, total_interval
from rackwright.sizing.evaluation.evaluate import p80
from rackwright.sizing.rejection import Limit, Reason
from rackwright.spec import read
from rackwright.spec.spec import Spec
from rackwright.wording.rejections import rejection_text
from rackwright.workflow.pipeline import Pipeline

from tests.sizing.helpers import AWS, BOTH, GCP, finetune, serve

TODAY = date(2026, 11, 21)


def pipeline(workload: str, *places: str, goals: str = "{}", more: str = "") -> Pipeline:
    head = f"api_version: rackwright/v1\nname: test\nworkloads: [{workload}]\ngoals: {goals}\n"
    return Pipeline.of_spec(read(f"{head}infra: {{any_of: [{', '.join(places or (AWS,))}]}}\n{more}"), TODAY)


def budget(spec: Spec) -> float:
    assert spec.goals.max_cost is not None
    return spec.goals.max_cost


def test_the_whole_bill_is_compared_with_the_budget_at_p80():
    found = next(f for f in pipeline(finetune("llama-3.1-70b", "none"), goals="{max_cost: 10000 USD}").plan.fits if f.candidate.nodes > 1)
    machines = p80(found.cost_usd)
    tight = pipeline(finetune("llama-3.1-70b", "none"), goals=f"{{max_cost: {machines * 1.001:.2f} USD}}").plan
    missed = next(r for r in tight.rejected if r.candidate == found.candidate)
    (over,) = missed.rejections
    assert (over.limit, over.reason, over.detail) == (Limit.BUDGET, Reason.BUDGET_OF_BILL, "the run")
    assert over.need > machines == pytest.approx(over.amount)
    assert over.p50 > found.cost_usd.p50
    parts = f"p80 of the estimate, p50 {over.p50:,.1f} USD; the whole bill of the run, of it {machines:,.2f} for these machines"
    assert rejection_text(over).endswith(f"({parts})")


def test_a_server_pays_its_control_plane_and_network_from_the_budget():
    at = pipeline(serve(rate=4), GCP, more="blueprint: {kind: inference-fleet}")
    chosen = at.plan.chosen
    total = at.preview().bill.total_usd
    assert total > chosen.cost_usd.p50
    between = pipeline(serve(rate=4), GCP, goals=f"{{max_cost: {(total + chosen.cost_usd.p50) / 2:.0f} USD}}")
    missed = next(r for r in between.plan.rejected if r.candidate.label == chosen.candidate.label)
    assert [r.reason for r in missed.rejections] == [Reason.BUDGET_OF_BILL]
    assert "(the whole bill of a month, of it " in rejection_text(missed.rejections[0])


def test_a_pin_overrules_the_budget_of_the_whole_bill():
    place = AWS.replace("regions", "pin: {instance: p5.48xlarge, nodes: 2}, regions")
    machines = p80(pipeline(finetune(), place).plan.chosen.cost_usd)
    plan = pipeline(finetune(), place, goals=f"{{max_cost: {machines * 1.001:.2f} USD}}").plan
    assert [r.reason for r in plan.chosen.overruled] == [Reason.BUDGET_OF_BILL]


def test_the_total_at_p50_is_the_bill():
    at = pipeline(finetune("llama-3.1-70b", "none"))
    shown = at.preview()
    interval = total_interval(shown.stack, at.plan.chosen, at.spec, at.catalog)
    assert interval.p50 == pytest.approx(bill(shown.stack, at.plan.chosen, at.spec, at.catalog).total_usd)
    assert interval.p10 < interval.p50 < interval.p90


WORK = st.one_of(
    st.builds(finetune, st.sampled_from(["llama-3.1-8b", "mistral-7b", "llama-3.1-70b"]), st.sampled_from(["lora", "qlora", "none"])),
    st.builds(serve, st.just("llama-3.1-8b"), st.sampled_from([1.0, 10.0, 40.0])),
)
SPEND = st.sampled_from([2, 5, 8, 12, 20, 45, 90, 200, 900, 1500, 3000, 5500, 6000, 9000, 20000])
STORAGE = st.sampled_from(["", "blueprint: {storage: none}", "blueprint: {storage: {lustre: {capacity: 12000 GiB}}}"])


@settings(max_examples=25, deadline=None)
@given(WORK, st.sampled_from([AWS, BOTH, GCP]), SPEND, st.sampled_from(["cost", "time", "balanced"]), STORAGE)
def test_a_chosen_plan_never_breaks_its_budget(workload, place, usd, objective, storage):
    more = "" if place == GCP or "serve" in workload else storage
    at = pipeline(workload, place, goals=f"{{max_cost: {usd} USD, optimize_for: {objective}}}", more=more)
    if not at.plan.fits:
        assert all(r.rejections for r in at.plan.rejected)
        return
    shown = at.preview()
    assert at.plan.chosen.cost_usd is not None
    if shown.stack is None:
        assert p80(at.plan.chosen.cost_usd) <= budget(at.spec)
        return
    assert shown.bill.total_usd <= budget(at.spec)
    assert p80(total_interval(shown.stack, at.plan.chosen, at.spec, at.catalog)) <= budget(at.spec) * (1 + 1e-9)
    assert "V-111" not in {problem.code for problem in shown.problems if "with network, storage" in problem.reason}


@pytest.mark.parametrize("place", [AWS, GCP])
def test_a_rate_that_the_host_limits_is_compared_with_a_budget(place):
    images = "{name: images, kind: batch, model: {base: vit-l-16}, image: {size: 224}, data: {samples: 1e7}}"
    assert pipeline(images, place, goals="{max_cost: 500 USD}").plan.fits
