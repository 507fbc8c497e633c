"""The stack's resource graph, without a cloud and without the Pulumi CLI: `pytest`."""

from datetime import date
from pathlib import Path

import pytest
from rackwright import check, compile_plan, load, size
from rackwright_pulumi import declare, record

SPEC = Path(__file__).parents[1] / "stacks" / "dev.yaml"
TODAY = date.fromisoformat("{{ today }}")  # times to live are counted from here


@pytest.fixture(scope="module")
def stack():
    spec = load(SPEC)
    plan = size(spec, today=TODAY)
    return compile_plan(spec, plan, plan.fits[0], today=TODAY)


@pytest.fixture(scope="module")
def graph(stack):
    return record(lambda: declare(stack) and None)


def test_no_cloud_would_refuse_it(stack):
    assert [problem for problem in check(stack) if problem.level == "error"] == []


def test_it_builds_one_machine(graph):
    assert graph.one("aws:ec2/instance:Instance")


def test_nothing_is_reachable_from_the_internet(graph):
    rules = graph.by_type("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")
    assert "0.0.0.0/0" not in [rule.inputs.get("cidrIpv4") for rule in rules]
