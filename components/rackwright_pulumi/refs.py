"""Resolve the Refs of a StackPlan to Outputs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pulumi

if TYPE_CHECKING:
    RefValue = pulumi.Input[str] | pulumi.Input[Sequence[str]]
else:
    RefValue = pulumi.Input[Any]  # the schema analyzer has no union of a text and a list

RefValues = Mapping[str, RefValue]


def resolve(value: Any, values: RefValues) -> Any:
    """`value` with every `{"$ref": name}` and `{"$format": ..., "$refs": [...]}` replaced from `values`.

    Raises KeyError, with the available refs, for a ref without a value.
    """
    if isinstance(value, Mapping):
        if "$ref" in value:
            return _value_of(value["$ref"], values)
        if "$format" in value:
            return pulumi.Output.format(value["$format"], *[_value_of(name, values) for name in value["$refs"]])
        return {key: resolve(item, values) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [resolve(item, values) for item in value]
    return value


def _value_of(name: str, values: RefValues) -> Any:
    if name not in values:
        raise KeyError(f"ref {name!r} has no value; available: {', '.join(sorted(values))}")
    return values[name]
