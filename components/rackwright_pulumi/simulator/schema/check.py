"""Check inputs against the SDK's declarations: missing inputs, unknown names, wrong types, invalid object names."""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rackwright_pulumi.simulator.computed.names import NAMES
from rackwright_pulumi.simulator.provider.values import SIGNATURE, UNKNOWN, unwrap_secrets
from rackwright_pulumi.simulator.schema import facts as catalog

TYPE_NAMES = {"str": "a string", "int": "a whole number", "num": "a number", "bool": "true or false"}
QUANTITIES = frozenset({"limits", "requests", "hard", "capacity", "default", "defaultRequest", "min", "max", "overhead"})
"""Kubernetes maps whose values may be numbers, although the SDK declares strings."""
DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
"""RFC 1123 subdomain, the format of most Kubernetes names."""


@dataclass(frozen=True)
class Failure:
    """One invalid input; ``property`` is its path."""

    property: str
    reason: str


def check(token: str, inputs: Mapping[str, Any]) -> list[Failure]:
    """Return all invalid inputs of one resource. Unknown values are valid.

    Raises KeyError for an unsupported type. Kubernetes custom resources of any group are supported; only their metadata is checked.
    """
    plain = unwrap_secrets(dict(inputs))
    if catalog.custom(token):
        return list(_metadata(plain))
    facts = catalog.facts(token)
    failures = list(_object(facts, facts.inputs, facts.required, plain, ""))
    rule = NAMES.get(token)
    if rule and rule.property and len(str(plain.get(rule.property) or "")) > rule.limit:
        failures.append(Failure(rule.property, f"{rule.property} exceeds {rule.limit} characters, the limit of the cloud"))
    if facts.cloud == "kubernetes" and "metadata" in facts.inputs:
        failures += _metadata(plain)
    return failures


def _object(
    facts: catalog.Facts, known: Mapping[str, str], required: tuple[str, ...], given: Mapping[str, Any], path: str
) -> Iterator[Failure]:
    for name in required:
        if given.get(name) is None:
            yield Failure(path + name, f"Missing required property '{path + name}' of {facts.token}")
    for name, value in given.items():
        if name.startswith("__") or value is None:
            continue
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            yield Failure(path + name, f"'{path + name}' is not a property of {facts.token}{hint}")
        else:
            yield from _value(facts, known[name], value, path + name)


def _value(facts: catalog.Facts, kind: str, value: Any, path: str) -> Iterator[Failure]:
    if kind == "any" or value in (UNKNOWN, None) or (isinstance(value, dict) and SIGNATURE in value):
        return
    wanted = {"[": "a list", "{": "an object", "#": "an object"}.get(kind[0]) or TYPE_NAMES[kind]
    fits = isinstance(value, list if kind[0] == "[" else dict) if kind[0] in "[{#" else _is_plain(facts.cloud, kind, value, path)
    if not fits:
        yield Failure(path, f"'{path}' must be {wanted}, not {_type_name(value)}")
    elif kind.startswith("["):
        for i, item in enumerate(value):
            yield from _value(facts, kind[1:-1], item, f"{path}[{i}]")
    elif kind.startswith("#"):
        declared = facts.objects[kind[1:]]
        yield from _object(facts, declared["inputs"], tuple(declared["required"]), value, f"{path}.")
    elif kind.startswith("{"):
        for key, item in value.items():
            yield from _value(facts, kind[1:-1], item, f"{path}.{key}")


def _is_plain(cloud: str, kind: str, value: Any, path: str) -> bool:
    """Whether a scalar is valid. The AWS and Google providers convert between scalars; Kubernetes does not."""
    if isinstance(value, dict | list):
        return False
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "str":
        return isinstance(value, str) or cloud != "kubernetes" or (number and bool(QUANTITIES & set(path.split("."))))
    if kind == "bool":
        return isinstance(value, bool) or (cloud != "kubernetes" and value in ("true", "false"))
    if isinstance(value, str) and cloud != "kubernetes":
        return re.fullmatch(r"-?\d+" if kind == "int" else r"-?\d+(\.\d+)?", value) is not None
    return number and (kind == "num" or float(value).is_integer())


def _type_name(value: Any) -> str:
    names = ((bool, "true or false"), (str, "a string"), (list, "a list"), (dict, "an object"))
    return next((name for kind, name in names if isinstance(value, kind)), str(value))


def _metadata(plain: Mapping[str, Any]) -> Iterator[Failure]:
    name = (plain.get("metadata") or {}).get("name") if isinstance(plain.get("metadata"), dict) else None
    if name not in (None, UNKNOWN) and not (len(name) <= 253 and DNS_NAME.fullmatch(name.replace(":", "-"))):
        yield Failure("metadata.name", f"Invalid value {name!r}: lower-case letters, digits, '-' and '.', at most 253 (RFC 1123)")
