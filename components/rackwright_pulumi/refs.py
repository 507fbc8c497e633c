"""Refs of a StackPlan become Outputs here, and nowhere else."""

from collections.abc import Mapping
from typing import Any

import pulumi

Known = Mapping[str, pulumi.Input[Any]]


def resolve(value: Any, known: Known) -> Any:
    """`value` with every `{"$ref": name}` and `{"$format": ..., "$refs": [...]}` replaced from `known`.

    Raises KeyError naming the ref and what is known, when the blueprint does not provide it.
    """
    if isinstance(value, Mapping):
        if "$ref" in value:
            return _look_up(value["$ref"], known)
        if "$format" in value:
            return pulumi.Output.format(value["$format"], *[_look_up(name, known) for name in value["$refs"]])
        return {key: resolve(item, known) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [resolve(item, known) for item in value]
    return value


def _look_up(name: str, known: Known) -> Any:
    if name not in known:
        raise KeyError(f"ref {name!r} is not provided here; known: {', '.join(sorted(known))}")
    return known[name]
