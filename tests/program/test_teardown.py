"""The program with `rackwright:teardown`: of every example, and of one stack per cloud and blueprint."""

import runpy
from pathlib import Path

import pytest
from rackwright.clouds import profiles
from rackwright_pulumi.testing import Graph, record

from tests.graphs import PLANS, recorded

ROOT = Path(__file__).parents[2]
STACKS = sorted(path.stem for path in (ROOT / "stacks").glob("*.yaml") if not path.name.startswith("Pulumi."))
CONFIG = {"simulated": "true", "today": "2026-11-21", "chatApiKey": "simulated", "embedApiKey": "simulated"}


def program(stack: str, **config: str) -> Graph:
    values = {f"rackwright:{key}": value for key, value in (CONFIG | config).items()}
    return record(lambda: runpy.run_path(str(ROOT / "__main__.py")) and None, stack=stack, config=values)


def check(teardown: Graph, running: Graph) -> None:
    """A teardown declares the same resources, so that none is deleted before the destroy, and protects none."""
    assert {*teardown.nodes} == {*running.nodes}
    assert [node.name for node in running.nodes.values() if node.protect]
    assert not [node.name for node in teardown.nodes.values() if node.protect]


@pytest.mark.parametrize("stack", STACKS)
def test_a_teardown_of_an_example_protects_nothing(stack):
    check(program(stack, teardown="true"), program(stack))


def test_a_teardown_of_each_cloud_and_blueprint_protects_nothing():
    """Modules of a cloud are named by strings, so only a recorded program shows that they exist."""
    shapes = {}
    for name in PLANS:
        plan = PLANS[name]()
        shapes.setdefault((plan.place.cloud, str(plan.kind)), plan)
    assert {*shapes} == {(cloud.name, kind) for cloud in profiles() for kind in cloud.blueprints}
    for plan in shapes.values():
        check(recorded(plan, teardown=True), recorded(plan))
