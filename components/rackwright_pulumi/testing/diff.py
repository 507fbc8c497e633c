"""Changes between two graphs, by the engine's rules and the replacing inputs of the simulated clouds."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rackwright_pulumi.simulator.schema.difference import Differences, differences

ORDER = ("replace", "delete", "create", "update")


@dataclass(frozen=True)
class GraphChange:
    """operation: create | update | replace | delete; because: paths that differ; for a replacement, those that force it."""

    operation: str
    type: str
    name: str
    urn: str
    because: tuple[str, ...] = ()
    protected: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"because": list(self.because)}


def compare(old: dict[str, Any], new: dict[str, Any]) -> list[GraphChange]:
    """Changes from graph `old` to graph `new` (the format of `rackwright graph --json`): replacements first."""
    before = {node["urn"]: node for node in old["resources"]}
    after = {node["urn"]: node for node in new["resources"]}
    return sorted(_changes(before, after), key=lambda change: (ORDER.index(change.operation), change.urn))


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[GraphChange]:
    renamed = {alias: urn for urn, node in after.items() for alias in node.get("options", {}).get("aliases", ())}
    for urn, node in before.items():
        now = after.get(urn) or after.get(renamed.get(urn, ""))
        if now is None:
            yield _change("delete", node)
        elif found := differences(node["type"], node["inputs"], now["inputs"], now.get("options", {}).get("ignoreChanges", ())):
            forcing = _forcing(found, now.get("options", {}).get("replaceOnChanges", ()))
            yield _change("replace" if forcing else "update", node, forcing or tuple(c.path for c in found.changes))
    for urn, node in after.items():
        if urn not in before and not any(alias in before for alias in node.get("options", {}).get("aliases", ())):
            yield _change("create", node)


def _forcing(found: Differences, replace_on_changes: Sequence[str]) -> tuple[str, ...]:
    """Paths that force a replacement: by the cloud, or by the program's `replace_on_changes`."""
    return tuple(
        c.path for c in found.changes if c.replaces or any(c.path == path or c.path.startswith(f"{path}.") for path in replace_on_changes)
    )


def _change(operation: str, node: dict[str, Any], because: tuple[str, ...] = ()) -> GraphChange:
    return GraphChange(operation, node["type"], node["name"], node["urn"], because, node["protect"])
