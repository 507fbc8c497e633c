"""Values as they travel between engine and provider: secrets in envelopes, unknowns as a marker string. No grpc."""

from typing import Any

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""What stands for a value a preview cannot know (pulumi: sdk/proto/go plugin.UnknownStringValue)."""
SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The key that marks a special object: a secret, an asset, an archive, a reference."""
SECRET = "1b47061264138c4ac30d75fd1eb44270"


def secret(value: Any) -> dict[str, Any]:
    """The envelope of a secret value."""
    return {SIGNATURE: SECRET, "value": value}


def opened(value: Any) -> Any:
    """The value with every secret envelope taken off."""
    if isinstance(value, dict):
        if value.get(SIGNATURE) == SECRET:
            return opened(value.get("value"))
        return {k: opened(v) for k, v in value.items()}
    return [opened(v) for v in value] if isinstance(value, list) else value


def holds_secret(value: Any) -> bool:
    """Whether an envelope is anywhere inside."""
    if isinstance(value, dict):
        return value.get(SIGNATURE) == SECRET or any(map(holds_secret, value.values()))
    return isinstance(value, list) and any(map(holds_secret, value))


def holds_unknown(value: Any) -> bool:
    """Whether the marker is anywhere inside."""
    if isinstance(value, dict):
        return any(map(holds_unknown, value.values()))
    return any(map(holds_unknown, value)) if isinstance(value, list) else value == UNKNOWN


def at(value: Any, path: str) -> list[Any]:
    """Every value at ``a.b.c``, going through lists: ``at({"a": [{"b": 1}, {"b": 2}]}, "a.b") == [1, 2]``."""
    found = [value]
    for part in path.split("."):
        found = [item.get(part) for item in _flat(found) if isinstance(item, dict)]
    return [item for item in _flat(found) if item is not None]


def _flat(items: list[Any]) -> list[Any]:
    return [inner for item in items for inner in (_flat(item) if isinstance(item, list) else [item])]
