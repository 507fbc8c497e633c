"""Fixtures for the tests of your own project: `pytest_plugins = ["rackwright_pulumi.testing.fixtures"]` in its conftest.py."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from rackwright.stackplan import StackPlan

from rackwright_pulumi.policies import broken
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.resource_graph import Graph
from rackwright_pulumi.simulator import SimulatedCloud
from rackwright_pulumi.testing.record import record


@pytest.fixture
def graph_of() -> Callable[..., Graph]:
    """`graph_of(plan)`: every resource of a compiled plan, under its own provider. Named arguments are those of `record`."""

    def graph(plan: StackPlan, **given: Any) -> Graph:
        return record(lambda: declare(plan) and None, stack=plan.name, **given)

    return graph


@pytest.fixture
def simulated_cloud(tmp_path: Path) -> SimulatedCloud:
    """An empty AWS, Google Cloud and Kubernetes of this test's own."""
    return SimulatedCloud(tmp_path / "cloud.sqlite")


@pytest.fixture
def lawful() -> Callable[..., None]:
    """`lawful(graph)` fails with every law of AWS and EKS that a recorded program breaks; `acknowledged` leaves warnings out by id."""

    def hold(graph: Graph, acknowledged: Collection[str] = ()) -> None:
        found = broken(graph, acknowledged)
        assert not found, "\n".join(map(str, found))

    return hold
