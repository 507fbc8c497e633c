"""Groups of fits, runner-up, cheapest rejected candidate."""

from dataclasses import replace

from rackwright.report.groups import cheapest, groups, region, runner_up
from rackwright.sizing.plan import Rejected
from rackwright.sizing.rejection import Limit, Rejection

from tests import plans

HERE = plans.fit(plans.candidate("p5.48xlarge", "NVIDIA H100 80GB SXM5", 8, 4), 20)


def elsewhere(fit, place: str, **more):
    return replace(fit, candidate=replace(fit.candidate, region=place, **more))


def test_regions_with_equal_price_are_one_group_and_keep_their_ranks():
    other = plans.fit(plans.candidate("p4d.24xlarge", "NVIDIA A100 40GB SXM4", 8, 8), 20)
    found = groups([HERE, other, elsewhere(HERE, "us-west-2", price_region="us-west-2")])
    assert [(group.rank, group.elsewhere) for group in found] == [(1, "also #3 us-west-2"), (2, "")]


def test_different_prices_are_different_groups():
    dearer = replace(elsewhere(HERE, "us-west-2"), cost_usd=plans.fit(HERE.candidate, 20).cost_usd.times(2))
    assert len(groups([HERE, dearer])) == 2


def test_region_names_the_region_of_its_price():
    assert region(elsewhere(HERE, "us-east-2", price_region="us-east-1").candidate) == "us-east-2 (price of us-east-1)"


def test_runner_up_prefers_other_machines():
    twin = elsewhere(HERE, "us-west-2")
    more = replace(HERE, candidate=replace(HERE.candidate, nodes=8))
    other = plans.fit(plans.candidate("p4d.24xlarge", "NVIDIA A100 40GB SXM4", 8, 8), 20)
    assert runner_up([HERE, more, twin, other]) == (4, other)
    assert runner_up([HERE, more, twin]) == (3, twin)
    assert runner_up([HERE, more]) == (2, more)
    assert runner_up([HERE]) is None


def test_cheapest_rejected_requires_a_cost():
    why = (Rejection(Limit.DEADLINE, 2, 1, "h"),)
    unknown, dear, cheap = (Rejected(HERE.candidate, why, cost_usd=cost) for cost in (None, 9.0, 3.0))
    assert cheapest([unknown, dear, cheap]) is cheap
    assert cheapest([unknown]) is None
