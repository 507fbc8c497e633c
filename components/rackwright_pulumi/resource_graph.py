"""The resource graph of a Pulumi program as data."""

from dataclasses import dataclass, field
from typing import Any

from rackwright_pulumi.simulator.provider.values import SECRET, SIGNATURE

SECRET_TEXT = "[secret]"
STACK_TYPE = "pulumi:pulumi:Stack"


@dataclass(frozen=True)
class Secret:
    """A secret input; its value is not printed."""

    value: Any

    def __repr__(self) -> str:
        return SECRET_TEXT


@dataclass
class Node:
    """One resource. inputs: plain values (a secret is `Secret(value)`); options: those that the program set."""

    urn: str
    type: str
    name: str
    parent: str
    custom: bool
    inputs: dict[str, Any]
    provider: str = ""
    depends_on: list[str] = field(default_factory=list)
    property_dependencies: dict[str, list[str]] = field(default_factory=dict)
    protect: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    unknown_inputs: frozenset[str] = frozenset()
    id: str = ""
    state: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    """Outputs that a component registered."""

    @property
    def secret_inputs(self) -> set[str]:
        return {key for key, value in self.inputs.items() if _holds_secret(value)}

    @property
    def label(self) -> str:
        return f"{self.type} {self.name}"

    def as_json(self) -> dict[str, Any]:
        shown = {
            "type": self.type,
            "name": self.name,
            "urn": self.urn,
            "parent": self.parent,
            "inputs": mask_secrets(self.inputs),
            "dependsOn": self.depends_on,
            "propertyDependencies": {key: urns for key, urns in sorted(self.property_dependencies.items()) if urns},
            "protect": self.protect,
        }
        optional = {"provider": self.provider, "options": self.options, "outputs": mask_secrets(self.outputs)}
        return shown | {key: value for key, value in optional.items() if value}


@dataclass
class Graph:
    """All resources except the stack, by URN, sorted."""

    nodes: dict[str, Node]
    outputs: dict[str, Any]
    invokes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def by_type(self, type_token: str) -> list[Node]:
        return [node for node in self.nodes.values() if node.type == type_token]

    def one(self, type_token: str, name: str | None = None) -> Node:
        """The only resource of a type (and name). Raises LookupError, with the existing resources, if the number of matches is not 1."""
        found = [node for node in self.by_type(type_token) if name in (None, node.name)]
        if len(found) != 1:
            existing = ", ".join(sorted(node.label for node in self.nodes.values() if node.type == type_token)) or "none of that type"
            raise LookupError(f"found {len(found)} resources {type_token} {name or ''} instead of 1; existing: {existing}")
        return found[0]

    def children(self, urn: str) -> list[Node]:
        return [node for node in self.nodes.values() if node.parent == urn]

    def direct_dependencies(self, node: Node) -> list[str]:
        """URNs of the recorded resources that the engine creates before the node and deletes after it: also its parent and provider."""
        of_properties = (urn for urns in node.property_dependencies.values() for urn in urns)
        found = (node.provider.rpartition("::")[0], node.parent, *node.depends_on, *of_properties)
        return [urn for urn in dict.fromkeys(found) if urn in self.nodes]

    def unregistered(self) -> list[Node]:
        """Components that did not call register_outputs."""
        return [node for node in self.nodes.values() if not node.custom and "registered" not in node.options]

    def as_json(self) -> dict[str, Any]:
        ordered = sorted(self.nodes.values(), key=lambda node: node.urn)
        return {"resources": [node.as_json() for node in ordered], "outputs": mask_secrets(self.outputs)}


def from_wire(value: Any) -> Any:
    """Convert wire values to plain values: secrets become `Secret`, whole floats become int."""
    if isinstance(value, dict):
        if value.get(SIGNATURE) == SECRET:
            return Secret(from_wire(value.get("value")))
        return {key: from_wire(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [from_wire(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def unwrap_secrets(value: Any) -> Any:
    """Plain values with every `Secret` replaced by its value."""
    if isinstance(value, Secret):
        return unwrap_secrets(value.value)
    if isinstance(value, dict):
        return {key: unwrap_secrets(item) for key, item in value.items()}
    return [unwrap_secrets(item) for item in value] if isinstance(value, list) else value


def mask_secrets(value: Any) -> Any:
    """JSON values with every secret masked."""
    if isinstance(value, Secret):
        return SECRET_TEXT
    if isinstance(value, dict):
        return {key: mask_secrets(value[key]) for key in sorted(value)}
    return [mask_secrets(item) for item in value] if isinstance(value, list) else value


def _holds_secret(value: Any) -> bool:
    if isinstance(value, Secret):
        return True
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_holds_secret(item) for item in items)
