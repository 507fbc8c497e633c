"""The plugin process: Pulumi's component host, and what it leaves out.

The stock host takes a misspelt input for none, an unresolved output for a value, gives inputs no descriptions, and answers a mistake in the
plan with a stack trace (pulumi 3.272, provider/experimental/component.py and provider/server.py).
"""

import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import pulumi
import pulumi.provider
from pulumi import InputPropertiesError, InputPropertyErrorDetails
from pulumi.provider.experimental.analyzer import ComponentDefinition, PropertyType
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError
from rackwright.diagnostics.problem import Problem

from rackwright_pulumi.args import WrongPart
from rackwright_pulumi.package.served import COMPONENTS, kind
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


def main() -> None:
    pulumi.provider.main(Package(), sys.argv[1:])


def version() -> str:
    """Of the distribution: from the checkout it runs in, else as installed."""
    project = Path(__file__).parents[3] / "pyproject.toml"
    if project.exists():
        return tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
    return metadata.version(NAME)


class Package(pulumi.provider.Provider):
    """All components. A deployment imports the clouds of what it asks for; the schema, made when it is asked for, imports every one."""

    def __init__(self):
        self.version = version()

    @cached_property
    def schema(self) -> str | None:  # the base class wants it when it is made
        return json.dumps(described(json.loads(Host([kind(name) for name in COMPONENTS]).schema or "")))

    def construct(self, name: str, resource_type: str, inputs: Any, options: pulumi.ResourceOptions | None = None) -> Any:
        return _host(resource_type.rpartition(":")[2]).construct(name, resource_type, inputs, options)


@cache
def _host(name: str) -> "Host":
    return Host([kind(name)])


class Host(ComponentProvider):
    """Some components. Wrong inputs come back as InputPropertiesError with their place; only our own faults show a stack."""

    def __init__(self, kinds: Sequence[type[pulumi.ComponentResource]]):
        super().__init__(list(kinds), NAME, version=version())

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


def _wrong(inputs: dict[str, Any], component: ComponentDefinition) -> Iterator[InputPropertyErrorDetails]:
    for key, value in inputs.items():
        prop = component.inputs.get(key)
        if prop is None:
            yield _detail(key, f"{component.name} has no such input; it has {', '.join(sorted(component.inputs))}")
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
        place = f"plan.{cause.place}" if "plan" in inputs else cause.place
        return InputPropertiesError("this release cannot build that", [_detail(place, str(cause))])
    if isinstance(cause, WrongPart):
        owner = next((key for key, value in inputs.items() if value == cause.text), "")
        return InputPropertiesError(f"{owner} is not what this release reads", [_mistake(owner, problem) for problem in cause.problems])
    return error


def _mistake(owner: str, problem: Problem) -> InputPropertyErrorDetails:
    return _detail(f"{owner}.{problem.at}" if problem.at.steps else owner, f"{problem.reason}; {problem.fix}")


def _detail(path: str, reason: str) -> InputPropertyErrorDetails:
    return {"property_path": path, "reason": reason}
