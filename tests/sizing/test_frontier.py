"""The frontier of cost and time: no candidate dominates a point of it, every other candidate is dominated, and each point shows its
trade-off."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.sizing.metrics import Interval
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.sizing.rejection import Limit, Rejection
from rackwright.sizing.selection.frontier import Role, frontier
from rackwright.wording.rationale import compared_with

from tests import plans
from tests.sizing.helpers import AWS, BOTH, finetune, plan, serve

HERE = plans.fit(plans.candidate("p5.48xlarge", "NVIDIA H100 80GB SXM5", 8, 1), 10)
BASE = plans.sizing(HERE, plans.box_case()[1].facts)


def made(cost: float | None, hours: float, nodes: int = 1, **more) -> Fit:
    money = None if cost is None else Interval(0.9 * cost, cost, 1.1 * cost)
    time = Interval(3000 * hours, 3600 * hours, 4200 * hours)
    return replace(HERE, candidate=replace(HERE.candidate, nodes=nodes), cost_usd=money, duration_s=time, **more)


def of(*fits: Fit) -> SizingPlan:
    return replace(BASE, fits=fits)


def beats(one: Fit, other: Fit) -> bool:
    better = one.cost_usd.p50 < other.cost_usd.p50 or one.time_s < other.time_s
    return better and one.cost_usd.p50 <= other.cost_usd.p50 and one.time_s <= other.time_s


some = st.builds(made, st.floats(1, 1e4), st.floats(0.1, 1e3))
several = st.lists(some, min_size=1, max_size=30)


@given(several)
def test_no_point_is_dominated_and_every_other_fit_is(fits):
    front = of(*fits).frontier
    assert front
    assert not any(beats(a, b) for a in fits for b in front)
    for fit in fits:
        assert any(fit is f for f in front) or any(f.cost_usd.p50 <= fit.cost_usd.p50 and f.time_s <= fit.time_s for f in front)


@given(several, st.floats(0, 100), st.floats(0, 10), st.integers(0, 1000))
def test_a_dominated_candidate_does_not_change_the_frontier(fits, dearer, slower, place):
    front = of(*fits).frontier
    like = front[place % len(front)]
    worse = made(like.cost_usd.p50 + dearer, (like.time_s / 3600 + slower) * 1.0001)
    assert of(*fits, worse).frontier == front


@given(several)
def test_points_are_ordered_by_cost_and_by_falling_time(fits):
    front = of(*fits).frontier
    assert all(a.cost_usd.p50 < b.cost_usd.p50 and a.time_s > b.time_s for a, b in pairwise(front))


@given(several, st.randoms())
def test_the_order_of_fits_does_not_change_the_frontier(fits, random):
    shuffled = list(fits)
    random.shuffle(shuffled)
    points = [[(f.cost_usd.p50, f.time_s) for f in of(*order).frontier] for order in (fits, shuffled)]
    assert points[0] == points[1]


@given(several, st.floats(1.0, 3.0))
def test_a_higher_price_never_lowers_the_lowest_cost(fits, factor):
    raised = [replace(f, cost_usd=f.cost_usd.times(factor)) for f in fits]
    assert of(*raised).frontier[0].cost_usd.p50 >= of(*fits).frontier[0].cost_usd.p50
    assert [f.time_s for f in of(*raised).frontier] == [f.time_s for f in of(*fits).frontier]


def test_fits_without_a_price_or_with_overruled_goals_are_excluded():
    late = made(1.0, 1.0, overruled=(Rejection(Limit.BUDGET, 2, 1, "USD"),))
    kept, unpriced = made(5.0, 5.0), made(None, 0.5)
    assert of(late, kept, unpriced).frontier == (kept,)
    assert of(late).frontier == (late,)
    assert of(unpriced).frontier == ()


def test_waiting_in_a_queue_is_time_and_costs_nothing():
    queued = made(5.0, 4.0, wait_s=Interval(1800.0, 7200.0, 43200.0))
    assert queued.finish_s.p50 == 6 * 3600
    assert of(made(5.0, 5.0), queued).frontier == (made(5.0, 5.0),)


def test_the_cheapest_and_fastest_points_are_compared_with_the_choice():
    chosen, cheap, fast = made(100.0, 10.0), made(80.0, 12.0, nodes=2), made(150.0, 4.0, nodes=4)
    found = {role: pick for pick in frontier(of(chosen, cheap, fast)) for role in pick.roles}
    assert [p.rank for p in frontier(of(chosen, cheap, fast))] == [2, 1, 3]
    assert compared_with(found[Role.CHEAPEST].fit, chosen) == "20 % more time for 20 % less money"
    assert compared_with(found[Role.FASTEST].fit, chosen) == "60 % less time for 50 % more money"
    assert found[Role.CHOSEN].headroom == pytest.approx(1 - 40 / 80 / 0.9)


def test_a_choice_off_the_frontier_is_shown_with_it():
    found = frontier(of(made(100.0, 10.0), made(50.0, 5.0, nodes=2)))
    assert [(p.rank, p.roles) for p in found] == [(2, (Role.CHEAPEST, Role.FASTEST)), (1, (Role.CHOSEN,))]
    assert compared_with(found[0].fit, found[1].fit) == "50 % less time for 50 % less money"


def test_max_points_keeps_the_ends_and_the_choice():
    fits = [made(100.0 + i, 100.0 / (1 + i)) for i in range(40)]
    found = frontier(of(*reversed(fits)), 5)
    assert len(found) == 5
    assert {role for p in found for role in p.roles} == set(Role)
    assert len(frontier(of(*fits))) == 40


def test_a_plan_without_fits_has_no_frontier():
    assert of().frontier == () == frontier(of())


@pytest.mark.parametrize("job", [finetune(), serve(more="tpot: {target: 50 ms}")])
def test_of_a_real_plan(job):
    p = plan(job, BOTH if "finetune" in job else AWS)
    priced = [f for f in p.fits if f.cost_usd]
    assert p.frontier[0].cost_usd.p50 == min(f.cost_usd.p50 for f in priced)
    assert p.frontier[-1].time_s == min(f.time_s for f in priced)
    assert not any(beats(a, b) for a in priced for b in p.frontier)
    assert all(0 <= f.memory.headroom < 1 for f in p.frontier)
