"""Resource graphs of plans, recorded once in a process. A test that changes a graph, or what a program does, records its own."""

from functools import cache

from rackwright.stackplan import StackPlan
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.testing import Graph, record

from tests import gce_plans, gke_plans, own_plans, plans

PLANS = plans.ALL | plans.NODES | plans.FLEETS | gke_plans.GKE | gce_plans.GCE | own_plans.OWN
RECORDED: dict[tuple, Graph] = {}


def recorded(plan: StackPlan, *, stack: str = "test", preview: bool = False, teardown: bool = False) -> Graph:
    """The graph of a plan, or of an equal one before it."""
    key = (repr(plan), stack, preview, teardown)
    if key not in RECORDED:
        RECORDED[key] = record(lambda: declare(plan, teardown=teardown) and None, stack=stack, preview=preview)
    return RECORDED[key]


@cache
def graph_of(name: str, preview: bool = False) -> Graph:
    return recorded(PLANS[name](), preview=preview)
