"""Choices of a training configuration that exclude one another, or that would change nothing."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At, Problem
from rackwright.estimator.config import accelerators
from rackwright.estimator.config.configuration import TrainingConfig
from rackwright.estimator.config.engines import engine_family

SPLIT_BACKWARD_SCHEDULES = ("zero-bubble", "dualpipe")
"""Schedules that put the gradients of the weights off, to fill the pipeline's bubble with them."""
FULL_SHARDING = ("zero3", "fsdp", "hsdp")


def conflict_problems(config: TrainingConfig) -> Iterator[Problem]:
    yield from _schedule_problems(config)
    yield from _offload_problems(config)
    yield from _ignored_field_problems(config)
    if accelerators.find(config.hardware.accelerator).is_tpu:
        yield from _tpu_problems(config)


def _schedule_problems(config: TrainingConfig) -> Iterator[Problem]:
    w, at = config.layout, At() / "layout" / "schedule"
    if w.schedule not in SPLIT_BACKWARD_SCHEDULES:
        return
    if w.pipeline == 1:
        yield Problem("E-schedule", f"{w.schedule} without a pipeline", at, "pipeline: 2 or more")
    if w.virtual > 1:
        yield Problem("E-schedule", f"{w.schedule} cuts stages its own way", At() / "layout" / "virtual", "virtual: 1")
    if config.adapter is not None:
        yield Problem("E-schedule", "a frozen base has no gradients of weights to put off", at, "schedule: 1f1b")
    if w.schedule == "dualpipe" and w.pipeline % 2:
        yield Problem("E-schedule", f"{w.pipeline} stages have no middle to meet in", At() / "layout" / "pipeline", "an even number")


def _offload_problems(config: TrainingConfig) -> Iterator[Problem]:
    shard = config.layout.shard
    is_whole = shard in FULL_SHARDING if shard else engine_family(config.engine.name, "train").zero_stage >= 3
    if "parameters" in config.offload and not is_whole:
        reason = "only weights that ZeRO-3 gathers when they are needed can rest on the host"
        yield Problem("E-offload", reason, At() / "offload", "layout.shard: zero3")


def _ignored_field_problems(config: TrainingConfig) -> Iterator[Problem]:
    """What is said and would be ignored."""
    if not config.packed and not config.mean_length:
        yield Problem("E-length", "of samples that are padded the mean length decides", At() / "packed", "mean_length: tokens")
    if config.recompute == "none" and config.recompute_share < 1:
        yield Problem("E-recompute", "a share of no recompute", At() / "recompute_share", "recompute: full")
    if config.evaluations and not config.tokens:
        yield Problem("E-evaluations", "a run of unknown length is not evaluated", At() / "evaluations", "tokens: of the whole run")
    for field in ("weight_numbers", "gradient_numbers"):
        if config.adapter is not None and getattr(config, field):
            yield Problem("E-numbers", "adapters train in fp32; a frozen base has its own format", At() / field, "base_numbers")


def _tpu_problems(config: TrainingConfig) -> Iterator[Problem]:
    """XLA shards by FSDP within a slice; the rest has no formula there."""
    if config.layout.pipeline > 1:
        yield Problem("E-layers", "a pipeline over TPU chips is not modelled", At() / "layout" / "pipeline", "pipeline: 1, shard: fsdp")
    for part in sorted({"optimizer", "parameters"} & set(config.offload)):
        yield Problem("E-offload", f"the time that offloading the {part} of a TPU takes is not modelled", At() / "offload")
