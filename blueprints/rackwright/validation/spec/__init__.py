"""Rules on a spec, checked before sizing and before the first cloud call. Importing a module registers its rules."""

from rackwright.validation.spec import (  # noqa: F401, registers the checks
    access,
    blueprint_options,
    capacity,
    jobs,
    machines,
    measured_runs,
    model_shape,
    monitoring,
    objectives,
    own_servers,
    own_storage,
    places,
    safety,
    samples,
    serving_options,
    several,
    stack,
    unsupported,
    workloads,
)
from rackwright.validation.spec.registry import RULES, SpecContext, candidate_problems, spec_problems

__all__ = ["RULES", "SpecContext", "candidate_problems", "spec_problems"]
