"""What waits for what in a recorded graph: made after it, and unmade before."""

from functools import cache

from rackwright_pulumi.testing import Graph


def before(graph: Graph, urn: str) -> set[str]:
    """What a resource waits for itself, its provider among them."""
    node = graph.nodes[urn]
    provider = node.provider.rpartition("::")[0]
    return {*node.depends_on, *(u for urns in node.property_dependencies.values() for u in urns)} | ({provider} & graph.nodes.keys())


def longest_path(graph: Graph) -> int:
    """Steps of the longest way through what waits for what."""

    @cache
    def length(urn: str) -> int:
        return 1 + max(map(length, before(graph, urn)), default=0)

    return max(map(length, graph.nodes))


def all_before(graph: Graph, urn: str) -> set[str]:
    """Everything that is made before, and unmade after, a resource."""
    found: set[str] = set()
    todo = [urn]
    while todo:
        new = before(graph, todo.pop()) - found
        found |= new
        todo += new
    return found
