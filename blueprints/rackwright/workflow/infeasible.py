"""Problems of plans without a fit, of pinned machines that no fit uses, and of batches that no accelerator holds."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.sizing.plan import SizingPlan
from rackwright.sizing.rejection import Reason
from rackwright.sizing.selection.ranking import nearest_misses
from rackwright.spec.spec import Spec
from rackwright.spec.workload import TRAINING
from rackwright.validation.spec_paths import in_spec
from rackwright.wording.rejections import distance_from_limit, rejection_text, remedy


def no_fit(plan: SizingPlan, path: Path) -> Problem:
    """The error of a plan without a fit, with its nearest rejected candidates. path: of the spec."""
    misses = nearest_misses(plan)
    pinned = [miss for miss in misses if miss.candidate.pinned]  # the others fail on the pin
    nearest = "; ".join(f"{miss.label}: {rejection_text(miss.rejections[0])}" for miss in pinned or misses)
    which = "The pinned machine fails" if pinned else "Nearest"
    return Problem("D-no-fit", f"no machine meets every goal. {which}: {nearest}", fix=f"run `rackwright plan {path.name}`")


def pin_problems(spec: Spec, plan: SizingPlan, text: str) -> tuple[Problem, ...]:
    """A warning per failed constraint of each pin that no fit satisfies. text: of the spec file, for line and column."""
    key = "any_of" if spec.infra.any_of else "ordered"
    found = []
    for index, place in enumerate(spec.infra.places):
        uses_pin = place.pin and any(fit.candidate.pinned and fit.candidate.machine == place.pin.instance for fit in plan.fits)
        if place.pin and not uses_pin:
            at = At() / "infra" / key / index / "pin" / "instance"
            found += [replace(problem, at=at) for problem in _pin_failures(plan, index)]
    return in_spec(found, spec, 0, text=text)


def batch_problems(spec: Spec, plan: SizingPlan, text: str) -> tuple[Problem, ...]:
    """A warning where even the nearest candidate lacks memory for the batch that the spec sets. text: of the spec file."""
    nearest = plan.rejected[0] if plan.rejected and not plan.fits else None
    trains = isinstance(spec.workload, TRAINING)
    reason = Reason.TRAINING_MEMORY if trains else Reason.BATCH_MEMORY
    failed = next((rejection for rejection in nearest.rejections if rejection.reason is reason), None) if nearest else None
    batch = set_batch(spec)
    if nearest is None or failed is None or batch is None:
        return ()
    at = At() / "workloads" / 0 / ("parallelism" if trains else "batch_size")
    need, have = f"{failed.need:,.0f}", f"{failed.have:,.0f} {failed.unit}"
    message = f"No machine has memory for a batch of {batch:,}: the nearest, {nearest.candidate.label}, needs {need} and has {have}"
    fix = "leave it out: sizing searches the largest that fits" if trains else remedy(failed)
    problem = Problem("D-batch", message, at / "micro_batch" if trains else at, fix=fix, level=Level.WARNING)
    return in_spec([problem], spec, 0, text=text)


def set_batch(spec: Spec) -> int | None:
    """Samples per pass that the spec sets; None where sizing searches them."""
    workload = spec.workload
    return workload.parallelism.micro_batch if isinstance(workload, TRAINING) else getattr(workload, "batch_size", None)


def _pin_failures(plan: SizingPlan, place: int) -> Iterator[Problem]:
    """The failed constraints of the pinned machines of a place, of their nearest number and region."""
    nearest = next((miss for miss in plan.rejected if miss.candidate.pinned and miss.candidate.place == place), None)
    if nearest is None:
        return
    for rejection in nearest.rejections:
        failed = "; ".join(filter(None, (rejection_text(rejection), distance_from_limit(rejection))))
        reason = f"The pinned {nearest.candidate.label} is rejected. {failed[0].upper()}{failed[1:]}"
        fix = remedy(rejection) or "pin another machine, or remove the pin to see which machines fit"
        yield Problem("D-pin", reason, fix=fix, level=Level.WARNING)
