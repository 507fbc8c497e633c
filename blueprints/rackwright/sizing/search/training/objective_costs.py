"""Memory and time of the models that an objective needs besides the policy. No run is published: arithmetic on the policy's own terms.

Does not depend on the catalog or the spec.
"""

from dataclasses import replace

import numpy as np

from rackwright.estimator.case import TrainingCase
from rackwright.estimator.result import MemoryTerms, StepTerms
from rackwright.sizing.job import TrainingJob

FROZEN_BYTES = 2.0
"""Bytes per parameter of a frozen reference or reward model: 16 bit."""
FORWARD_FLOPS = 2.0
"""FLOPs per weight and token of a forward pass (arXiv 2001.08361)."""
COLLECTIVES = 2.0, 3.0
"""Collectives of one layer in forward and backward under tensor parallelism, and of one ZeRO-3 unit; a forward pass needs one of them."""


def with_model_states(terms: MemoryTerms, job: TrainingJob, case: TrainingCase) -> MemoryTerms:
    """Frozen models are split like the policy; a second trained model has the states of the first, adapters share their base."""
    o = job.objective
    frozen = FROZEN_BYTES * o.frozen_parameters / (case.tensor * case.pipeline)
    frozen = frozen / np.where(np.greater_equal(case.zero_stage, 3), case.shards, 1.0)
    weights = terms.weights * (1.0 if job.recipe.is_adapter else o.trained_models)
    return replace(
        terms, weights=weights + frozen, gradients=terms.gradients * o.trained_models, optimizer=terms.optimizer * o.trained_models
    )


def with_model_passes(terms: StepTerms, job: TrainingJob, case: TrainingCase) -> StepTerms:
    """Work and traffic of every trained model, and of the forward passes through all models."""
    o = job.objective
    trained, forward = o.trained_models, o.forward_passes
    worked = trained + forward * FORWARD_FLOPS / job.recipe.passes
    layer, unit = (trained + forward / count for count in COLLECTIVES)
    gathered = np.where(np.greater_equal(case.zero_stage, 3), unit, trained)
    by_layer = ("tensor", "context", "expert", "pipeline")
    return replace(
        terms,
        compute=terms.compute * worked,
        recompute=terms.recompute * trained,
        bubble=terms.bubble * worked,
        optimizer=terms.optimizer * trained,
        offload=terms.offload * trained,
        data_exposed=terms.data_exposed * gathered,
        data_total=terms.data_total * gathered,
        **{f"{name}_{part}": getattr(terms, f"{name}_{part}") * layer for name in by_layer for part in ("exposed", "total")},
    )
