"""Public names that are imported when first used: all of rackwright takes 0.6 s, a command that needs one room of it should not."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def on_first_use(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package. homes: public name -> the module that has it.

    The package says the same imports to type checkers, under TYPE_CHECKING; a test holds the two together.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return get
