"""Compile a fit into a StackPlan with every count, name, zone and version of the stack."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime

from rackwright.catalog.read import Catalog
from rackwright.clouds import AWS, GCP, KUBERNETES, supports
from rackwright.compile.blueprints.box import box_plan
from rackwright.compile.blueprints.box_gce import gce_box_plan
from rackwright.compile.blueprints.box_own import own_box_plan
from rackwright.compile.blueprints.inference_fleet_eks import eks_fleet_plan
from rackwright.compile.blueprints.inference_fleet_gke import gke_fleet_plan
from rackwright.compile.blueprints.inference_fleet_own import own_fleet_plan
from rackwright.compile.blueprints.tpu_pod import tpu_plan
from rackwright.compile.blueprints.training_cluster import training_plan
from rackwright.compile.blueprints.training_cluster_gke import gke_training_plan
from rackwright.compile.blueprints.training_cluster_own import own_training_plan
from rackwright.compile.compile_context import NEW_STACK, CompileContext, RunningStack
from rackwright.compile.cost_alerts import with_cost_alerts
from rackwright.compile.jobs.train_job import with_training_runtime
from rackwright.compile.mirror import with_mirror
from rackwright.compile.nodes.roll import with_rolls
from rackwright.compile.observability.stack import with_observability
from rackwright.compile.spec_options import apply_spec_options
from rackwright.compile.unsupported import unsupported_problems
from rackwright.compile.version_pins import with_version_pins
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem, Stage
from rackwright.sizing.blueprint_kind import blueprint_kind
from rackwright.sizing.offers.own_servers import with_own_servers
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.spec import Spec
from rackwright.stackplan import BlueprintKind, StackPlan
from rackwright.validation.spec import candidate_problems

PATHS: dict[tuple[BlueprintKind, str], Callable[[CompileContext], StackPlan]] = {
    (BlueprintKind.BOX, AWS.name): box_plan,
    (BlueprintKind.BOX, GCP.name): gce_box_plan,
    (BlueprintKind.TRAINING_CLUSTER, AWS.name): training_plan,
    (BlueprintKind.TRAINING_CLUSTER, GCP.name): gke_training_plan,
    (BlueprintKind.INFERENCE_FLEET, AWS.name): eks_fleet_plan,
    (BlueprintKind.INFERENCE_FLEET, GCP.name): gke_fleet_plan,
    (BlueprintKind.TPU_POD, GCP.name): tpu_plan,
    (BlueprintKind.BOX, KUBERNETES.name): own_box_plan,
    (BlueprintKind.TRAINING_CLUSTER, KUBERNETES.name): own_training_plan,
    (BlueprintKind.INFERENCE_FLEET, KUBERNETES.name): own_fleet_plan,
}
"""(blueprint, cloud) -> compiler."""


def compile_plan(
    spec: Spec,
    plan: SizingPlan,
    fit: Fit,
    *,
    today: date,
    now: datetime | None = None,
    catalog: Catalog | None = None,
    running: RunningStack = NEW_STACK,
) -> StackPlan:
    """Compile the stack of a fit.

    today: start of the time to live. now: default noon of today; decides whether a capacity block has started.
    running: recorded by a decision; replaces this release's versions, the expiry counted from `today`, the zones that the catalog would
    give, where the spec still allows the recorded ones, the tier and network of the file system, and the access of the deployer.
    catalog: the catalog that the plan was sized with; default: the embedded one.
    Raises UserError where the spec has an option that the stack of this fit does not have (stage PLAN), or this release cannot build the
    stack (stage BUILD).
    """
    kind = blueprint_of(spec, fit)
    known = with_own_servers(catalog or Catalog.default(), spec)
    context = CompileContext(spec, plan, fit, today, now, running, catalog=known)
    if problems := refusals(context):
        raise UserError(problems)
    observed = with_observability(context, PATHS[kind, fit.candidate.cloud](context))
    compiled = with_rolls(context, with_cost_alerts(context, apply_spec_options(context, observed)))
    compiled = with_training_runtime(context, compiled)
    pinned = with_version_pins(compiled, running.pins) if running.pins else compiled
    return with_mirror(pinned, spec.registry) if spec.registry else pinned


def blueprint_of(spec: Spec, fit: Fit) -> BlueprintKind:
    """The kind of stack that is compiled for a fit."""
    return BlueprintKind(blueprint_kind(spec, fit.candidate))


def refusals(context: CompileContext) -> list[Problem]:
    """Mistakes of the spec that show with this fit, then why this release cannot build its stack; empty where it is compiled."""
    kind, cloud = blueprint_of(context.spec, context.fit), context.candidate.cloud
    if (kind, cloud) not in PATHS:
        return [_no_path(kind, cloud)]
    if context.spec.is_several and (kind is not BlueprintKind.INFERENCE_FLEET or not supports(cloud, "serve.several")):
        return [_one_workload(context.spec, kind, cloud)]
    found = {problem: None for index, each in enumerate(context.each_workload) for problem in _workload_refusals(each, kind, index)}
    return list(found)


def _workload_refusals(context: CompileContext, kind: BlueprintKind, index: int) -> Iterator[Problem]:
    """The refusals of one workload of the stack. index: in the spec, whose paths they have."""
    for problem in (*candidate_problems(context.spec, context.candidate, context.catalog), *unsupported_problems(context, kind)):
        own = problem.at.steps[:2] == ("workloads", 0)
        yield replace(problem, at=At(("workloads", index, *problem.at.steps[2:]))) if own and index else problem


def _one_workload(spec: Spec, kind: BlueprintKind, cloud: str) -> Problem:
    reason = f"A {kind} on {cloud} has one workload; the spec has {len(spec.workloads)}"
    return Problem("C-many", reason, At() / "workloads", "write one spec per workload", stage=Stage.BUILD)


def _no_path(kind: BlueprintKind, cloud: str) -> Problem:
    """The problem of a blueprint that this release does not support on the cloud."""
    supported = ", ".join(f"{k} on {c}" for k, c in PATHS)
    at = At() / "blueprint" / "kind"
    return Problem("C-no-path", f"This release does not support a {kind} on {cloud}", at, f"use one of: {supported}", stage=Stage.BUILD)
