"""Pytest fixtures for your project: add `pytest_plugins = ["rackwright_pulumi.testing.fixtures"]` to conftest.py."""

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
    """`graph_of(plan)` returns the resource graph of a compiled plan. Keyword arguments are those of `record`."""

    def graph(plan: StackPlan, **options: Any) -> Graph:
        return record(lambda: declare(plan), stack=plan.name, **options)

    return graph


@pytest.fixture
def simulated_cloud(tmp_path: Path) -> SimulatedCloud:
    """An empty simulated AWS, Google Cloud and Kubernetes for one test."""
    return SimulatedCloud(tmp_path / "cloud.sqlite")


@pytest.fixture
def lawful() -> Callable[..., None]:
    """`lawful(graph)` fails with every violated rule of AWS and EKS; `acknowledged` lists ids of warnings to leave out."""

    def check(graph: Graph, acknowledged: Collection[str] = ()) -> None:
        found = broken(graph, acknowledged)
        assert not found, "\n".join(map(str, found))

    return check
