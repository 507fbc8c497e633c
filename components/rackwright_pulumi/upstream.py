"""Outputs of other stacks, read at deployment. Errors have the names of the stack and the missing output."""

from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi import Input, Output, ResourceOptions, StackReference
from rackwright.stackplan import Existing

from rackwright_pulumi.naming import child

PARTS = "parts"
"""The stack output with all values for other stacks, by part and name."""


class StackReferences:
    """The stacks that one component reads, each referenced once as a child of the component."""

    def __init__(self, reader: pulumi.Resource, name: str):
        self._opts, self._name = ResourceOptions(parent=reader), name
        self._references: dict[str, StackReference] = {}

    def value(self, existing: Existing) -> Input[str]:
        """The id itself, or the output of another stack."""
        return existing if isinstance(existing, str) else self.output(existing.stack, existing.output)

    def output(self, stack: str, path: str) -> Output[Any]:
        """An output. path: its name, or a path in it such as `parts.network.vpcId`.

        For a missing stack the engine raises its error; a missing output raises pulumi.RunError with both names.
        """
        top, *rest = path.split(".")
        if stack not in self._references:
            self._references[stack] = StackReference(child(self._name, stack), stack_name=stack, opts=self._opts)
        return self._references[stack].get_output(top).apply(lambda value: _value_at(value, rest, stack, path))


class Upstream:
    """The upstream layers, from the stack that has them or passes them on. layers: those that it must have."""

    def __init__(self, reader: pulumi.Resource, name: str, stack: str, layers: Sequence[str]):
        self._stack, self._stacks = stack, StackReferences(reader, name)
        self.parts = self._stacks.output(stack, PARTS).apply(lambda parts: self._check_layers(parts, layers))

    def value(self, *path: str) -> Output[Any]:
        """One value of a part, such as `value("network", "vpcId")`."""
        output = ".".join((PARTS, *path))
        return self.parts.apply(lambda parts: _value_at(parts, path, self._stack, output))

    def _check_layers(self, parts: Any, layers: Sequence[str]) -> Any:
        deployed = _value_at(parts, ["layers"], self._stack, f"{PARTS}.layers")
        missing = [layer for layer in layers if layer not in deployed]
        if missing:
            raise pulumi.RunError(
                f"stack {self._stack} lacks the layers {', '.join(missing)} (its output {PARTS}.layers is {', '.join(deployed)}): "
                "deploy them first, or set rackwright:below to the stack that has them"
            )
        return parts


def _value_at(value: Any, path: Sequence[str], stack: str, output: str) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    if value is None:
        raise pulumi.RunError(f"stack {stack} has no output {output}: deploy the stack, or correct the name")
    return value
