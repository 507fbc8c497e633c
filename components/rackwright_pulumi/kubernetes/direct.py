"""Direct dependencies among named parts.

The engine marks the dependencies of a failed delete with a function that walks every path and keeps no memo for `depends_on`
(pulumi 3.272: pkg/resource/graph/dependency_graph.go, markAsDependency). One redundant edge per level doubles its time per level.
"""

from collections.abc import Iterable, Mapping


def direct_dependencies(names: Iterable[str], before: Mapping[str, Iterable[str]]) -> list[str]:
    """The names that no other of the names depends on, in their order and once each.

    before: direct dependencies by name; a name without an entry has none.
    """
    found = list(dict.fromkeys(names))
    indirect = {name for other in found for name in all_dependencies(other, before)}
    return [name for name in found if name not in indirect]


def all_dependencies(name: str, before: Mapping[str, Iterable[str]]) -> set[str]:
    """Direct and indirect dependencies of a name, without the name."""
    found: set[str] = set()
    todo = list(before.get(name, ()))
    while todo:
        other = todo.pop()
        if other not in found:
            found.add(other)
            todo += before.get(other, ())
    return found
