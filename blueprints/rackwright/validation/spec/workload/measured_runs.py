"""S-138, S-139, S-176, S-177: measured runs of a custom workload."""

from collections.abc import Iterator
from itertools import groupby

from rackwright.catalog.read import Catalog
from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation
from rackwright.estimator.config import accelerators
from rackwright.estimator.config.accelerator_variants import variants
from rackwright.sizing.search.measured_runs import EQUAL_RUNS
from rackwright.spec.workload import Custom
from rackwright.spec.workload_parts import MeasuredRun
from rackwright.units import GIB
from rackwright.validation.spec.registry import SpecContext, rule

MAX_NOISE = 1 + 2 * EQUAL_RUNS
"""Ratio of two rates of equal runs that is explained by their noise: twice the difference of equal published runs."""
MAX_RATIO = 2.0
"""Ratio of two rates of equal runs above which no interval covers both; rackwright's choice 2026-11."""


@rule("S-138")
def custom_workload_has_measured_runs(context: SpecContext) -> Iterator[Violation]:
    """A custom workload must have `samples` and at least one measured run."""
    for at, workload in context.each(Custom):
        if not workload.measured:
            fix = "such as measured: [{accelerator: A100-80GB, accelerators: 8, memory: 61 GiB, samples_per_second: 420}]"
            yield Violation(at / "measured", fix, "`measured` lists no run, so the rate on other accelerators is unknown")
        if workload.parallelism.model_fields_set:
            fix = "leave it out, and list runs with the parallelism that you want"
            yield Violation(at / "parallelism", fix, "`parallelism` has no effect on measured runs", about_key=True)
        if workload.samples is None:
            yield Violation(at, "such as samples: 10e6", "`samples`, the number of samples of the whole run, is not set")


@rule("S-139")
def measured_accelerators_are_known(context: SpecContext) -> Iterator[Violation]:
    """The accelerator of a measured run must be in the catalog, with published FLOP/s and memory bandwidth, and have memory for the run."""
    for at, workload in context.each(Custom):
        for index, run in enumerate(workload.measured):
            try:
                memory = accelerators.find(run.accelerator, context.catalog).memory_bytes
                if run.memory > memory:
                    message = f"{run.accelerator} has {memory / GIB:,.0f} GiB; the run needed {run.memory / GIB:,.0f} GiB"
                    yield Violation(at / "measured" / index / "memory", "give the peak memory of one accelerator", message)
            except accelerators.UnknownAccelerator:
                message = f"{run.accelerator!r} is not an accelerator of the catalog with published FLOP/s and memory bandwidth"
                yield Violation(at / "measured" / index / "accelerator", "run `rackwright catalog accelerators`", message)


@rule("S-176")
def measured_accelerators_are_unambiguous(context: SpecContext) -> Iterator[Violation]:
    """The accelerator of a measured run must be one variant of the catalog, because variants of one name differ in FLOP/s and bandwidth."""
    for at, workload in context.each(Custom):
        for index, run in enumerate(workload.measured):
            if len(names := variants(run.accelerator, context.catalog)) > 1:
                message = f"{run.accelerator!r} stands for {len(names)} accelerators with different rates: {', '.join(names)}"
                yield Violation(at / "measured" / index / "accelerator", f"name the variant of the run, such as {names[0]}", message)


@rule("S-177", Level.WARNING)
def equal_runs_have_equal_rates(context: SpecContext) -> Iterator[Violation]:
    """Measured runs on the same accelerators should have the same rate; a factor of 2 between them is refused."""
    for at, workload in context.each(Custom):
        runs = sorted(enumerate(workload.measured), key=lambda row: _where(row[1], context.catalog))
        for (name, count), same in groupby(runs, key=lambda row: _where(row[1], context.catalog)):
            equal = sorted(same, key=lambda row: row[1].samples_per_second)
            (_, slow), (index, fast) = equal[0], equal[-1]
            low, high = slow.samples_per_second, fast.samples_per_second
            if high > MAX_NOISE * low:
                message = f"Runs on {count} x {name} have {low:,g} and {high:,g} samples/s, a factor of {high / low:,.2g}"
                fix = "keep the run with the settings that you will use, or correct a rate"
                level = Level.ERROR if high >= MAX_RATIO * low else Level.WARNING
                yield Violation(at / "measured" / index / "samples_per_second", fix, message, level=level)


def _where(run: MeasuredRun, catalog: Catalog) -> tuple[str, int]:
    """Accelerator and number of a run; S-139 reports a name that the catalog lacks."""
    try:
        return accelerators.find(run.accelerator, catalog).name, run.accelerators
    except accelerators.UnknownAccelerator:
        return run.accelerator, run.accelerators
