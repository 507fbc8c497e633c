"""Rules on a spec, checked before sizing and before the first cloud call. Importing a module registers its rules."""

from rackwright.validation.spec import (  # noqa: F401, registers the checks
    access,
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
