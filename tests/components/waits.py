"""Dependencies in a recorded graph: a resource is created after its dependencies and deleted before them."""

from collections.abc import Mapping
from functools import cache

from rackwright_pulumi.testing import Graph


def before(graph: Graph, urn: str) -> set[str]:
    """Direct dependencies of a resource, with its provider and its parent."""
    return set(graph.direct_dependencies(graph.nodes[urn]))


def calls_of_failed_deletes(graph: Graph, limits: Mapping[str, int]) -> dict[str, int]:
    """How often the engine calls itself to find what depends on a resource whose delete failed; stops above the resource's limit.

    As in pulumi 3.272, pkg/resource/graph/dependency_graph.go, markAsDependency: it follows every path, and remembers parents alone.
    """
    read = {urn: _engine_dependencies(graph, urn) for urn in graph.nodes}
    parents = {urn: node.parent if node.parent in graph.nodes else "" for urn, node in graph.nodes.items()}

    @cache
    def calls_of_marked(urn: str) -> int:
        """Calls for a resource that was marked before: its parents and those of its dependencies are marked too."""
        return 1 + sum(map(calls_of_marked, read[urn]))

    def calls_of(start: str, limit: int) -> int:
        marked: set[str] = set()
        finished: set[str] = set()
        calls = 0

        def mark(first: str) -> None:
            nonlocal calls
            if first in finished:
                calls += calls_of_marked(first)
                return
            calls, urn = calls + 1, first
            while urn and calls <= limit:
                marked.add(urn)
                for other in read[urn]:
                    mark(other)
                urn = "" if parents[urn] in marked else parents[urn]
            finished.add(first)

        mark(start)
        return calls

    return {urn: calls_of(urn, limit) for urn, limit in limits.items()}


def _engine_dependencies(graph: Graph, urn: str) -> list[str]:
    """Provider, dependencies, and what the properties read, as often as the engine reads them."""
    node = graph.nodes[urn]
    of_properties = (other for urns in node.property_dependencies.values() for other in urns)
    return [other for other in (node.provider.rpartition("::")[0], *node.depends_on, *of_properties) if other in graph.nodes]


def longest_path(graph: Graph) -> int:
    """Number of cloud resources on the longest path of dependencies."""

    @cache
    def length(urn: str) -> int:
        return graph.nodes[urn].custom + max(map(length, before(graph, urn)), default=0)

    return max(map(length, graph.nodes))


def all_before(graph: Graph, urn: str) -> set[str]:
    """Everything that is created before and deleted after a resource."""
    found: set[str] = set()
    todo = [urn]
    while todo:
        new = before(graph, todo.pop()) - found
        found |= new
        todo += new
    return found
