"""The plugin process: Pulumi's component host with input checks.

Pulumi's host ignores misspelt inputs, accepts unresolved outputs as values, has no input descriptions, and reports errors in the plan
with a stack trace (pulumi 3.272, provider/experimental/component.py and provider/server.py).
"""

import json
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pulumi
import pulumi.provider
from pulumi import InputPropertiesError, InputPropertyErrorDetails
from pulumi.provider.experimental.analyzer import ComponentDefinition, PropertyType
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At

from rackwright_pulumi.args import WrongPart
from rackwright_pulumi.check_args import InvalidArgs
from rackwright_pulumi.package.sdk_names import check_names, names_in, with_sdk_names
from rackwright_pulumi.package.served import COMPONENTS, component_class
from rackwright_pulumi.package.texts import with_descriptions
from rackwright_pulumi.unsupported import Unsupported

NAME = "rackwright"
PLAIN = {
    PropertyType.STRING: (str, "a text"),
    PropertyType.BOOLEAN: (bool, "true or false"),
    PropertyType.ARRAY: (list, "a list"),
    PropertyType.OBJECT: (dict, "a map"),
}
"""Types of plain inputs. Numbers are excluded, because the protocol only has floats; all counts are in the plan."""


def main() -> None:
    try:
        package = Package(names_in(os.environ))
    except UserError as error:
        sys.exit(str(error))
    pulumi.provider.main(package, sys.argv[1:])


def version() -> str:
    """Version of the checkout, or of the installed distribution."""
    project = Path(__file__).parents[3] / "pyproject.toml"
    if project.exists():
        return tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
    return metadata.version(NAME)


class Package(pulumi.provider.Provider):
    """All components. A deployment imports only the SDKs of its components; the schema imports all of them.

    sdk_names: names of the generated SDKs by language. Raises UserError for an invalid one.
    """

    def __init__(self, sdk_names: Mapping[str, str] = MappingProxyType({})):
        check_names(sdk_names)
        self.version, self.sdk_names = version(), sdk_names

    @cached_property
    def schema(self) -> str | None:  # the base class reads it on initialization
        schema = with_descriptions(json.loads(Host([component_class(name) for name in COMPONENTS]).schema or ""))
        return json.dumps(with_sdk_names(schema, self.sdk_names))

    def construct(self, name: str, resource_type: str, inputs: Any, options: pulumi.ResourceOptions | None = None) -> Any:
        return _host(resource_type.rpartition(":")[2]).construct(name, resource_type, inputs, options)


@cache
def _host(name: str) -> "Host":
    return Host([component_class(name)])


class Host(ComponentProvider):
    """A host for some components. Invalid inputs raise InputPropertiesError with their path; only internal errors show a stack trace."""

    def __init__(self, kinds: Sequence[type[pulumi.ComponentResource]]):
        super().__init__(list(kinds), NAME, version=version())

    def map_inputs(self, inputs: Any, component_def: ComponentDefinition) -> Any:
        if invalid := list(_invalid_inputs(inputs, component_def)):
            raise InputPropertiesError(f"{component_def.name} has invalid inputs", invalid)
        return super().map_inputs(inputs, component_def)

    def construct(self, name: str, resource_type: str, inputs: Any, options: pulumi.ResourceOptions | None = None) -> Any:
        try:
            return super().construct(name, resource_type, inputs, options)
        except ComponentInitError as error:
            raise _input_error(error, inputs) from error.inner

    def map_complex_output(self, instance_val: Any, type_def: Any) -> Any:
        """Convert nested outputs, which are dataclasses, for Pulumi's host, which reads mappings."""
        return super().map_complex_output(getattr(instance_val, "__dict__", instance_val), type_def)


def _invalid_inputs(inputs: dict[str, Any], component: ComponentDefinition) -> Iterator[InputPropertyErrorDetails]:
    for key, value in inputs.items():
        prop = component.inputs.get(key)
        if prop is None:
            yield _detail(key, f"{component.name} has no such input; its inputs are {', '.join(sorted(component.inputs))}")
        elif value is not None and prop.plain and prop.type in PLAIN:
            expected, text = PLAIN[prop.type]
            if not isinstance(value, expected):
                is_output = isinstance(value, (pulumi.Output, pulumi.output.Unknown))
                found = "an output; only items of lists and maps can be outputs" if is_output else type(value).__name__
                found = "a map; pass it as one JSON string" if isinstance(value, dict) else found
                yield _detail(key, f"must be {text} that is known before the deployment starts, not {found}")


def _input_error(error: ComponentInitError, inputs: dict[str, Any]) -> Exception:
    cause = error.inner
    if isinstance(cause, Unsupported):
        place = f"plan.{cause.place}" if "plan" in inputs else cause.place
        return InputPropertiesError("the plan is not supported by this release", [_detail(place, str(cause))])
    if isinstance(cause, InvalidArgs):
        details = [_detail(str(At((wire_name(str(p.at.steps[0])), *p.at.steps[1:]))), f"{p.reason}; {p.fix}") for p in cause.problems]
        return InputPropertiesError("the component has invalid inputs", details)
    if isinstance(cause, WrongPart):
        owner = next((key for key, value in inputs.items() if value == cause.text), "")
        details = [_detail(f"{owner}.{p.at}" if p.at.steps else owner, f"{p.reason}; {p.fix}") for p in cause.problems]
        return InputPropertiesError(f"{owner} is not valid for this release", details)
    return error


def wire_name(name: str) -> str:
    """The name of an argument in other languages: `kmsKeyArn` for `kms_key_arn`."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def _detail(path: str, reason: str) -> InputPropertyErrorDetails:
    return {"property_path": path, "reason": reason}
