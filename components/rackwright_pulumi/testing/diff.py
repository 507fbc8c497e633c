"""Changes between two graphs, by the engine's rules and the replacing inputs of the simulated clouds.

Resources are compared in the order of an update. Outputs of a new or replaced resource are unknown, so resources that read them change too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rackwright_pulumi.simulator.provider.preview import preview_state
from rackwright_pulumi.simulator.provider.values import UNKNOWN, decode_provider_inputs
from rackwright_pulumi.simulator.schema.difference import Differences, differences
from rackwright_pulumi.simulator.schema.provider_difference import location_changes, provider_differences
from rackwright_pulumi.testing.planned_state import PROVIDER, Node, Planned, Resources, in_order, planned_inputs

ROLLING = {"aws:eks/nodeGroup:NodeGroup": ("launchTemplate", "version", "releaseVersion")}
"""Inputs whose update replaces every machine of a managed pool, some at a time.
Source: docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html."""
ORDER = ("replace", "delete", "create", "update")


@dataclass(frozen=True)
class GraphChange:
    """operation: create | update | replace | delete; because: paths that differ; for a replacement, those that force it.

    rolls: the update replaces the machines of a pool, some at a time.
    """

    operation: str
    type: str
    name: str
    urn: str
    because: tuple[str, ...] = ()
    protected: bool = False
    rolls: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"because": list(self.because)}


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[GraphChange]:
    """Changes from graph `old` to graph `new` (the format of `rackwright graph --json`): replacements first."""
    found = _Update(Resources.of(old), Resources.of(new)).changes()
    return sorted(found, key=lambda change: (ORDER.index(change.operation), change.urn))


@dataclass
class _Update:
    """One update. replaced: URNs of replaced resources; deleted_first: those that are deleted before they are created again."""

    old: Resources
    new: Resources
    planned: dict[str, Planned] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    deleted_first: set[str] = field(default_factory=set)

    def changes(self) -> Iterator[GraphChange]:
        known = set()
        for urn in in_order(self.new.nodes):
            node = self.new.nodes[urn]
            before = self._before(node)
            known.add(before["urn"] if before else "")
            yield from self._step(node, before)
        for urn, node in self.old.nodes.items():
            if urn not in known:
                yield _change("delete", node, urn)

    def _before(self, node: Node) -> Node | None:
        """The resource in the old graph, also under one of its aliases, which are URNs or names; with its name in the new one."""
        aliases = node.get("options", {}).get("aliases", ())
        urns = (node["urn"], *(alias if "::" in alias else f"{node['urn'].rpartition('::')[0]}::{alias}" for alias in aliases))
        found = next((self.old.nodes[urn] for urn in urns if urn in self.old.nodes), None)
        return {**found, "name": node["name"]} if found else None

    def _step(self, node: Node, before: Node | None) -> Iterator[GraphChange]:
        inputs = planned_inputs(node, self.planned)
        found = self._differences(node, before, inputs) if before else Differences(())
        forcing = self._forcing(node, before, found) if before else ()
        if before is None:
            yield _change("create", node, node["urn"])
        elif forcing:
            self._replace(node, before, found)
            yield _change("replace", before, node["urn"], forcing)
        elif found:
            yield _change("update", before, node["urn"], tuple(change.path for change in found.changes))
        state = self.old.state(before) if before and not forcing else None
        if state is None:
            state = preview_state(node["type"], inputs)
        elif found:
            state = preview_state(node["type"], inputs, state) | {"id": state.get("id", UNKNOWN)}
        self.planned[node["urn"]] = Planned(node["type"], self.new.state(node), state, self.new.context(node))

    def _differences(self, node: Node, before: Node, inputs: dict[str, Any]) -> Differences:
        if node["type"].startswith(PROVIDER):
            cloud = node["type"].removeprefix(PROVIDER)
            return provider_differences(cloud, decode_provider_inputs(before["inputs"]), decode_provider_inputs(inputs))
        found = differences(node["type"], before["inputs"], inputs, node.get("options", {}).get("ignoreChanges", ()))
        moved = location_changes(node["type"], self.old.state(before), inputs, self.new.context(node))
        return Differences((*found.changes, *moved), found.delete_before_replace)

    def _forcing(self, node: Node, before: Node, found: Differences) -> tuple[str, ...]:
        """What forces a replacement: the cloud, `replace_on_changes`, the provider, or a resource that is deleted first."""
        on_changes = node.get("options", {}).get("replaceOnChanges", ())
        forcing = tuple(c.path for c in found.changes if c.replaces or _is_below(c.path, on_changes))
        provider = self.new.provider(node)
        if provider and provider["urn"] in self.replaced:
            return (*forcing, "provider")
        return forcing or self._forced_by_deletion(before)

    def _forced_by_deletion(self, before: Node) -> tuple[str, ...]:
        """Inputs that read a resource that is deleted first, where a change of them would replace this one as well.

        pulumi: pkg/resource/deploy/step_generator.go, calculateDependentReplacements.
        """
        reads = before.get("propertyDependencies", {})
        lost = {key: UNKNOWN for key in before["inputs"] if self.deleted_first.intersection(reads.get(key, ()))}
        return differences(before["type"], before["inputs"], before["inputs"] | lost).replaces if lost else ()

    def _replace(self, node: Node, before: Node, found: Differences) -> None:
        self.replaced.add(node["urn"])
        deletes_first = found.delete_before_replace or node.get("options", {}).get("deleteBeforeReplace")
        if deletes_first or self._forced_by_deletion(before):
            self.deleted_first |= {node["urn"], before["urn"]}


def _is_below(path: str, patterns: Sequence[str]) -> bool:
    return any(path == pattern or path.startswith(f"{pattern}.") for pattern in patterns)


def _change(operation: str, node: Node, urn: str, because: tuple[str, ...] = ()) -> GraphChange:
    rolls = operation == "update" and any(_is_below(path, ROLLING.get(node["type"], ())) for path in because)
    return GraphChange(operation, node["type"], node["name"], urn, because, node["protect"], rolls)
