"""What other stacks export. Ids are read at deployment; whatever is missing is said with the stack and the output."""

from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi import Input, Output, ResourceOptions, StackReference
from rackwright.stackplan import Existing

from rackwright_pulumi.naming import child

PARTS = "parts"
"""The output that holds, by part and name, whatever a layer above or another stack may need."""


class OtherStacks:
    """The stacks one component reads: each is referenced once, below the component."""

    def __init__(self, reader: pulumi.Resource, name: str):
        self._opts, self._name = ResourceOptions(parent=reader), name
        self._references: dict[str, StackReference] = {}

    def value(self, given: Existing) -> Input[str]:
        """An id as it is, or the other stack's output."""
        return given if isinstance(given, str) else self.output(given.stack, given.output)

    def output(self, stack: str, path: str) -> Output[Any]:
        """`path` is the name of an output, or a place inside one: `parts.network.vpcId`.

        A missing stack is the engine's own error, which names it; a missing output ends the update with both names.
        """
        top, *rest = path.split(".")
        if stack not in self._references:
            self._references[stack] = StackReference(child(self._name, stack), stack_name=stack, opts=self._opts)
        return self._references[stack].get_output(top).apply(lambda value: _dig(value, rest, stack, path))


class Upstream:
    """The layers below this stack's, from the one stack that has them or passes them on. `layers`: those that must be there."""

    def __init__(self, reader: pulumi.Resource, name: str, stack: str, layers: Sequence[str]):
        self._stack, self._stacks = stack, OtherStacks(reader, name)
        self.parts = self._stacks.output(stack, PARTS).apply(lambda parts: self._whole(parts, layers))

    def value(self, *place: str) -> Output[Any]:
        """One value of a part: `value("network", "vpcId")`."""
        path = ".".join((PARTS, *place))
        return self.parts.apply(lambda parts: _dig(parts, place, self._stack, path))

    def _whole(self, parts: Any, layers: Sequence[str]) -> Any:
        there = _dig(parts, ["layers"], self._stack, f"{PARTS}.layers")
        missing = [layer for layer in layers if layer not in there]
        if missing:
            raise pulumi.RunError(
                f"stack {self._stack} lacks the layers {', '.join(missing)} (its output {PARTS}.layers is {', '.join(there)}): "
                "deploy them first, or name the stack that has them in rackwright:below"
            )
        return parts


def _dig(value: Any, place: Sequence[str], stack: str, path: str) -> Any:
    for step in place:
        value = value.get(step) if isinstance(value, dict) else None
    if value is None:
        raise pulumi.RunError(f"stack {stack} has no output {path}: deploy it, or correct the name")
    return value
