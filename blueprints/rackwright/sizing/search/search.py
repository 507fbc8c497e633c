"""The best way to run one job on each of a fleet's targets. Joins what was asked to the rooms that know numbers only."""

from dataclasses import replace

from rackwright.estimator.calibration.coefficients import calibration
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import ServingJob, TrainingJob
from rackwright.sizing.metrics import Limit, Memory, Rejection
from rackwright.sizing.search.outcome import Outcome, Spread
from rackwright.sizing.search.target import Target, TargetArrays
from rackwright.sizing.workload_inputs import CustomJob, Job
from rackwright.units import GIB

OWN_SPREAD = 1.2
"""p90 over median of what a user says of his own runs; rackwright's choice 2026-11."""


def search(job: Job, machines: TargetArrays, a: Assumptions) -> list[Outcome]:
    """One outcome per target, in order."""
    if isinstance(job, CustomJob):
        return [_custom(job, t, a) for t in machines.targets]
    if isinstance(job, ServingJob):
        return _serve(job, machines, a)
    return _train(job, machines, a)


def _train(job: TrainingJob, machines: TargetArrays, a: Assumptions) -> list[Outcome]:
    """GPUs and TPUs apart; what the accelerator cannot compute is said beside what it would take."""
    from rackwright.sizing.search.training import best_training

    found: dict[int, Outcome] = {}
    for which, some in machines.kinds:
        tpu = some.targets[0].tpu
        if tpu and job.recipe.is_adapter:
            outcomes = [_untrained(job)] * len(which)
        else:
            kind = job.on_tpu() if tpu else job
            outcomes = best_training(kind, some.computing(job.precision), a.max_fill, calibration())
        found.update(zip(which.tolist(), outcomes, strict=True))
    kinds = {t.accelerator: t for t in machines.targets}
    refused = {name: (*_precision(job.precision, t), *_untaught(job, t)) for name, t in kinds.items()}
    return _with([found[i] for i in range(len(machines.targets))], machines, refused)


def _untrained(job: TrainingJob) -> Outcome:
    words, remedy = f"no run of {job.method} on TPU is published", "adapter: {type: none}, or a GPU"
    return Outcome(precision=job.precision, rejections=(Rejection(Limit.DATA, None, None, words=words, remedy=remedy),))


def _untaught(job: TrainingJob, target: Target) -> tuple[Rejection, ...]:
    """Neuron's trainers know language models, whole or by LoRA (NxD Training 1.2, 2025-04; optimum-neuron)."""
    if not target.neuron or (job.method in ("full", "lora") and not job.sampled):
        return ()
    what = "images" if job.sampled else job.method
    words, remedy = f"no trainer of {what} on {target.accelerator} is documented", "adapter: {type: lora}, or a GPU"
    return (Rejection(Limit.DATA, None, None, words=words, remedy="a GPU" if job.sampled else remedy),)


def _unserved(job: ServingJob, target: Target) -> tuple[Rejection, ...]:
    """vLLM's Neuron plugin generates text; anything else is compiled by hand."""
    if not target.neuron or job.generates:
        return ()
    return (Rejection(Limit.DATA, None, None, words=f"no engine for this model on {target.accelerator} is documented", remedy="a GPU"),)


def _serve(job: ServingJob, machines: TargetArrays, a: Assumptions) -> list[Outcome]:
    formats = [_format(job, t) for t in machines.targets]
    if job.generates:
        from rackwright.sizing.search.serving import best_batch, best_serving

        found = (best_batch if job.ends else best_serving)(job, machines, formats, a, calibration())
    else:
        from rackwright.sizing.search.forward_pass import answer_in_passes

        found = [answer_in_passes(job, t, numbers, a) for t, numbers in zip(machines.targets, formats, strict=True)]
    refused = {}
    for t, numbers in zip(machines.targets, formats, strict=True):
        products = () if job.products == "auto" else _precision(job.products, t)
        refused[t.accelerator] = tuple(dict.fromkeys((*_precision(numbers, t, weights=True), *products, *_unserved(job, t))))
    return _with(found, machines, refused)


def _format(job: ServingJob, target: Target) -> str:
    """Weights in the format they are published in, unless said, where the accelerator computes in it; else in 16 bit."""
    if job.precision != "auto":
        return job.precision
    sixteen = "bf16" if "bf16" in dict(target.flops) else "fp16"
    return sixteen if job.native == "bf16" or _precision(job.native, target, weights=True) else job.native


def _with(found: list[Outcome], machines: TargetArrays, refused: dict[str, tuple[Rejection, ...]]) -> list[Outcome]:
    """What the accelerator cannot do, beside what else speaks against it."""
    return [
        replace(o, rejections=(*o.rejections, *more)) if (more := refused[t.accelerator]) else o
        for o, t in zip(found, machines.targets, strict=True)
    ]


def _precision(precision: str, target: Target, weights: bool = False) -> tuple[Rejection, ...]:
    """Number formats the accelerator has no arithmetic for; nf4 is computed in 16 bit, everything has fp32. Weights in fp4 are
    multiplied in 16 bit where there is no fp4 (vLLM's Marlin kernels, from NVIDIA Ampere on: those with bf16)."""
    peaks = dict(target.flops)
    if precision in ("nf4", "fp32") or precision in peaks:
        return ()
    if weights and precision == "fp4" and "bf16" in peaks:
        return ()
    remedy = "precision: fp16" if precision == "bf16" else "precision: bf16, or a newer accelerator"
    return (Rejection(Limit.PRECISION, None, None, words=f"no {precision} on {target.accelerator}", remedy=remedy),)


def _custom(job: CustomJob, target: Target, a: Assumptions) -> Outcome:
    """The user's own numbers: memory per accelerator, how many, how long."""
    have = target.chip.memory_bytes
    memory = Memory(have, a.max_fill, weights_bytes=job.accelerator_memory_bytes)
    refused = []
    if memory.fill > a.max_fill:
        need = job.accelerator_memory_bytes / GIB
        refused.append(Rejection(Limit.DEVICE_MEMORY, need, have * a.max_fill / GIB, "GiB per accelerator"))
    if target.accelerators < job.accelerators:
        refused.append(Rejection(Limit.THROUGHPUT, job.accelerators, target.accelerators, "accelerators", remedy="more machines"))
    own = Spread(1 / OWN_SPREAD, OWN_SPREAD)
    return Outcome(
        memory=memory, work_s=job.duration_s, band=own, evidence="your own numbers", nodes=target.nodes, rejections=tuple(refused)
    )
