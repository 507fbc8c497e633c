"""Rollouts of reinforcement learning: an inference engine generates the answers of a step on the accelerators that then train on them.

The engine has the memory that the trainer's states leave: its cache is freed while the trainer runs. All answers of a step end before it.
Does not depend on the catalog or the spec.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import ServingJob, TrainingJob
from rackwright.sizing.metrics import Memory, Speed
from rackwright.sizing.rejection import Reason
from rackwright.sizing.search.outcome import UNKNOWN, Outcome
from rackwright.sizing.search.serving.best_serving import best_batch
from rackwright.sizing.search.target import TargetArrays, sixteen_bits

WEIGHT_BYTES = 2.0
"""Bytes per parameter that the trainer sends to the engine after each step: 16 bit."""


def with_rollouts(
    job: TrainingJob, rollouts: ServingJob, machines: TargetArrays, trained: Sequence[Outcome], a: Assumptions, c: Calibration
) -> list[Outcome]:
    """Training outcomes with the time and the rejections of the rollouts. machines: those of `trained`, in order."""
    states = np.array([_state_bytes(outcome.memory) for outcome in trained])
    room = np.maximum(machines.chip.memory_bytes - states, 1.0)
    targets = tuple(
        replace(target, chip=replace(target.chip, memory_bytes=float(left))) for target, left in zip(machines.targets, room, strict=True)
    )
    formats = [sixteen_bits(target) for target in targets]
    generated = best_batch(rollouts, TargetArrays.of(targets), formats, a, c)
    wires = machines.wires
    sent_s = WEIGHT_BYTES * job.network.total / np.where(machines.nodes > 1, wires.scale_out_bytes_per_s, wires.scale_up_bytes_per_s)
    return [_combined(job, *each) for each in zip(trained, generated, sent_s.tolist(), strict=True)]


def _state_bytes(memory: Memory | None) -> float:
    return memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes if memory else 0.0


def _combined(job: TrainingJob, trained: Outcome, generated: Outcome, sent_s: float) -> Outcome:
    if trained.work_s is None or generated.work_s is None:
        beside = tuple(replace(r, reason=Reason.ROLLOUT_MEMORY) if r.reason is Reason.REPLICA_MEMORY else r for r in generated.rejections)
        return replace(trained, rejections=(*trained.rejections, *(beside if trained.memory else ())))
    rollout_s = generated.work_s + sent_s
    work = trained.work_s + rollout_s * job.objective.steps
    rates = _rates(trained.speed, trained.work_s / work)
    parts = _parts(trained.speed, trained.work_s / job.objective.steps)
    speed = replace(trained.speed, step_s=work / job.objective.steps, rollout_s=rollout_s, **rates, **parts)
    return replace(trained, speed=speed, work_s=work, band=UNKNOWN, evidence=UNKNOWN.words)


def _parts(speed: Speed, trained_s: float) -> dict[str, float]:
    """Parts of a step that the trainer takes, whose samples are shorter than the sequences of the search."""
    parts = {name: getattr(speed, name) for name in ("compute_s", "communication_s", "bubble_s")}
    return {name: part * trained_s / speed.step_s for name, part in parts.items() if part is not None and speed.step_s}


def _rates(speed: Speed, share: float) -> dict[str, float]:
    """Rates of the whole run, of which the trainer works a share."""
    rates = {name: getattr(speed, name) for name in ("tokens_per_s", "samples_per_s", "mfu")}
    return {name: rate * share for name, rate in rates.items() if rate is not None}
