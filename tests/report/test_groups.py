"""One line for one choice, and a runner-up that is an alternative."""

from dataclasses import replace

from rackwright.report.groups import cheapest, groups, region, runner_up
from rackwright.sizing.plan import Rejected
from rackwright.sizing.rejection import Limit, Rejection

from tests import plans

HERE = plans.fit(plans.candidate("p5.48xlarge", "NVIDIA H100 80GB SXM5", 8, 4), 20)


def elsewhere(fit, place: str, **more):
    return replace(fit, candidate=replace(fit.candidate, region=place, **more))


def test_regions_at_one_price_share_a_line_and_keep_their_ranks():
    other = plans.fit(plans.candidate("p4d.24xlarge", "NVIDIA A100 40GB SXM4", 8, 8), 20)
    found = groups([HERE, other, elsewhere(HERE, "us-west-2", price_region="us-west-2")])
    assert [(group.rank, group.elsewhere) for group in found] == [(1, "also #3 us-west-2"), (2, "")]


def test_another_price_is_another_line():
    dearer = replace(elsewhere(HERE, "us-west-2"), cost_usd=plans.fit(HERE.candidate, 20).cost_usd.times(2))
    assert len(groups([HERE, dearer])) == 2


def test_a_borrowed_price_is_said():
    assert region(elsewhere(HERE, "us-east-2", price_region="us-east-1").candidate) == "us-east-2 at the price of us-east-1"


def test_the_runner_up_has_other_machines_where_there_are_any():
    twin = elsewhere(HERE, "us-west-2")
    more = replace(HERE, candidate=replace(HERE.candidate, nodes=8))
    other = plans.fit(plans.candidate("p4d.24xlarge", "NVIDIA A100 40GB SXM4", 8, 8), 20)
    assert runner_up([HERE, more, twin, other]) == (4, other)
    assert runner_up([HERE, more, twin]) == (3, twin)
    assert runner_up([HERE, more]) == (2, more)
    assert runner_up([HERE]) is None


def test_the_cheapest_rejected_needs_a_cost():
    why = (Rejection(Limit.DEADLINE, 2, 1, "h"),)
    unknown, dear, cheap = (Rejected(HERE.candidate, why, cost_usd=cost) for cost in (None, 9.0, 3.0))
    assert cheapest([unknown, dear, cheap]) is cheap
    assert cheapest([unknown]) is None
