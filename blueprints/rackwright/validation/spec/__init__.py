"""Checks across the fields of a spec, before sizing and before any cloud is asked. Importing a file here registers its checks."""

from rackwright.validation.spec import (  # noqa: F401, registers the checks
    capacity,
    machines,
    model_shape,
    places,
    safety,
    stack,
    unsupported,
    workloads,
)
from rackwright.validation.spec.registry import RULES, SpecContext, problems_of

__all__ = ["RULES", "SpecContext", "problems_of"]
