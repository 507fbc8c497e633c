"""Prediction for one case of whole samples. Batch sizes and chips may be arrays of one length; the residuals are those of its class."""

from dataclasses import dataclass

import numpy as np

from rackwright.estimator import samples
from rackwright.estimator.calibration.coefficients import PRIOR_ONLY, Calibration, ResidualQuantiles
from rackwright.estimator.model.dimensions import Num
from rackwright.estimator.result import MemoryTerms
from rackwright.estimator.sample_case import SampleCase


@dataclass(frozen=True)
class SamplePrediction:
    """Time and memory of whole samples.

    pass_s: seconds of one pass of the batch: forward, or forward, backward and update in training. memory: per accelerator.
    """

    case: SampleCase
    pass_s: Num
    residuals: ResidualQuantiles
    memory: MemoryTerms
    memory_residuals: ResidualQuantiles

    @classmethod
    def of(cls, case: SampleCase, c: Calibration) -> "SamplePrediction":
        """Predict one case."""
        adapter = bool(np.all(np.equal(case.task, "adapter")))
        training = bool(np.all(case.is_training))
        return cls(
            case=case,
            pass_s=samples.pass_seconds(case.network, case.chip, case.batch, training, adapter, bool(np.all(case.recompute))),
            residuals=PRIOR_ONLY,
            memory=_memory(case, training),
            memory_residuals=PRIOR_ONLY,
        )

    @property
    def batch_s(self) -> Num:
        """Seconds until the batch is complete: all passes of its samples."""
        return self.pass_s * self.case.passes

    @property
    def samples_per_s_per_accelerator(self) -> Num:
        return self.case.batch / self.batch_s

    @property
    def samples_per_s(self) -> Num:
        """Samples per second of all accelerators."""
        return self.samples_per_s_per_accelerator * self.case.accelerators


def _memory(case: SampleCase, training: bool) -> MemoryTerms:
    n = case.network
    if training:
        trainable = np.where(np.greater(case.trainable, 0), case.trainable, n.trunk)
        return samples.training_memory(n, case.batch, trainable, case.shards, bool(np.all(case.recompute)))
    weights = np.where(np.greater(case.weight_bytes, 0), case.weight_bytes, 2.0 * n.total)
    return samples.forward_memory(n, case.batch, weights)
