"""Prediction for one case of whole samples. Batch sizes and chips may be arrays of one length; the residuals are those of its class."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

import numpy as np

from rackwright.estimator import sample_rate, samples
from rackwright.estimator.calibration.coefficients import PRIOR_ONLY, Calibration, FittedModel, ResidualQuantiles
from rackwright.estimator.model.dimensions import Num
from rackwright.estimator.result import MemoryTerms
from rackwright.estimator.sample_case import SampleCase


@dataclass(frozen=True)
class SamplePrediction:
    """Time and memory of whole samples.

    pass_s: seconds of one pass of the batch: forward, or forward, backward and update in training; batch_s: seconds until the samples of
    the batch are complete, all passes included; memory: per accelerator.
    """

    case: SampleCase
    pass_s: Num
    batch_s: Num
    residuals: ResidualQuantiles
    memory: MemoryTerms
    memory_residuals: ResidualQuantiles

    @classmethod
    def of(cls, case: SampleCase, c: Calibration) -> "SamplePrediction":
        """Predict one case. Fields of the network are scalars; the others may be arrays."""
        one = cast(SampleCase, _scalars(case))
        model = sample_model(one)
        k, classes, group = c.of(model.name, model.kind), model.classes(one), str(one.chip.evidence_group)
        factor = c.factor(model.name, classes, group)  # of the rate
        measured = c.residual(model.name, classes, group)
        return cls(
            case=case,
            pass_s=sample_rate.pass_seconds(case, k) / factor,
            batch_s=sample_rate.batch_seconds(case, k) / factor,
            residuals=ResidualQuantiles(measured.n, 1 / measured.p90, 1 / measured.p50, 1 / measured.p10),  # of a time
            memory=_memory(case, bool(one.is_training)),
            memory_residuals=PRIOR_ONLY,
        )

    @property
    def samples_per_s_per_accelerator(self) -> Num:
        return self.case.batch / self.batch_s

    @property
    def samples_per_s(self) -> Num:
        """Samples per second of all accelerators."""
        return self.samples_per_s_per_accelerator * self.case.accelerators


def sample_model(case: SampleCase) -> FittedModel:
    """Return the model of a case of scalars."""
    return next(model for model in sample_rate.MODELS if model.applies(case))


def _scalars(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _scalars(getattr(value, f.name)) for f in fields(value)})
    return np.ravel(value)[0].item() if isinstance(value, np.ndarray | Sequence) and not isinstance(value, str) else value


def _memory(case: SampleCase, training: bool) -> MemoryTerms:
    n = case.network
    if training:
        trainable = np.where(np.greater(case.trainable, 0), case.trainable, n.trunk)
        return samples.training_memory(n, case.batch, trainable, case.shards, bool(np.all(case.recompute)))
    weights = np.where(np.greater(case.weight_bytes, 0), case.weight_bytes, 2.0 * n.total)
    return samples.forward_memory(n, case.batch, weights)
