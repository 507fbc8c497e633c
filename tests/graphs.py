"""Resource graphs of the plans in tests.plans and tests.own_plans, recorded once. Tests that change a graph record their own."""

from functools import cache

from rackwright_pulumi.program.build import declare
from rackwright_pulumi.testing import Graph, record

from tests import own_plans, plans

PLANS = plans.ALL | plans.NODES | plans.FLEETS | plans.GKE | own_plans.OWN


@cache
def graph_of(name: str, preview: bool = False) -> Graph:
    plan = PLANS[name]()
    return record(lambda: declare(plan) and None, preview=preview)
