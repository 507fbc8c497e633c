"""A custom workload on other accelerators, from the user's measured runs. Does not depend on the catalog or the spec.

A part of the time of a sample falls with FLOP/s, the rest with memory bandwidth (roofline: Williams et al. 2009). The rate grows with a
power of the number of accelerators. Runs seldom determine both, so every form that agrees with them counts for the interval.
"""

import math
from collections.abc import Iterator

import numpy as np

from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import CustomJob, CustomRun
from rackwright.sizing.metrics import Memory, ParallelLayout, Speed
from rackwright.sizing.rejection import Limit, Reason, Rejection, Remedy
from rackwright.sizing.search.outcome import Outcome, Spread
from rackwright.sizing.search.target import Target
from rackwright.units import GIB

COMPUTE_SHARES = np.linspace(0.0, 1.0, 21)[:, None]
"""Parts of the time on the first run's accelerator that FLOP/s determine; memory bandwidth determines the rest."""
SCALING_POWERS = np.linspace(0.8, 1.0, 5)
"""Powers of the number of accelerators; 0.8 is 1.74 times the rate on twice the accelerators. Assumption of rackwright, 2026-11."""
EQUAL_RUNS = 0.07
"""Log error below which forms count as equal: equal published runs differ by 7 % (docs/accuracy.md)."""
OWN_SPREAD = 1.2
"""Least p90 over median of the user's own numbers. Assumption of rackwright, 2026-11."""
Z90 = 1.2816
"""Standard normal quantile."""


def measured_outcome(job: CustomJob, target: Target, precision: str, a: Assumptions) -> Outcome:
    """Memory of the nearest run, and the rate with the interval of all forms that agree with the runs."""
    smaller = [run for run in job.runs if run.accelerators <= target.accelerators]
    run = max(smaller, key=lambda run: (run.accelerators, run.memory_bytes), default=job.runs[0])
    memory = Memory(target.chip.memory_bytes, a.max_fill, measured_bytes=run.memory_bytes)
    errors, logs = _forms(job.runs)
    agrees = errors <= max(1.5 * errors.min(), EQUAL_RUNS)
    flops = target.peak(precision) * target.chip.sustained_share
    rates = np.exp(logs + _log_rate(job.runs[0], flops, target.chip.bandwidth_bytes_per_s, target.accelerators))[agrees]
    low, high = float(rates.min()), float(rates.max())
    rate, spread = math.sqrt(low * high), max(OWN_SPREAD, math.exp(Z90 * errors.min()))
    return Outcome(
        parallelism=ParallelLayout(data=target.accelerators),
        memory=memory,
        speed=Speed(samples_per_s=rate),
        work_s=job.samples / rate,
        band=Spread(rate / high / spread, rate / low * spread, len(job.runs)),
        evidence=f"your measured runs (n={len(job.runs)})",
        precision=precision,
        nodes=target.nodes,
        rejections=tuple(_rejections(job, target, memory)),
    )


def _forms(runs: tuple[CustomRun, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Per form (compute share, scaling power) the log error over the runs, and the log rate of one of the first run's accelerators."""
    first = runs[0]
    over = np.array([math.log(r.samples_per_s) - _log_rate(first, r.flops, r.bandwidth_bytes_per_s, r.accelerators) for r in runs])
    return over.std(axis=0), over.mean(axis=0)


def _log_rate(first: CustomRun, flops: float, bandwidth_bytes_per_s: float, accelerators: int) -> np.ndarray:
    """Log of the rate per form, relative to one accelerator of the first run."""
    seconds = COMPUTE_SHARES * first.flops / flops + (1 - COMPUTE_SHARES) * first.bandwidth_bytes_per_s / bandwidth_bytes_per_s
    return SCALING_POWERS * math.log(accelerators) - np.log(seconds)


def _rejections(job: CustomJob, target: Target, memory: Memory) -> Iterator[Rejection]:
    if memory.fill > memory.max_fill:
        need, have = (size / GIB for size in (memory.total_bytes, memory.capacity_bytes * memory.max_fill))
        larger = (Remedy.LARGER_ACCELERATOR,)
        yield Rejection(Limit.DEVICE_MEMORY, need, have, "GiB per accelerator", Reason.MEASURED_MEMORY, remedies=larger)
    least = min(run.accelerators for run in job.runs)
    if target.accelerators < least:
        yield Rejection(Limit.THROUGHPUT, least, target.accelerators, "accelerators", Reason.FEWER_THAN_MEASURED)
    if target.vendor not in {run.vendor for run in job.runs}:
        yield Rejection(Limit.DATA, reason=Reason.NO_RUN_OF_VENDOR, subject=target.accelerator, detail=target.vendor)
