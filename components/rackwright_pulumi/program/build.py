"""Build a StackPlan: one provider, one blueprint, and the outputs of the stack."""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pulumi
from rackwright.clouds import profile, profiles, supports
from rackwright.diagnostics.errors import UserError
from rackwright.stackplan import BlueprintKind, PlacePlan, StackPlan
from rackwright.workflow.day_one import day_one

from rackwright_pulumi.blueprints.outputs import fabric_output
from rackwright_pulumi.program.deletion_lock import DeletionLock
from rackwright_pulumi.unsupported import Unsupported

if TYPE_CHECKING:
    from rackwright.workflow.pipeline import Decided

    from rackwright_pulumi.blueprints.box import Box
    from rackwright_pulumi.blueprints.inference_fleet import InferenceFleet
    from rackwright_pulumi.blueprints.tpu_pod import TpuPod
    from rackwright_pulumi.blueprints.training_cluster import TrainingCluster
    from rackwright_pulumi.program.settings import Settings

BLUEPRINTS = {
    BlueprintKind.BOX: ("box", "Box"),
    BlueprintKind.TRAINING_CLUSTER: ("training_cluster", "TrainingCluster"),
    BlueprintKind.INFERENCE_FLEET: ("inference_fleet", "InferenceFleet"),
    BlueprintKind.TPU_POD: ("tpu_pod", "TpuPod"),
}
"""Module of rackwright_pulumi.blueprints and its component class. Each imports the SDK of its cloud, so it is imported on first use."""


def build(decided: "Decided", settings: "Settings") -> dict[str, Any]:
    """Declare all resources of the plan, and return the outputs of the stack by name.

    A preview and a teardown need no secret: without one they use an empty value. Raises pulumi.RunError, which Pulumi prints without a
    traceback, for parts that this release does not support.
    """
    config = pulumi.Config("rackwright")
    needed = decided.spec.secrets_of_layers(decided.plan.layers)
    optional = settings.preview or settings.teardown
    secrets: dict[str, pulumi.Input[str]] = {
        name: (config.get_secret(entry.config) or pulumi.Output.secret("")) if optional else config.require_secret(entry.config)
        for name, entry in needed.items()
    }
    try:
        blueprint = declare_stack(decided.plan, teardown=settings.teardown, secrets=secrets)
    except UserError as error:
        from rackwright_pulumi.program.settings import run_error  # imports sizing, which `declare` does not need

        raise run_error(error) from None
    fit, bill = decided.decision.fit, decided.bill
    layouts = ", ".join(str(each.candidate.parallelism) for each in fit.each_workload)
    return blueprint.stack_outputs() | {
        "plan": {"chosen": fit.label, "parallelism": layouts, "recorded": decided.recorded},
        "expectedFabric": fabric_output(decided.plan.expected_fabric),
        "cost": {"hourlyUsd": bill.hourly_usd, "totalUsd": bill.total_usd, "notPublished": list(bill.unknown)},
        "expiresOn": decided.plan.expires_on or None,
        "commands": {step.name: step.command for step in day_one(decided, os.path.relpath(settings.spec_path))},
    }


def declare_stack(
    plan: StackPlan, *, teardown: bool = False, secrets: Mapping[str, pulumi.Input[str]] | None = None
) -> "Box | InferenceFleet | TpuPod | TrainingCluster":
    """The blueprint component of a plan, and the lock that a destroy deletes first. Raises like `declare`."""
    blueprint = declare(plan, teardown=teardown, secrets=secrets)
    DeletionLock(plan.name, blueprint, locked=plan.protected and not teardown)
    return blueprint


def declare(
    plan: StackPlan, *, teardown: bool = False, secrets: Mapping[str, pulumi.Input[str]] | None = None
) -> "Box | InferenceFleet | TpuPod | TrainingCluster":
    """The blueprint component of a plan with one pinned provider. secrets: by their name in manifests.

    Raises Unsupported for a plan that this release cannot build, and pulumi.RunError for a teardown of a network that a cluster uses.
    """
    module, name = BLUEPRINTS[plan.kind]
    component = getattr(import_module(f"rackwright_pulumi.blueprints.{module}"), name)
    own = provider(plan.place)
    if teardown and supports(plan.place.cloud, "layers"):
        import_module(f"rackwright_pulumi.{plan.place.cloud}.network.downstream").refuse_if_cluster_uses_network(plan, own)
    options = pulumi.ResourceOptions(providers=[own])
    return component(plan.name, {"plan": plan, "teardown": teardown, "secrets": secrets or {}}, options)


def provider(place: PlacePlan) -> pulumi.ProviderResource:
    """The explicit provider of the place. It rejects other accounts and projects. Raises Unsupported for a cloud without a provider."""
    if not profile(place.cloud).blueprints:
        raise Unsupported(f"a provider for {place.cloud}", "place.cloud", " or ".join(each.name for each in profiles() if each.blueprints))
    return import_module(f"rackwright_pulumi.{place.cloud}.provider").make_provider(place)
