"""Typed access to the fields of a Hugging Face config. Errors have the path of the field."""

from collections.abc import Mapping, Sequence
from typing import Any

from rackwright.catalog.models.architecture import MAX_COUNT, ConfigError


class Fields:
    """A config.json object; `null` means absent, as in transformers."""

    def __init__(self, config: Mapping[str, Any], path: str = ""):
        self._config, self._path = config, path

    def has(self, name: str) -> bool:
        return self._config.get(name) is not None

    def count(self, *names: str, default: int | None = None) -> int:
        """Return the first of `names` that is present, a whole number above 0. Raises ConfigError when it is missing or invalid."""
        name = next((n for n in names if self.has(n)), None)
        if name is None:
            if default is None:
                raise ConfigError(f"{self._path}{names[0]} is missing", field=self._path + names[0])
            return default
        value = self._config[name]
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < MAX_COUNT:
            raise ConfigError(f"{self._path}{name} must be a whole number above 0, not {value!r}", field=self._path + name)
        return value

    def maybe(self, name: str) -> int | None:
        """Return a count, or None when it is absent or 0, such as `first_k_dense_replace`."""
        return self.count(name) if self._config.get(name) not in (None, 0) else None

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._config.get(name)
        if value is not None and not isinstance(value, bool):
            raise ConfigError(f"{self._path}{name} must be true or false, not {value!r}", field=self._path + name)
        return default if value is None else value

    def text(self, name: str) -> str:
        return str(self._config.get(name, ""))

    def items(self, name: str) -> Sequence[Any]:
        value = self._config.get(name) or ()
        if not isinstance(value, (list, tuple, dict)):
            raise ConfigError(f"{self._path}{name} must be a list, not {value!r}", field=self._path + name)
        return list(value)

    def inside(self, name: str) -> "Fields":
        value = self._config.get(name)
        if not isinstance(value, Mapping):
            raise ConfigError(f"{self._path}{name} is missing or no object", field=self._path + name)
        return Fields(value, f"{self._path}{name}.")

    def refuse(self, name: str, why: str) -> None:
        raise ConfigError(f"{self._path}{name}: {why}", field=self._path + name)
