"""Dependencies in a recorded graph: a resource is created after its dependencies and deleted before them."""

from functools import cache

from rackwright_pulumi.testing import Graph


def before(graph: Graph, urn: str) -> set[str]:
    """Direct dependencies of a resource, with its provider and its parent."""
    return set(graph.direct_dependencies(graph.nodes[urn]))


def calls_of_a_failed_delete(graph: Graph, urn: str, limit: int) -> int:
    """How often the engine calls itself to find what depends on a resource whose delete failed; stops above `limit`.

    As in pulumi 3.272, pkg/resource/graph/dependency_graph.go, markAsDependency: it follows every path, and remembers parents alone.
    """
    marked: set[str] = set()
    calls = 0

    def mark(urn: str) -> None:
        nonlocal calls
        calls += 1
        while urn and calls <= limit:
            marked.add(urn)
            node = graph.nodes[urn]
            provider = node.provider.rpartition("::")[0]
            of_properties = (other for urns in node.property_dependencies.values() for other in urns)
            for other in (provider, *node.depends_on, *of_properties):
                if other in graph.nodes:
                    mark(other)
            urn = node.parent if node.parent in graph.nodes and node.parent not in marked else ""

    mark(urn)
    return calls


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
