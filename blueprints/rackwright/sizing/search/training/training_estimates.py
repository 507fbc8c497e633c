"""Memory, time and evidence of training layouts from the estimator. Arrays in, arrays out.

Text is counted in tokens, images and other networks in whole samples.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rackwright.estimator.calibration.coefficients import Calibration, FittedModel, ResidualQuantiles
from rackwright.estimator.case import Chip, Links, TrainingCase
from rackwright.estimator.predict_samples import SamplePrediction
from rackwright.estimator.result import MemoryTerms, StepTerms
from rackwright.estimator.sample_case import SampleCase
from rackwright.estimator.training import adapter_memory, communication, memory, step, tpu_step
from rackwright.estimator.training.states import state_bytes
from rackwright.sizing.job import SFT, TrainingJob
from rackwright.sizing.search.outcome import Spread, at_p80
from rackwright.sizing.search.target import Target
from rackwright.sizing.search.training import objective_costs

ANY_CHIP = Chip("any", np.inf, 1.0, 1.0, 1.0)
ANY_LINKS = Links(1.0, 1.0, 1.0, 1.0)
"""Memory depends on the layout, not on the accelerator."""


@dataclass(frozen=True)
class TrainingResiduals:
    """Residuals of time and memory for a class of cases; factors from the user's own runs."""

    step: ResidualQuantiles
    memory: ResidualQuantiles
    rate_factor: float = 1.0
    memory_factor: float = 1.0

    @cached_property
    def spread(self) -> Spread:
        """Spread of the step time."""
        return Spread.of_rate(self.step)

    @property
    def pessimistic(self) -> float:
        """Factor on the median of memory: p90 of measured runs, p80 of the prior."""
        return max(self.memory.p90, 1.0) if self.memory.n else at_p80(1.0, self.memory.p90)


def fitted_models(job: TrainingJob, is_tpu: bool) -> tuple[FittedModel, FittedModel]:
    """Fitted models of step time and memory for text."""
    room = adapter_memory if job.recipe.is_adapter else memory
    return (tpu_step if is_tpu else step).MODELS[0], room.MODELS[0]


def residuals_of(job: TrainingJob, target: Target, c: Calibration) -> TrainingResiduals:
    """Residuals of one kind of accelerator."""
    if job.sampled:
        found = SamplePrediction.of(_sample_case(job, replace(base_case(job), chip=target.chip, links=target.wires), False), c)
        return TrainingResiduals(found.residuals, found.memory_residuals)
    timing, memory_model = fitted_models(job, target.tpu)
    case = replace(base_case(job), chip=target.chip, links=target.wires)
    generation, classes = target.chip.evidence_group, timing.classes(case)
    return TrainingResiduals(
        c.residual(timing.name, classes, generation),
        c.residual(memory_model.name, memory_model.classes(case)),
        c.factor(timing.name, classes, generation),
        c.factor(memory_model.name, memory_model.classes(case), generation),
    )


def base_case(job: TrainingJob) -> TrainingCase:
    """The training case that all layouts of the job share."""
    r, n = job.recipe, job.network
    return TrainingCase(
        network=n, chip=ANY_CHIP, links=ANY_LINKS, accelerators=1.0, sequence=float(job.sequence), micro_batch=1.0, micro_batches=1.0,
        passes=r.passes, adapter=float(r.is_adapter), trainable=r.trainable, weight_bytes=r.weight_bytes, gradient_bytes=r.gradient_bytes,
        optimizer_bytes=r.optimizer_bytes, frozen_bytes=r.frozen_bytes, frozen_other_bytes=r.frozen_other_bytes,
        virtual_tokens=r.virtual_tokens, adapter_inputs=r.adapter_inputs, mean_length=job.mean_length, moe_imbalance=job.imbalance,
        numbers=r.numbers, engine=r.family, compiled=r.compiled,
    )  # fmt: skip


def memory_terms(job: TrainingJob, case: TrainingCase, c: Calibration) -> MemoryTerms:
    """Bytes on the fullest accelerator, median."""
    if job.sampled:
        return _sample_memory(job, case, c)
    model = fitted_models(job, False)[1]
    room = adapter_memory.adapter_memory if job.recipe.is_adapter else memory.training_memory
    terms = room(case, c.of(model.name, model.kind))
    return terms if job.objective is SFT else objective_costs.with_model_states(terms, job, case)


def step_terms(job: TrainingJob, case: TrainingCase, c: Calibration) -> StepTerms:
    """Seconds of one optimizer step, median; case.chip is all GPU or all TPU."""
    if job.sampled:
        return _sample_step(job, case, c)
    is_tpu = bool(np.any(case.chip.is_tpu))
    model = fitted_models(job, is_tpu)[0]
    terms = (tpu_step if is_tpu else step).step_seconds(case, c.of(model.name, model.kind))
    return terms if job.objective is SFT else objective_costs.with_model_passes(terms, job, case)


def _sample_case(job: TrainingJob, case: TrainingCase, recompute: bool) -> SampleCase:
    """Training passes of one micro-batch; case.chip is all GPU or all TPU."""
    is_tpu = bool(np.any(case.chip.is_tpu))
    return SampleCase(
        network=job.network, chip=case.chip, batch=case.micro_batch, task="adapter" if job.recipe.is_adapter else "training",
        numbers=job.recipe.numbers, compiled=float(is_tpu or job.recipe.compiled),
        operation=job.sample.operation, accelerators=case.accelerators, recompute=float(recompute), trainable=job.recipe.trainable,
    )  # fmt: skip


def _sample_memory(job: TrainingJob, case: TrainingCase, c: Calibration) -> MemoryTerms:
    n, r = job.network, job.recipe
    state = state_bytes(r.trainable, case.shards, case.zero_stage, (r.weight_bytes, r.gradient_bytes, r.optimizer_bytes))
    frozen_bytes = r.frozen_bytes * n.linear + r.frozen_other_bytes * (n.trunk - n.linear) if r.is_adapter else 0.0
    frozen = frozen_bytes / np.where(np.equal(case.zero_stage, 3), case.shards, 1) + 2.0 * n.tower
    plain, again = (SamplePrediction.of(_sample_case(job, case, recompute), c).memory for recompute in (False, True))
    activations = np.where(np.equal(case.recompute, 2), again.activations, plain.activations) * r.activation_scale
    return MemoryTerms(frozen + state.weights, state.gradients, state.optimizer, activations, fixed=plain.fixed)


def _sample_step(job: TrainingJob, case: TrainingCase, c: Calibration) -> StepTerms:
    n, r, m = job.network, job.recipe, case.micro_batches
    full = np.equal(case.recompute, 2)
    plain, again = (SamplePrediction.of(_sample_case(job, case, recompute), c).pass_s for recompute in (False, True))
    reduced = communication.reduce_bytes(case.replicas, r.trainable, r.gradient_bytes)
    gathered = np.equal(case.zero_stage, 3) * m * communication.gather_bytes(case.shards, n.trunk)
    sent = communication.sharded_collective_seconds(reduced + gathered, case.replicas, 1.0, case.links)
    shown = communication.exposed_seconds(sent, c.of("step", step.StepCoefficients).data_hidden, m * plain)
    return StepTerms(compute=m * plain, recompute=m * full * (again - plain), data_exposed=shown, data_total=sent)
