"""Resource graphs of a pairwise cover of the matrix satisfy every resource rule of AWS."""

from functools import cache

import pytest
from rackwright_pulumi import record
from rackwright_pulumi.policies import broken
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.testing import Graph

from tests.matrix.cover import families, family, pairwise

EVERY_TENTH = 10
"""Step between the cells whose previews are recorded."""


def graph_of(number: int, preview: bool = False) -> Graph:
    return record(lambda: declare(pairwise()[number].plan) and None, stack="matrix", preview=preview)


@cache
def findings(number: int) -> tuple[list[str], list[str], set[str]]:
    """Violations of a cell's graph, its components without outputs, and its URNs: a graph of every cell is too large to keep."""
    graph = graph_of(number)
    return list(map(str, broken(graph))), [node.label for node in graph.unregistered()], set(graph.nodes)


def numbers(of: str) -> list[int]:
    """Positions in the cover of the cells of a family."""
    return [number for number, cell in enumerate(pairwise()) if family(cell.machine) == of]


@pytest.mark.parametrize("name", families())
def test_graphs_satisfy_every_rule(name):
    for number in numbers(name):
        violations, unregistered, _ = findings(number)
        assert (violations, unregistered) == ([], []), pairwise()[number].outcome


@pytest.mark.parametrize("name", families())
def test_a_preview_declares_the_same_resources_as_an_update(name):
    for number in numbers(name):
        if number % EVERY_TENTH == 0:
            assert set(graph_of(number, preview=True).nodes) == findings(number)[2], pairwise()[number].outcome


def test_the_cover_has_every_blueprint_and_mode():
    assert {cell.shape for cell in pairwise()} == {
        "box",
        "training cluster",
        "fleet, Karpenter",
        "fleet, node groups",
        "fleet, two machines a replica",
    }
    assert len({cell.mode for cell in pairwise()}) == 5
    assert {family(cell.machine) for cell in pairwise()} <= set(families())
