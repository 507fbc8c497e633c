"""Fields of a training configuration that exclude each other, or that would have no effect."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At, Problem
from rackwright.estimator.config.accelerators import AcceleratorRates
from rackwright.estimator.config.configuration import TrainingConfig
from rackwright.estimator.config.engines import engine_family
from rackwright.estimator.training.activations import SPLIT_BACKWARD

FULL_SHARDING = ("zero3", "fsdp", "hsdp")


def conflict_problems(config: TrainingConfig, a: AcceleratorRates) -> Iterator[Problem]:
    """Yield every conflict between two fields."""
    yield from _schedule_problems(config)
    shard = config.layout.shard
    is_sharded = shard in FULL_SHARDING if shard else engine_family(config.engine.name, "train").zero_stage >= 3
    if "parameters" in config.offload and not is_sharded:
        reason = "offloading parameters needs sharded weights (ZeRO-3 or FSDP)"
        yield Problem("E-offload", reason, At() / "offload", "layout.shard: zero3")
    yield from _ignored_field_problems(config)
    if not a.is_tpu:
        return
    if config.layout.pipeline > 1:  # XLA shards by FSDP within a slice
        reason = f"pipeline parallelism on TPUs is not modelled, got {config.layout.pipeline} stages"
        yield Problem("E-layers", reason, At() / "layout" / "pipeline", "pipeline: 1, shard: fsdp")
    for part in sorted({"optimizer", "parameters"} & set(config.offload)):
        yield Problem("E-offload", f"offloading the {part} on TPUs is not modelled", At() / "offload", f"remove {part}")


def _schedule_problems(config: TrainingConfig) -> Iterator[Problem]:
    w, at = config.layout, At() / "layout" / "schedule"
    if w.schedule not in SPLIT_BACKWARD:
        return
    if w.pipeline == 1:
        yield Problem("E-schedule", f"schedule {w.schedule} needs a pipeline, but pipeline is 1", at, "pipeline: 2 or more")
    if w.virtual > 1:
        reason = f"schedule {w.schedule} does not support virtual stages, got {w.virtual}"
        yield Problem("E-schedule", reason, At() / "layout" / "virtual", "virtual: 1")
    if config.adapter is not None:
        reason = f"schedule {w.schedule} delays weight gradients, but the base of an adapter has none"
        yield Problem("E-schedule", reason, at, "schedule: 1f1b")
    if w.schedule == "dualpipe" and w.pipeline % 2:
        reason = f"schedule dualpipe needs an even number of stages, got {w.pipeline}"
        yield Problem("E-schedule", reason, At() / "layout" / "pipeline", f"pipeline: {w.pipeline + 1}")


def _ignored_field_problems(config: TrainingConfig) -> Iterator[Problem]:
    """Yield problems of fields that would have no effect."""
    if not config.packed and not config.mean_length:
        yield Problem("E-length", "packed is false, but mean_length is missing", At() / "packed", "mean_length: mean tokens per sample")
    if config.recompute == "none" and config.recompute_share < 1:
        reason = f"recompute_share {config.recompute_share:g} has no effect, because recompute is none"
        yield Problem("E-recompute", reason, At() / "recompute_share", "recompute: full")
    if config.evaluations and not config.tokens:
        reason = f"evaluations is {config.evaluations}, but tokens of the run are missing"
        yield Problem("E-evaluations", reason, At() / "evaluations", "tokens: total tokens of the run")
    for field in ("weight_numbers", "gradient_numbers"):
        if config.adapter is not None and getattr(config, field):
            reason = f"{field} has no effect with an adapter: adapters train in fp32"
            yield Problem("E-numbers", reason, At() / field, "leave it out; base_numbers sets the format of the frozen base")
