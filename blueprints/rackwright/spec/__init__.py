"""The spec: pydantic models and the YAML reader.

The functions that read a spec also evaluate the rules of `validation.spec`, so `workflow.load` has them; they are imported on first use.
"""

from typing import Any

from rackwright.spec.reading.read_spec import Reading
from rackwright.spec.spec import Spec

__all__ = ["Reading", "Spec", "examine", "examine_file", "load", "read"]


def __getattr__(name: str) -> Any:
    if name in ("examine", "examine_file", "load", "read"):
        from importlib import import_module

        return getattr(import_module("rackwright.workflow.load"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
