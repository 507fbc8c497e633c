"""One fit, one StackPlan: every count, name, zone and version of the stack, decided here and nowhere after."""

from collections.abc import Callable
from datetime import date, datetime

from rackwright.compile.aws import on_aws
from rackwright.compile.box import box_plan
from rackwright.compile.draft import Draft
from rackwright.compile.eks_fleet import eks_fleet_plan
from rackwright.compile.gke_fleet import gke_fleet_plan
from rackwright.compile.guard import guarded
from rackwright.compile.pinned import pinned
from rackwright.compile.refuse import refusals
from rackwright.compile.tpu import tpu_plan
from rackwright.compile.training import training_plan
from rackwright.compile.wants import Kind, StackPlan, VersionPins
from rackwright.errors import UserError
from rackwright.problems import At, Problem
from rackwright.sizing.offer import CPU
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.spec import Spec

PATHS: dict[tuple[Kind, str], Callable[[Draft], StackPlan]] = {
    (Kind.BOX, "aws"): box_plan,
    (Kind.TRAINING_CLUSTER, "aws"): training_plan,
    (Kind.INFERENCE_FLEET, "aws"): eks_fleet_plan,
    (Kind.INFERENCE_FLEET, "gcp"): gke_fleet_plan,
    (Kind.TPU_POD, "gcp"): tpu_plan,
}
"""The paths this release compiles: blueprint and cloud."""


def compile_plan(
    spec: Spec,
    plan: SizingPlan,
    fit: Fit,
    *,
    today: date,
    pins: VersionPins | None = None,
    expires_on: str | None = None,
    now: datetime | None = None,
) -> StackPlan:
    """The stack of one fit. `today` dates the time to live; `now`, else noon of today, says whether a capacity block has begun.

    pins, expires_on: what a decision recorded; they beat this release's versions and the time to live counted from `today`.
    Raises UserError when this release has no path for the blueprint on that cloud, or the spec asks for something the path cannot do.
    """
    kind = blueprint_of(spec, fit)
    path = PATHS.get((kind, fit.candidate.cloud))
    if path is None:
        raise UserError([_no_path(kind, fit.candidate.cloud)])
    draft = Draft(spec, plan, fit, today, expires_on, now)
    refused = refusals(draft, kind)
    if refused:
        raise UserError(refused)
    compiled = guarded(draft, on_aws(draft, path(draft)))
    return pinned(compiled, pins) if pins else compiled


def blueprint_of(spec: Spec, fit: Fit) -> Kind:
    """The spec's own choice, else: slices are a pod, a machine without accelerators is a box, serving is a fleet, one node is a box,
    several are a cluster."""
    if spec.blueprint.kind != "auto":
        return Kind(spec.blueprint.kind)
    if fit.candidate.topology:
        return Kind.TPU_POD
    if fit.candidate.accelerator == CPU:
        return Kind.BOX
    if spec.workload.kind == "serve":
        return Kind.INFERENCE_FLEET
    return Kind.BOX if fit.candidate.nodes == 1 else Kind.TRAINING_CLUSTER


def _no_path(kind: Kind, cloud: str) -> Problem:
    known = ", ".join(f"{k} on {c}" for k, c in PATHS)
    return Problem(
        code="C-no-path",
        reason=f"this release cannot build a {kind} on {cloud}",
        at=At() / "blueprint" / "kind",
        fix=f"it builds: {known}",
    )
