"""The stack's resource graph, without a cloud: `pytest`."""

from datetime import date
from pathlib import Path

from rackwright import compile_plan, load, size
from rackwright_pulumi import declare, record

SPEC = Path(__file__).parents[1] / "stacks" / "dev.yaml"


def test_nothing_is_reachable_from_the_internet():
    spec = load(SPEC)
    today = date(2026, 11, 21)
    plan = size(spec, today=today)
    stack = compile_plan(spec, plan, plan.fits[0], today=today)
    graph = record(lambda: declare(stack) and None)
    assert graph.by_type("aws:ec2/instance:Instance"), "the plan builds a machine"
    assert not graph.by_type("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")
