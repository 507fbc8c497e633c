"""Rules on a spec, checked before sizing and before the first cloud call. Importing a module registers its rules."""

from rackwright.validation.spec import (  # noqa: F401, registers the checks
    access,
    blueprint_options,
    capacity,
    existing,
    machines,
    monitoring,
    places,
    safety,
    sharing,
    stack,
    tpu,
    unsupported,
)
from rackwright.validation.spec.own import purchase, servers, storage  # noqa: F401, registers the checks
from rackwright.validation.spec.registry import RULES, SpecContext, candidate_problems, spec_problems
from rackwright.validation.spec.workload import (  # noqa: F401, registers the checks
    gateway,
    jobs,
    measured_runs,
    model_shape,
    objectives,
    samples,
    serving_options,
    several,
    workloads,
)

__all__ = ["RULES", "SpecContext", "candidate_problems", "spec_problems"]
