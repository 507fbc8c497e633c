"""Resolve the Refs of a StackPlan to Outputs."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pulumi

if TYPE_CHECKING:
    RefValue = pulumi.Input[str] | pulumi.Input[Sequence[str]]
else:
    RefValue = pulumi.Input[Any]  # the schema analyzer has no union of a text and a list

RefValues = Mapping[str, RefValue]
SCRYPT = {"n": 2**14, "r": 8, "p": 5, "dklen": 16}
"""Cost of a digest, as of a stored password: readers of pods and of the state see it, and must not find a short secret by trying values
(https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html)."""


def resolve(value: Any, values: RefValues) -> Any:
    """`value` with every `{"$ref": name}`, `{"$format": ..., "$refs": [...]}` and `{"$digest": true, "$refs": [...]}` replaced by values.

    Raises KeyError, with the available refs, for a ref without a value.
    """
    if isinstance(value, Mapping):
        if "$ref" in value:
            return _value_of(value["$ref"], values)
        if "$format" in value:
            return pulumi.Output.format(value["$format"], *[_value_of(name, values) for name in value["$refs"]])
        if "$digest" in value:
            return digest([_value_of(name, values) for name in value["$refs"]])
        return {key: resolve(item, values) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [resolve(item, values) for item in value]
    return value


def digest(values: Sequence[RefValue]) -> pulumi.Output[str]:
    """A hash of `values`, whose salt is the organization, project and stack: equal secrets of two stacks differ.

    It is not a secret Output, because the SDK marks the whole property of a nested secret: previews would hide all of a Deployment's spec.
    """
    salt = "/".join((pulumi.get_organization(), pulumi.get_project(), pulumi.get_stack()))

    def hashed(texts: Sequence[Any]) -> str:
        return hashlib.scrypt(json.dumps(texts).encode(), salt=salt.encode(), **SCRYPT).hex()

    return pulumi.Output.unsecret(pulumi.Output.all(*values).apply(hashed))


def _value_of(name: str, values: RefValues) -> Any:
    if name not in values:
        raise KeyError(f"ref {name!r} has no value; available: {', '.join(sorted(values))}")
    return values[name]
