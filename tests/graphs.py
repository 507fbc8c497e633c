"""Resource graphs of the plans in tests.plans, recorded once in a process. Tests that change a graph record their own."""

from functools import cache

from rackwright_pulumi.program.build import declare
from rackwright_pulumi.testing import Graph, record

from tests import plans
from tests.own_plans import OWN

PLANS = plans.ALL | plans.NODES | plans.FLEETS | OWN


@cache
def graph_of(name: str, preview: bool = False) -> Graph:
    plan = PLANS[name]()
    return record(lambda: declare(plan) and None, preview=preview)
