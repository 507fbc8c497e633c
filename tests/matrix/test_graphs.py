"""Resource graphs of a pairwise cover of the matrix satisfy every resource rule of AWS."""

import pytest
from rackwright_pulumi import record
from rackwright_pulumi.policies import broken
from rackwright_pulumi.program.build import declare

from tests.matrix.cover import pairwise

COVER = pairwise()


def name(cell):
    return f"{cell.shape}-{cell.machine}-{cell.mode}".replace(" ", "-").replace(",", "")


def graph_of(cell):
    return record(lambda: declare(cell.plan) and None, stack="matrix")


@pytest.mark.parametrize("cell", COVER, ids=name)
def test_graph_satisfies_every_rule(cell):
    graph = graph_of(cell)
    assert [str(problem) for problem in broken(graph)] == []
    assert graph.unregistered() == []


@pytest.mark.parametrize("cell", COVER[::10], ids=name)
def test_a_preview_declares_the_same_resources_as_an_update(cell):
    first = record(lambda: declare(cell.plan) and None, stack="matrix", preview=True)
    assert set(first.nodes) == set(graph_of(cell).nodes)


def test_the_cover_has_every_blueprint_and_mode():
    assert {cell.shape for cell in COVER} == {
        "box",
        "training cluster",
        "fleet, Karpenter",
        "fleet, node groups",
        "fleet, two machines a replica",
    }
    assert len({cell.mode for cell in COVER}) == 5
