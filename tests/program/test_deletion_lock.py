"""A refused destroy takes seconds: number of paths that the engine follows from the lock and from other resources."""

import runpy
from pathlib import Path

import pytest
from rackwright_pulumi.kubernetes.direct import direct_dependencies
from rackwright_pulumi.program.deletion_lock import HOW_TO_DESTROY
from rackwright_pulumi.testing import Graph, record

from tests.components.waits import all_before, calls_of_failed_deletes

ROOT = Path(__file__).parents[2]
STACKS = sorted(path.stem for path in (ROOT / "stacks").glob("*.yaml") if not path.name.startswith("Pulumi."))
LOCK_CALLS = 2_300_000
"""At 1.9 us a call (pulumi 3.272: 5.1e7 calls took 95 s) the engine needs 4.4 s, of 10 s for the whole refusal."""
FURTHER_CALLS = 1_200_000
"""Of each further workload, whose server has 14 objects: 2 s."""
SEVERAL = ("assistant-eks", "llama-70b-gke")
"""The example with two workloads, and the one with eight networks for accelerators."""
CALLS = 400_000
"""0.8 s for any other delete that fails."""


@pytest.fixture(scope="module", params=STACKS)
def graph(request) -> Graph:
    config = {"rackwright:simulated": "true", "rackwright:today": "2026-11-21"}
    config |= {f"rackwright:{key}": "simulated" for key in ("chatApiKey", "embedApiKey")}
    return record(lambda: runpy.run_path(str(ROOT / "__main__.py")) and None, stack=request.param, config=config)


def lock_of(graph: Graph) -> str:
    (lock,) = graph.by_type("rackwright:index:DeletionLock")
    return lock.urn


def test_the_engine_follows_few_paths_from_a_resource_whose_delete_fails(graph):
    lock = lock_of(graph)
    limit = LOCK_CALLS + FURTHER_CALLS * any(node.name.startswith(SEVERAL) for node in graph.nodes.values())
    calls = calls_of_failed_deletes(graph, {urn: limit if urn == lock else CALLS for urn in graph.nodes})
    assert calls[lock] <= limit
    assert not [graph.nodes[urn].label for urn, number in calls.items() if urn != lock and number > CALLS]


def test_a_destroy_deletes_the_lock_before_every_other_resource(graph):
    lock = lock_of(graph)
    assert {node.urn for node in graph.nodes.values() if node.custom and node.provider} <= all_before(graph, lock)


def test_the_refusal_contains_the_commands_that_destroy_the_stack(graph):
    """The engine's message has the name of the resource, and otherwise only suggests `pulumi state unprotect`."""
    lock = graph.nodes[lock_of(graph)]
    assert lock.protect
    assert lock.name.endswith(f"-lock ({HOW_TO_DESTROY})")
    assert "rackwright:teardown true" in HOW_TO_DESTROY
    assert lock.options["aliases"] == [lock.name.removesuffix(f" ({HOW_TO_DESTROY})")]


def test_direct_dependencies_omit_transitive_ones():
    before = {"b": ["a"], "c": ["b"]}
    assert direct_dependencies(["a", "b", "c", "c", "d"], before) == ["c", "d"]
    assert direct_dependencies(["a", "b"], {}) == ["a", "b"]
