"""Tests of the resource graph; they need neither a cloud nor the Pulumi CLI."""

from datetime import date
from pathlib import Path

import pytest
from rackwright import check, compile_plan, load, size
from rackwright_pulumi import declare, record

SPEC = Path(__file__).parents[1] / "stacks" / "dev.yaml"
TODAY = date.fromisoformat("{{ today }}")  # the time to live starts here


@pytest.fixture(scope="module")
def stack():
    spec = load(SPEC)
    plan = size(spec, today=TODAY)
    return compile_plan(spec, plan, plan.fits[0], today=TODAY)


@pytest.fixture(scope="module")
def graph(stack):
    return record(lambda: declare(stack) and None)


def test_stack_breaks_no_rule(stack):
    assert [problem for problem in check(stack) if problem.level == "error"] == []


def test_stack_has_one_machine(graph):
    assert graph.one("aws:ec2/instance:Instance")


def test_no_ingress_from_the_internet(graph):
    rules = graph.by_type("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")
    assert "0.0.0.0/0" not in [rule.inputs.get("cidrIpv4") for rule in rules]
