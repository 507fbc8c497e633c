"""The plugin process: Pulumi's component host, and what it leaves out.

The stock host takes a misspelt input for none, an unresolved output for a value, gives inputs no descriptions, and answers a mistake in the
plan with a stack trace (pulumi 3.272, provider/experimental/component.py and provider/server.py).
"""

import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import pulumi
import pulumi.provider
from pulumi import InputPropertiesError, InputPropertyErrorDetails
from pulumi.provider.experimental.analyzer import ComponentDefinition, PropertyType
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError

from rackwright_pulumi.args import WrongPart
from rackwright_pulumi.package.texts import described
from rackwright_pulumi.unsupported import Unsupported

NAME = "rackwright"
PLAIN = {
    PropertyType.STRING: (str, "a text"),
    PropertyType.BOOLEAN: (bool, "true or false"),
    PropertyType.ARRAY: (list, "a list"),
    PropertyType.OBJECT: (dict, "a map"),
}
"""What a plain input may be. There are no numbers: the protocol has floats alone, so every count is in the plan."""


def main(kinds: Sequence[type[pulumi.ComponentResource]]) -> None:
    pulumi.provider.main(Package(kinds), sys.argv[1:])


def version() -> str:
    """Of the distribution: from the checkout it runs in, else as installed."""
    project = Path(__file__).parents[3] / "pyproject.toml"
    if project.exists():
        return tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
    return metadata.version(NAME)


class Package(ComponentProvider):
    """Serves components. Wrong inputs come back as InputPropertiesError with their place; only our own faults show a stack."""

    def __init__(self, kinds: Sequence[type[pulumi.ComponentResource]]):
        super().__init__(list(kinds), NAME, version=version())
        self.schema = json.dumps(described(json.loads(self.schema or "")))

    def map_inputs(self, inputs: Any, component_def: ComponentDefinition) -> Any:
        if wrong := list(_wrong(inputs, component_def)):
            raise InputPropertiesError(f"{component_def.name} cannot take these inputs", wrong)
        return super().map_inputs(inputs, component_def)

    def construct(self, name: str, resource_type: str, inputs: Any, options: pulumi.ResourceOptions | None = None) -> Any:
        try:
            return super().construct(name, resource_type, inputs, options)
        except ComponentInitError as error:
            raise _explained(error, inputs) from error.inner

    def map_complex_output(self, instance_val: Any, type_def: Any) -> Any:
        """The stock host reads nested outputs from mappings alone; ours are dataclasses."""
        return super().map_complex_output(getattr(instance_val, "__dict__", instance_val), type_def)


def _wrong(inputs: dict[str, Any], kind: ComponentDefinition) -> Iterator[InputPropertyErrorDetails]:
    for key, value in inputs.items():
        prop = kind.inputs.get(key)
        if prop is None:
            yield _detail(key, f"{kind.name} has no such input; it has {', '.join(sorted(kind.inputs))}")
        elif value is not None and prop.plain and prop.type in PLAIN:
            wanted, words = PLAIN[prop.type]
            if not isinstance(value, wanted):
                yield _detail(key, f"must be {words} that is known before the deployment starts, not {_said(value)}")


def _said(value: Any) -> str:
    if isinstance(value, (pulumi.Output, pulumi.output.Unknown)):
        return "an output; outputs may stand inside a list or map, one by one"
    return "a map; write it as JSON in one text" if isinstance(value, dict) else type(value).__name__


def _explained(error: ComponentInitError, inputs: dict[str, Any]) -> Exception:
    cause = error.inner
    if isinstance(cause, Unsupported):
        return InputPropertiesError("this release cannot build that", [_detail(cause.place, str(cause))])
    if not isinstance(cause, WrongPart):
        return error
    owner = next((key for key, value in inputs.items() if value == cause.text), "")
    details = [
        _detail(f"{owner}.{problem.at}" if problem.at.steps else owner, f"{problem.reason}; {problem.fix}") for problem in cause.problems
    ]
    return InputPropertiesError(f"{owner} is not what this release reads", details)


def _detail(path: str, reason: str) -> InputPropertyErrorDetails:
    return {"property_path": path, "reason": reason}
