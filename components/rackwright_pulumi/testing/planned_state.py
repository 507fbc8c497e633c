"""Resources of a graph file with their outputs, before and during an update, and the inputs that read changed outputs."""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

from rackwright_pulumi.resource_graph import SECRET_TEXT
from rackwright_pulumi.simulator.computed import Context, computed
from rackwright_pulumi.simulator.provider.preview import CHANGED_BY_UPDATE, with_cloud_fields
from rackwright_pulumi.simulator.provider.values import UNKNOWN, decode_provider_inputs
from rackwright_pulumi.simulator.schema import facts as catalog

PROVIDER = "pulumi:providers:"
PLACE_INPUTS = {"region": str, "zone": str, "project": str, "allowedAccountIds": list}
"""Provider inputs that ids and ARNs depend on, with their types: a graph file may have others."""
MIN_LENGTH = 8
"""Shorter outputs, such as "ACTIVE" or "1", are not recognised inside of other texts."""
TAGS = frozenset({"tags", "tagsAll", "labels", "pulumiLabels", "effectiveLabels"})
"""Outputs that no resource reads, with texts that are parts of names."""
Node = Mapping[str, Any]
Values = dict[str, Any]


@dataclass
class Resources:
    """The resources of one graph by URN (the format of `rackwright graph --json`)."""

    nodes: dict[str, Node]

    @staticmethod
    def of(graph: Mapping[str, Any]) -> "Resources":
        """Without resources that are only read, such as references to other stacks."""
        return Resources({node["urn"]: node for node in graph["resources"] if not node.get("options", {}).get("read")})

    def provider(self, node: Node) -> Node | None:
        return self.nodes.get(node.get("provider", "").rpartition("::")[0])

    def context(self, node: Node) -> Context:
        """Account and place of a resource, from its provider."""
        provider = self.provider(node)
        inputs = decode_provider_inputs(provider["inputs"]) if provider else {}
        return Context().for_provider({key: value for key, value in inputs.items() if isinstance(value, PLACE_INPUTS.get(key, ()))})

    def state(self, node: Node) -> Values:
        """Inputs, outputs and id of a resource: those of a deployed stack, else of the simulated cloud."""
        if "state" in node:
            return dict(node["state"])
        if catalog.find(node["type"]) is None and not catalog.custom(node["type"]):
            return dict(node["inputs"])
        try:
            id_, outputs = computed(node["type"], node["name"], node["urn"], node["inputs"], self.context(node))
        except (TypeError, ValueError, AttributeError, LookupError):  # inputs of a file that no provider accepts
            return dict(node["inputs"])
        return with_cloud_fields(node["inputs"], outputs) | {"id": id_}


@dataclass(frozen=True)
class Planned:
    """One resource in an update. recorded: its state in the new graph; state: its state in the update, with UNKNOWN values."""

    type: str
    recorded: Values
    state: Values
    context: Context

    @property
    def is_new(self) -> bool:
        return self.state.get("id", UNKNOWN) == UNKNOWN

    @cached_property
    def replacements(self) -> tuple[tuple[str, str], ...]:
        """(recorded text, text in the update) of all outputs that differ, the longest first."""
        changed = CHANGED_BY_UPDATE.get(self.type, ())
        found = {
            str(text): str(now)
            for key, value in self.recorded.items()
            if key not in TAGS
            for text, now in _changed_leaves(value, self.state.get(key, UNKNOWN))
            if key in changed or self._is_specific(text)
        }
        return tuple(sorted(found.items(), key=lambda pair: -len(pair[0])))

    def _is_specific(self, text: Any) -> bool:
        """Whether the text belongs to this resource, unlike the account, the region and its zones."""
        if not isinstance(text, str) or len(text) < MIN_LENGTH or text in (self.context.account, self.context.project):
            return False
        region = self.context.region
        return not (region and text.startswith(region) and len(text) <= len(region) + 2)


def in_order(nodes: Mapping[str, Node]) -> Iterator[str]:
    """URNs after those of their parents, providers and dependencies."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for urn, node in nodes.items():
        read = {dependency for urns in node.get("propertyDependencies", {}).values() for dependency in urns}
        needed = {node.get("parent", ""), node.get("provider", "").rpartition("::")[0], *node.get("dependsOn", ()), *read}
        sorter.add(urn, *sorted((needed - {urn}) & nodes.keys()))
    try:
        yield from list(sorter.static_order())
    except CycleError:  # only in a file that no engine wrote
        yield from sorted(nodes)


def planned_inputs(node: Node, planned: Mapping[str, Planned]) -> Values:
    """The inputs of a resource in the update: every output that it reads has its planned value."""
    reads = node.get("propertyDependencies", {})
    return {key: _replaced(value, [planned[urn] for urn in reads.get(key, ()) if urn in planned]) for key, value in node["inputs"].items()}


def _changed_leaves(recorded: Any, state: Any) -> Iterator[tuple[Any, Any]]:
    """Pairs of leaves that differ. A part that is unknown as a whole makes each of its leaves unknown."""
    if isinstance(recorded, dict):
        for key, value in recorded.items():
            yield from _changed_leaves(value, state.get(key, UNKNOWN) if isinstance(state, dict) else UNKNOWN)
    elif isinstance(recorded, list):
        for index, value in enumerate(recorded):
            yield from _changed_leaves(value, state[index] if isinstance(state, list) and index < len(state) else UNKNOWN)
    elif state not in (recorded, SECRET_TEXT) and recorded not in (None, "") and not isinstance(recorded, bool):
        yield recorded, state if isinstance(state, (str, int, float)) else UNKNOWN


def _replaced(value: Any, read: Iterable[Planned]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(item, read) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, read) for item in value]
    if value == SECRET_TEXT:
        return UNKNOWN if any(planned.is_new for planned in read) else value
    if isinstance(value, str):
        decoded = _decoded(value)
        return _replaced_text(value, read) if decoded is None else _encoded(value, decoded, _replaced_text(decoded, read))
    return value


def _replaced_text(text: str, read: Iterable[Planned]) -> str:
    for planned in read:
        for recorded, now in planned.replacements:
            bare = recorded.removeprefix("https://")
            if text != recorded and (len(bare) < MIN_LENGTH or bare not in text):
                continue
            if now == UNKNOWN:
                return UNKNOWN
            text = text.replace(bare, now.removeprefix("https://"))
    return text


def _decoded(text: str) -> str | None:
    """The text in base64 (user data); None for any other text."""
    if len(text) < 64:
        return None
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None


def _encoded(encoded: str, before: str, after: str) -> str:
    return encoded if after == before else UNKNOWN if after == UNKNOWN else base64.b64encode(after.encode()).decode()
