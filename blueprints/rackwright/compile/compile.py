"""One fit, one StackPlan: every count, name, zone and version of the stack, decided here and nowhere after."""

from collections.abc import Callable
from datetime import date, datetime

from rackwright.clouds import AWS, GCP
from rackwright.compile.aws_options import apply_aws_options
from rackwright.compile.blueprints.box import box_plan
from rackwright.compile.blueprints.inference_fleet_eks import eks_fleet_plan
from rackwright.compile.blueprints.inference_fleet_gke import gke_fleet_plan
from rackwright.compile.blueprints.tpu_pod import tpu_plan
from rackwright.compile.blueprints.training_cluster import training_plan
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.cost_alerts import with_cost_alerts
from rackwright.compile.unsupported import unsupported_problems
from rackwright.compile.version_pins import with_version_pins
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.sizing.offers.offer import CPU
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.spec import Spec
from rackwright.stackplan import BlueprintKind, StackPlan, VersionPins

PATHS: dict[tuple[BlueprintKind, str], Callable[[CompileContext], StackPlan]] = {
    (BlueprintKind.BOX, AWS.name): box_plan,
    (BlueprintKind.TRAINING_CLUSTER, AWS.name): training_plan,
    (BlueprintKind.INFERENCE_FLEET, AWS.name): eks_fleet_plan,
    (BlueprintKind.INFERENCE_FLEET, GCP.name): gke_fleet_plan,
    (BlueprintKind.TPU_POD, GCP.name): tpu_plan,
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
        raise UserError([no_path(kind, fit.candidate.cloud)])
    context = CompileContext(spec, plan, fit, today, expires_on, now)
    refused = unsupported_problems(context, kind)
    if refused:
        raise UserError(refused)
    compiled = with_cost_alerts(context, apply_aws_options(context, path(context)))
    return with_version_pins(compiled, pins) if pins else compiled


def blueprint_of(spec: Spec, fit: Fit) -> BlueprintKind:
    """The spec's own choice, else: slices are a pod, a machine without accelerators is a box, serving is a fleet, one node is a box,
    several are a cluster."""
    if spec.blueprint.kind != "auto":
        return BlueprintKind(spec.blueprint.kind)
    if fit.candidate.topology:
        return BlueprintKind.TPU_POD
    if fit.candidate.accelerator == CPU:
        return BlueprintKind.BOX
    if spec.workload.kind == "serve":
        return BlueprintKind.INFERENCE_FLEET
    return BlueprintKind.BOX if fit.candidate.nodes == 1 else BlueprintKind.TRAINING_CLUSTER


def no_path(kind: BlueprintKind, cloud: str) -> Problem:
    """No path of this release builds the blueprint on the cloud."""
    known = ", ".join(f"{k} on {c}" for k, c in PATHS)
    return Problem(
        code="C-no-path",
        reason=f"this release cannot build a {kind} on {cloud}",
        at=At() / "blueprint" / "kind",
        fix=f"it builds: {known}",
    )
