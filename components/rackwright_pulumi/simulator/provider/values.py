"""Values in the protocol between engine and provider: secrets in envelopes, unknown values as a marker string. Does not import grpc."""

import json
from collections.abc import Mapping
from typing import Any

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""Marker of an unknown value (pulumi: sdk/proto/go plugin.UnknownStringValue)."""
SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The key that marks a special object: a secret, an asset, an archive, a reference."""
TEXT_INPUTS = frozenset({"kubeconfig", "credentials"})
"""Provider inputs whose text may be JSON."""
SECRET = "1b47061264138c4ac30d75fd1eb44270"


def wrap_secret(value: Any) -> dict[str, Any]:
    """The envelope of a secret value."""
    return {SIGNATURE: SECRET, "value": value}


def unwrap_secrets(value: Any) -> Any:
    """The value without secret envelopes, at any depth."""
    if isinstance(value, dict):
        if value.get(SIGNATURE) == SECRET:
            return unwrap_secrets(value.get("value"))
        return {k: unwrap_secrets(v) for k, v in value.items()}
    return [unwrap_secrets(v) for v in value] if isinstance(value, list) else value


def decode_provider_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Provider inputs without secret envelopes, with lists and objects decoded from JSON text.

    SDKs send provider inputs that are not text as JSON text (pulumi_aws/provider.py: `pulumi.runtime.to_json`), and so does the engine.
    """
    return {key: value if key in TEXT_INPUTS else _decoded(value) for key, value in unwrap_secrets(dict(inputs)).items()}


def _decoded(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] in ("[", "{") else value
    except ValueError:
        return value


def holds_secret(value: Any) -> bool:
    """Whether the value has a secret envelope at any depth."""
    if isinstance(value, dict):
        return value.get(SIGNATURE) == SECRET or any(map(holds_secret, value.values()))
    return isinstance(value, list) and any(map(holds_secret, value))


def holds_unknown(value: Any) -> bool:
    """Whether the value has the unknown marker at any depth."""
    if isinstance(value, dict):
        return any(map(holds_unknown, value.values()))
    return any(map(holds_unknown, value)) if isinstance(value, list) else value == UNKNOWN


def values_at(value: Any, path: str) -> list[Any]:
    """Every value at ``a.b.c``, going through lists: ``at({"a": [{"b": 1}, {"b": 2}]}, "a.b") == [1, 2]``."""
    found = [value]
    for part in path.split("."):
        found = [item.get(part) for item in _flat(found) if isinstance(item, dict)]
    return [item for item in _flat(found) if item is not None]


def _flat(items: list[Any]) -> list[Any]:
    return [inner for item in items for inner in (_flat(item) if isinstance(item, list) else [item])]
