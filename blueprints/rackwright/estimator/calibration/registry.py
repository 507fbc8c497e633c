"""Registry of the fitted models."""

from rackwright.estimator import sample_rate
from rackwright.estimator.calibration.coefficients import FittedModel
from rackwright.estimator.serving import decode, served_rate, throughput
from rackwright.estimator.serving import memory as serving_memory
from rackwright.estimator.training import adapter_memory, memory, run_time, step, tpu_step

MODULES = (step, tpu_step, run_time, memory, adapter_memory, decode, throughput, served_rate, serving_memory, sample_rate)


def registry() -> tuple[FittedModel, ...]:
    """Return every fitted model."""
    return tuple(model for module in MODULES for model in module.MODELS)
