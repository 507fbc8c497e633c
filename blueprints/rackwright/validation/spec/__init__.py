"""Rules on a spec, checked before sizing and before the first cloud call. Importing a module registers its rules."""

from rackwright.validation.spec import (  # noqa: F401, registers the checks
    access,
    blueprint_options,
    capacity,
    jobs,
    machines,
    model_shape,
    objectives,
    places,
    safety,
    samples,
    stack,
    unsupported,
    workloads,
)
from rackwright.validation.spec.registry import RULES, SpecContext, candidate_problems, spec_problems

__all__ = ["RULES", "SpecContext", "candidate_problems", "spec_problems"]
