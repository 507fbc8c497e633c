"""Public names that are imported on first use. Importing all of rackwright takes 0.6 s; most commands need one part of it."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def on_first_use(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package. homes: public name -> module that defines it.

    The package repeats the imports under TYPE_CHECKING for type checkers; a test compares both lists.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return get
