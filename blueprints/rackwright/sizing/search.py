"""How many of an offer's machines to ask about, and which search answers. Joins offers to the rooms that know numbers only."""

from collections.abc import Iterator
from dataclasses import replace

from rackwright.errors import Bug
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.candidates import Offer, needs_fabric
from rackwright.sizing.demand import CustomJob, Job
from rackwright.sizing.hardware import hardware
from rackwright.sizing.outcome import Outcome
from rackwright.sizing.plan import GIB, Limit, Memory, Rejection
from rackwright.sizing.serve import ServingJob, best_batch, best_serving
from rackwright.sizing.target import Target
from rackwright.sizing.train import best_training
from rackwright.spec.spec import Spec

UNASKABLE = {Limit.DATA, Limit.BLUEPRINT, Limit.REGION, Limit.CAPACITY}
"""Offers refused for these are not searched: there is nothing to compute with, or nothing to buy."""


def searched(offer: Offer, job: Job, spec: Spec, a: Assumptions) -> Iterator[tuple[int, Outcome]]:
    """Node counts worth asking, each with the best way found."""
    if any(r.limit in UNASKABLE for r in offer.rejections):
        yield offer.nodes or 1, Outcome()
        return
    if isinstance(job, ServingJob) and not job.ends:
        found = _serve(job, _target(offer, 1, a), offer, a)
        pinned = _pinned_nodes(offer, spec)
        nodes = max(found.nodes, 1)
        if pinned is not None and nodes > pinned:
            short = Rejection(Limit.THROUGHPUT, nodes, pinned, "machines", "the pin's nodes", f"nodes: {nodes}")
            found = replace(found, rejections=(*found.rejections, short))
        yield (pinned or nodes), found
        return
    for nodes in _counts(offer, not isinstance(job, ServingJob), spec, a):
        yield nodes, _one(job, _target(offer, nodes, a), offer, a)


def _pinned_nodes(offer: Offer, spec: Spec) -> int | None:
    pin = spec.infra.places[offer.place].pin
    return pin.nodes if pin and offer.pinned else None


def _counts(offer: Offer, joined: bool, spec: Spec, a: Assumptions) -> list[int]:
    """What a slice, block or pin fixes; else powers of two up to the first that is over the organisation's limit. Machines without
    a fabric are asked twice for one job: alone, and as a pair that cannot work together."""
    fixed = _pinned_nodes(offer, spec) or offer.nodes
    if fixed:
        return [fixed]
    most = (spec.limits.accelerators or a.most_accelerators / 2) / offer.machine.accelerator_count
    counts = [1]
    while counts[-1] <= most and not (joined and needs_fabric(offer) and len(counts) == 2):
        counts.append(counts[-1] * 2)
    return counts


def _target(offer: Offer, nodes: int, a: Assumptions) -> Target:
    chips = offer.slice.chips if offer.slice else 0
    if offer.accelerator is None:
        raise Bug(f"{offer.machine.name} has no accelerator and was not refused")
    hw = hardware(offer.machine, offer.accelerator, chips, nodes)
    return Target(
        hw.accelerator, hw.vendor, float(hw.memory_bytes or 0), float(hw.bandwidth_bytes_per_s or 0), float(hw.base_peak or 0),
        hw.links(a), nodes, max(offer.slices, 1), hw.kind == "tpu",
        next((name for name in ("fp8", "int8") if hw.peak(name)), ""),
    )  # fmt: skip


def _one(job: Job, target: Target, offer: Offer, a: Assumptions) -> Outcome:
    if isinstance(job, CustomJob):
        return _custom(job, target, a)
    if isinstance(job, ServingJob):
        return _serve(job, target, offer, a)
    refused = _precision(job.precision, offer)
    if job.precision == "fp32" and offer.accelerator:
        target = replace(target, base_peak=offer.accelerator.peak("tf32") or offer.accelerator.peak("fp32") or target.base_peak)
    found = best_training(job, target, a)
    return replace(found, rejections=(*found.rejections, *refused)) if refused else found


def _serve(job: ServingJob, target: Target, offer: Offer, a: Assumptions) -> Outcome:
    """Weights in the format they are published in, unless said, where the accelerator computes in it; else in 16 bit."""
    accelerator = offer.accelerator
    if accelerator is None:
        raise Bug(f"{offer.machine.name} has no accelerator and was not refused")
    sixteen = "bf16" if accelerator.supports("bf16") else "fp16"
    precision = job.precision
    if precision == "auto":
        precision = sixteen if job.native == "bf16" or _precision(job.native, offer, weights=True) else job.native
    peak = accelerator.peak(precision) if precision not in ("nf4", "fp32") else None
    search = best_batch if job.ends else best_serving
    found = search(job, target, peak or target.base_peak, precision, a)
    refused = (*_precision(precision, offer, weights=True), *(() if job.products == "auto" else _precision(job.products, offer)))
    return replace(found, rejections=(*found.rejections, *dict.fromkeys(refused))) if refused else found


def _precision(precision: str, offer: Offer, weights: bool = False) -> tuple[Rejection, ...]:
    """Number formats the accelerator has no arithmetic for; nf4 is computed in 16 bit, everything has fp32. Weights in fp4 are
    multiplied in 16 bit where there is no fp4 (vLLM's Marlin kernels, from NVIDIA Ampere on: those with bf16)."""
    if precision in ("nf4", "fp32") or (offer.accelerator and offer.accelerator.supports(precision)):
        return ()
    if weights and precision == "fp4" and offer.accelerator and offer.accelerator.supports("bf16"):
        return ()
    remedy = "precision: fp16" if precision == "bf16" else "precision: bf16, or a newer accelerator"
    name = offer.accelerator.name if offer.accelerator else "it"
    return (Rejection(Limit.PRECISION, None, None, words=f"no {precision} on {name}", remedy=remedy),)


def _custom(job: CustomJob, target: Target, a: Assumptions) -> Outcome:
    """The user's own numbers: memory per accelerator, how many, how long."""
    memory = Memory(target.memory_bytes, a.max_fill, weights_bytes=job.accelerator_memory_bytes)
    refused = []
    if memory.fill > a.max_fill:
        have = target.memory_bytes * a.max_fill / GIB
        refused.append(Rejection(Limit.DEVICE_MEMORY, job.accelerator_memory_bytes / GIB, have, "GiB per accelerator"))
    if target.accelerators < job.accelerators:
        refused.append(Rejection(Limit.THROUGHPUT, job.accelerators, target.accelerators, "accelerators", remedy="more machines"))
    evidence = "your own numbers"
    return Outcome(memory=memory, work_s=job.duration_s, band=1.2, evidence=evidence, nodes=target.nodes, rejections=tuple(refused))
