"""Compare a stack as declared, its deployed state and the resources of its cloud."""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rackwright_pulumi.doctor.inventory import ATTACHMENT, ROLE_POLICY, STACK_TAG, CloudResource
from rackwright_pulumi.simulator.computed.names import NAMES
from rackwright_pulumi.simulator.provider.preview import preview_state
from rackwright_pulumi.simulator.provider.values import UNKNOWN, holds_unknown
from rackwright_pulumi.testing.planned_state import Node, Planned, Resources, Values, in_order, planned_inputs

PLACES = ("account", "region", "project", "zone", "location")
OWNERS = {ROLE_POLICY: "role", ATTACHMENT: "role", "aws:sns/topicSubscription:TopicSubscription": "topic"}
"""Untagged types -> the input with the ID of the resource that they are a part of. The update after a killed one creates a second part
beside the first. Routes and rules are left out: controllers of the cluster create some."""
GENERATED = re.compile(r"-[0-9a-f]{7,8}")
"""What engine and providers append to a logical name."""


@dataclass(frozen=True)
class Lost:
    """A declared resource that the cloud has and the state lacks. found_by: tag | name | inputs."""

    type: str
    name: str
    id: str
    found_by: str
    urn: str
    parent: str = ""
    provider: str = ""

    @property
    def command(self) -> str:
        """The `pulumi import` command, with the parent and the provider of the program."""
        options = [("--parent", "parent", self.parent), ("--provider", "provider", self.provider)]
        known = [text for option, name, urn in options if urn for text in (option, f"{name}={urn}")]
        return shlex.join(["pulumi", "import", self.type, self.name, self.id, *known, "--protect=false", "--generate-code=false", "--yes"])

    def as_json(self) -> dict[str, str]:
        return asdict(self) | {"command": self.command}


@dataclass(frozen=True)
class Diagnosis:
    """lost: declared resources to import. undeclared: resources that neither the state nor the program has, with the stack's tag, or parts
    of a role or topic in the state."""

    lost: tuple[Lost, ...]
    undeclared: tuple[CloudResource, ...]

    def as_json(self) -> dict[str, Any]:
        return {"lost": [each.as_json() for each in self.lost], "undeclared": [{"type": r.type, "id": r.id} for r in self.undeclared]}

    def import_file(self) -> dict[str, Any]:
        """The argument of `pulumi import --file`: all resources at once."""
        urns = sorted({urn for each in self.lost for urn in (each.parent, each.provider) if urn})
        names = {urn: f"r{number}" for number, urn in enumerate(urns)}
        rows = [
            {"type": each.type, "name": each.name, "id": each.id}
            | {key: names[urn] for key, urn in (("parent", each.parent), ("provider", each.provider)) if urn}
            for each in self.lost
        ]
        return {"nameTable": {name: urn for urn, name in names.items()}, "resources": rows}


def diagnose(declared: Mapping[str, Any], deployed: Mapping[str, Any], inventory: Iterable[CloudResource], stack_tag: str) -> Diagnosis:
    """declared, deployed: graphs of the program and of its state. stack_tag: the value of the tag rackwright-stack.

    Resources are identified in dependency order: an untagged one, such as a route, by the IDs that its inputs refer to.
    """
    program, state = Resources.of(declared), Resources.of(deployed)
    managed = {(node["type"], node["state"]["id"]) for node in state.nodes.values() if node.get("state", {}).get("id")}
    left = [each for each in inventory if (each.type, each.id) not in managed]
    planned: dict[str, Planned] = {}
    lost = []
    for urn in in_order(program.nodes):
        node = program.nodes[urn]
        inputs = planned_inputs(node, planned)
        values: Values = preview_state(node["type"], inputs) | {"id": UNKNOWN}
        if urn in state.nodes:
            values = state.state(state.nodes[urn])
        elif match := _match(node, inputs, left):
            found, found_by = match
            left.remove(found)
            values = {**values, **inputs, **found.values, "id": found.id}
            lost.append(_lost(node, found.import_id or found.id, found_by))
        planned[urn] = Planned(node["type"], program.state(node), values, program.context(node))
    ids = {id_ for _, id_ in managed}
    parts = [each for each in left if each.values.get(OWNERS.get(each.type, "")) in ids]
    return Diagnosis(tuple(lost), tuple(each for each in left if each in parts or each.tags.get(STACK_TAG) == stack_tag))


def _lost(node: Node, id_: str, found_by: str) -> Lost:
    return Lost(node["type"], node["name"], id_, found_by, node["urn"], node.get("parent", ""), node["provider"].rpartition("::")[0])


def _match(node: Node, inputs: Values, left: list[CloudResource]) -> tuple[CloudResource, str] | None:
    """The resource in the cloud, and by what it was found."""
    same_type = [each for each in left if each.type == node["type"]]
    for found_by, is_it in (("tag", _has_tags), ("name", _has_name), ("inputs", _has_inputs)):
        found = next((each for each in same_type if is_it(node, inputs, each)), None)
        if found:
            return found, found_by
    return None


def _has_tags(node: Node, inputs: Values, found: CloudResource) -> bool:
    """Whether the tags Name and rackwright-stack are equal. The components give every resource its own Name."""
    tags = inputs.get("tags") or {}
    return all(tags.get(key) and tags[key] == found.tags.get(key) for key in ("Name", STACK_TAG))


def _has_name(node: Node, inputs: Values, found: CloudResource) -> bool:
    """Whether the fields that are unique in the cloud are equal, or the name has the engine's form of the logical name."""
    if node["type"].startswith("kubernetes:"):
        return _object_name(inputs) == _object_name(found.values) and _object_name(inputs)[1] is not None
    rule = NAMES.get(node["type"])
    if rule is None:
        return False
    unique = [key for key in rule.unique if key not in PLACES and (inputs.get(key) or found.values.get(key))]
    if rule.property in unique and inputs.get(rule.property) is None:
        unique.remove(rule.property)
        stem, _, tail = str(found.values.get(rule.property, "")).partition(rule.prefix + node["name"])
        if stem or not GENERATED.fullmatch(tail):
            return False
    elif not unique:
        return False
    return all(inputs.get(key) == found.values.get(key) and not holds_unknown(inputs.get(key)) for key in unique)


def _object_name(values: Mapping[str, Any]) -> tuple[str, str | None]:
    meta = values.get("metadata") or values
    return meta.get("namespace") or "default", meta.get("name")


def _has_inputs(node: Node, inputs: Values, found: CloudResource) -> bool:
    """Whether an untagged resource has all text inputs of the program, at least two."""
    texts = {key: value for key, value in inputs.items() if isinstance(value, str) and key in found.values}
    if inputs.get("tags", {}).get("Name") or node["type"].startswith("kubernetes:") or len(texts) < 2:
        return False
    return all(found.values[key] == value for key, value in texts.items())
