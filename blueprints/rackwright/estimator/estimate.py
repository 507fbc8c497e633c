"""`estimate(config)`: memory, time, rates and launch flags of one pinned configuration, with intervals and their evidence."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from rackwright.catalog.read import Catalog
from rackwright.estimator import launch_flags, samples
from rackwright.estimator.calibration.coefficients import Calibration, calibration
from rackwright.estimator.config import assumed, resolve
from rackwright.estimator.config.configuration import Configuration, SampleConfig, ServingConfig, TrainingConfig
from rackwright.estimator.config.constraints import sample_problems
from rackwright.estimator.config.jsonl import parse_configuration
from rackwright.estimator.dataset.nearest_runs import nearest_runs
from rackwright.estimator.dataset.nearest_samples import nearest_sample_runs
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.from_architecture import architecture_of, model_dimensions
from rackwright.estimator.predict import ServingPrediction, TrainingPrediction
from rackwright.estimator.predict_samples import SamplePrediction
from rackwright.estimator.result import Estimate, MemoryTerms, PredictionInterval
from rackwright.estimator.serving.first_token import extra_parts
from rackwright.estimator.serving.speculation import MAX_ACCEPTANCE
from rackwright.estimator.training.memory import usable_bytes
from rackwright.estimator.training.run_time import run_time_fields

MAX_FILL = 0.92
"""Usable share of accelerator memory for whole samples; published runs above it fail on allocation."""
ADAPTER_SHARE = 0.005
"""Trained share of the weights with LoRA when layer widths are unknown. Assumption of rackwright, 2026-11."""
CANNOT_START = "The KV cache left beside the weights cannot hold the longest request, so the server does not start."
QUEUE_GROWS = "The request rate exceeds what the replicas sustain, so the queue grows without limit. The output rate is their maximum."
ONE_TOKEN = "output_tokens 1: an answer of one token has no time per output token (TPOT)"
ACCEPTED = f"An acceptance of drafts above {MAX_ACCEPTANCE:.0%} is higher than published for draft models; measure it on your requests."
PRIOR_ONLY_EVIDENCE = "prior only: no measured run of this class on this accelerator generation"


def estimate(config: Configuration | Mapping[str, Any], calibrated: Calibration | None = None, catalog: Catalog | None = None) -> Estimate:
    """Estimate one configuration.

    config: a configuration, or its plain data as in a JSONL line.
    calibrated: result of `load_calibration`; default: the shipped coefficients.
    catalog: has the accelerator; default: the embedded one.
    Raises UserError with every problem of the configuration and its path.
    """
    if isinstance(config, Mapping):
        config = parse_configuration(config)
    c, known = calibrated or calibration(), catalog or Catalog.default()
    if isinstance(config, TrainingConfig):
        return _training(config, c, known)
    return _serving(config, c, known) if isinstance(config, ServingConfig) else _samples(config, c, known)


def _training(config: TrainingConfig, c: Calibration, catalog: Catalog) -> Estimate:
    case = resolve.training_case(config, catalog=catalog)
    found = TrainingPrediction.of(case, c)
    step_s = found.step_residuals.interval(float(found.step.total))
    peak = found.memory_residuals.interval(float(found.memory.total))
    real = found.sample_tokens
    rate = step_s.inverse(float(case.step_tokens) * real / config.sequence)
    limit = float(usable_bytes(case))
    room = limit / max(found.memory_residuals.p90, 1.0)
    run = assumed.computed_config(config, catalog)
    return Estimate(
        id=config.id,
        kind=config.kind,
        memory=_as_floats(found.memory),
        memory_stages=tuple(_as_floats(found.stage(i)) for i in range(config.layout.pipeline)) if config.layout.pipeline > 1 else (),
        peak_memory_bytes=peak,
        capacity_bytes=float(case.chip.memory_bytes),
        fits=peak.p90 <= limit,
        step=_as_floats(found.step),
        step_s=step_s,
        tokens_per_s=rate,
        tokens_per_s_per_accelerator=rate.scaled(1 / config.hardware.count),
        samples_per_s=rate.scaled(1 / real),
        mfu=float(found.model_flops / (step_s.p50 * config.hardware.count * case.chip.base_peak_flops)),
        largest_micro_batch=found.max_micro_batch(room),
        largest_context=found.max_context_tokens(room),
        launch=launch_flags.training_flags(run, architecture_of(config.model), int(case.links.per_node), bool(case.chip.is_tpu)),
        nearest=nearest_runs(config, case, catalog),
        assumptions=assumed.assumptions_of(config, case, catalog),
        evidence=_evidence(step_s),
        version=c.version,
        **(run_time_fields(replace(case, sequence=real), config.tokens, step_s, config.evaluations) if config.tokens else {}),
    )


def _serving(config: ServingConfig, c: Calibration, catalog: Catalog) -> Estimate:
    case = resolve.serving_case(config, catalog=catalog)
    if config.max_batched_tokens:
        default = resolve.serving_case(config.model_copy(update={"max_batched_tokens": None}), catalog=catalog).batched_tokens
        case = replace(case, extra_parts=extra_parts(case, default))
    found = ServingPrediction.of(case, c)
    if config.prefill and config.decode:
        prefill, decode = (resolve.serving_case(config, pool, catalog=catalog) for pool in (config.prefill, config.decode))
        found = found.disaggregated(prefill, decode)
    memory = _as_floats(found.memory)
    output = found.rate_residuals.interval(found.output_tokens_per_s)
    is_plausible = config.speculation is None or config.speculation.acceptance <= MAX_ACCEPTANCE
    conditions = ((CANNOT_START, found.can_start), (QUEUE_GROWS, found.sustains_rate), (ACCEPTED, is_plausible))
    # the engine fills its memory budget, so the prediction error falls on the KV cache
    peak = PredictionInterval(memory.total, memory.total, memory.total, found.kv_residuals.n)
    return Estimate(
        id=config.id,
        kind=config.kind,
        memory=memory,
        peak_memory_bytes=peak,
        capacity_bytes=float(case.chip.memory_bytes),
        fits=found.can_start,
        ttft_s=None if found.is_offline else found.ttft_residuals.interval(found.ttft_s),
        tpot_s=found.tpot_residuals.interval(found.tpot_s) if config.output_tokens > 1 else None,
        output_tokens_per_s=output,
        output_tokens_per_s_per_accelerator=output.scaled(1 / config.hardware.count),
        requests_per_s=output.scaled(1 / config.output_tokens),
        concurrency=found.running * float(found.case.replicas),
        kv_tokens=found.kv_residuals.interval(found.kv_tokens),
        largest_context=int(found.max_context),
        launch=launch_flags.serving_flags(assumed.computed_config(config, catalog)),
        nearest=nearest_runs(config, case, catalog),
        assumptions=(*assumed.assumptions_of(config, case, catalog), *([ONE_TOKEN] if config.output_tokens <= 1 else [])),
        evidence=_evidence(found.tpot_residuals.interval(1.0)),
        warnings=tuple(text for text, is_met in conditions if not is_met),
        version=c.version,
    )


def _samples(config: SampleConfig, c: Calibration, catalog: Catalog) -> Estimate:
    """Estimate whole samples, data parallel: every accelerator holds the whole network."""
    n = model_dimensions(architecture_of(config.model))
    a = resolve.found_accelerator(config.hardware, catalog)
    resolve.raise_problems(sample_problems(config, n, a))
    case = resolve.sample_case(config, catalog=catalog)
    found = SamplePrediction.of(case, c)
    memory = _sample_memory(config, n, config.batch)
    taken, peak = found.residuals.interval(float(found.batch_s)), found.memory_residuals.interval(float(memory.total))
    limit = float(case.chip.memory_bytes) * MAX_FILL
    empty, one = (float(_sample_memory(config, n, batch).total) for batch in (0.0, 1.0))  # memory is linear in the batch
    return Estimate(
        id=config.id,
        kind=config.kind,
        memory=_as_floats(memory),
        peak_memory_bytes=peak,
        capacity_bytes=float(case.chip.memory_bytes),
        fits=peak.p50 <= limit,
        step_s=taken,
        samples_per_s=taken.inverse(config.batch * config.hardware.count),
        largest_micro_batch=max(int((limit - empty) / (one - empty)), 0) if one > empty else 0,
        nearest=nearest_sample_runs(config, case, catalog),
        evidence=_evidence(taken),
        version=c.version,
    )


def _sample_memory(config: SampleConfig, n: ModelDimensions, batch: float) -> MemoryTerms:
    """Return the memory of one accelerator. Weights outside linear layers stay in 16 bit."""
    if config.train:
        trainable = ADAPTER_SHARE * n.total if config.adapter else n.trunk
        return samples.training_memory(n, batch, trainable, recompute=config.recompute == "full")
    each = resolve.NF4_BYTES_PER_WEIGHT[True] if config.numbers == "nf4" else resolve.BYTES_PER_WEIGHT[config.numbers]
    return samples.forward_memory(n, batch, n.linear * each + (n.total - n.linear) * max(each, 2.0))


def _evidence(b: PredictionInterval) -> str:
    return f"{b.n} measured runs of this class" if b.n else PRIOR_ONLY_EVIDENCE


def _as_floats(terms: Any) -> Any:
    """Convert numpy scalars to floats."""
    return type(terms)(*(float(getattr(terms, f.name)) for f in fields(terms)))
