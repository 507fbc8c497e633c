"""The best way to run one job on each of a fleet's targets. Joins what was asked to the rooms that know numbers only."""

from dataclasses import replace

from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.demand import CustomJob, Job
from rackwright.sizing.job import TrainingJob
from rackwright.sizing.outcome import Outcome
from rackwright.sizing.plan import GIB, Limit, Memory, Rejection
from rackwright.sizing.serve import ServingJob, best_batch, best_serving
from rackwright.sizing.target import Machines, Target
from rackwright.sizing.train import best_training


def search(job: Job, machines: Machines, a: Assumptions) -> list[Outcome]:
    """One outcome per target, in order."""
    if isinstance(job, CustomJob):
        return [_custom(job, t, a) for t in machines.targets]
    if isinstance(job, ServingJob):
        return [_serve(job, t, a) for t in machines.targets]
    return _train(job, machines, a)


def _train(job: TrainingJob, machines: Machines, a: Assumptions) -> list[Outcome]:
    found = best_training(job, machines.computing(job.precision), a)
    refused = {t.accelerator: _precision(job.precision, t) for t in machines.targets}
    return [
        replace(o, rejections=(*o.rejections, *more)) if (more := refused[t.accelerator]) else o
        for o, t in zip(found, machines.targets, strict=True)
    ]


def _serve(job: ServingJob, target: Target, a: Assumptions) -> Outcome:
    """Weights in the format they are published in, unless said, where the accelerator computes in it; else in 16 bit."""
    peaks = dict(target.flops)
    sixteen = "bf16" if "bf16" in peaks else "fp16"
    precision = job.precision
    if precision == "auto":
        precision = sixteen if job.native == "bf16" or _precision(job.native, target, weights=True) else job.native
    peak = peaks.get(precision) if precision not in ("nf4", "fp32") else None
    search = best_batch if job.ends else best_serving
    found = search(job, target, peak or target.chip.base_peak_flops, precision, a)
    refused = (*_precision(precision, target, weights=True), *(() if job.products == "auto" else _precision(job.products, target)))
    return replace(found, rejections=(*found.rejections, *dict.fromkeys(refused))) if refused else found


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
    evidence = "your own numbers"
    return Outcome(memory=memory, work_s=job.duration_s, band=1.2, evidence=evidence, nodes=target.nodes, rejections=tuple(refused))
