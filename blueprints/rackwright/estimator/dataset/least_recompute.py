"""Recompute of rows that do not state it: the least that fits, by the prior coefficients of the memory formulas."""

from dataclasses import replace

from rackwright.estimator.case import RECOMPUTE, TrainingCase
from rackwright.estimator.training import adapter_memory, memory


def least_recompute(case: TrainingCase) -> TrainingCase:
    """Return the case with the first recompute whose peak fits; with full recompute where none does.

    Coefficients are priors, so that the conversion of rows does not depend on a fit.
    """
    trials = [replace(case, recompute=float(code)) for code in range(len(RECOMPUTE))]
    return next((trial for trial in trials if fits(trial)), trials[-1])


def fits(case: TrainingCase) -> bool:
    """Return whether the median peak fits the memory that a trainer can use."""
    if adapter_memory.is_applicable(case):
        peak = adapter_memory.peak_bytes(case, adapter_memory.AdapterCoefficients())
    else:
        peak = memory.peak_bytes(case, memory.MemoryCoefficients())
    return bool(peak <= memory.usable_bytes(case))
