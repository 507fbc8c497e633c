"""Tests of the resource graph; they need neither a cloud nor the Pulumi CLI."""

from datetime import date
from pathlib import Path

import pytest
from rackwright import StackPreview, preview
from rackwright_pulumi import declare, record
from rackwright_pulumi.testing import Graph, placeholder_secrets

SPEC = Path(__file__).parents[1] / "stacks" / "dev.yaml"
TODAY = date.fromisoformat("{{ today }}")  # the time to live starts here
MACHINES = (
    "aws:ec2/instance:Instance",
    "aws:ec2/launchTemplate:LaunchTemplate",
    "gcp:container/nodePool:NodePool",
)


@pytest.fixture(scope="module")
def built() -> StackPreview:
    """What `pulumi up` builds: the recorded decision, else the first choice of `rackwright plan`."""
    return preview(SPEC, today=TODAY)


@pytest.fixture(scope="module")
def graph(built: StackPreview) -> Graph:
    stack = built.stack
    assert stack, built.problems
    return record(lambda: declare(stack, secrets=placeholder_secrets(stack)))


def test_stack_breaks_no_rule(built: StackPreview) -> None:
    assert [str(problem) for problem in built.errors] == []


def test_stack_has_machines(graph: Graph) -> None:
    assert any(graph.by_type(kind) for kind in MACHINES)


def test_no_ingress_from_the_internet(graph: Graph) -> None:
    rules = graph.by_type("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")
    assert "0.0.0.0/0" not in [rule.inputs.get("cidrIpv4") for rule in rules]
