"""StackPlan -> Pulumi resources: one provider, one blueprint, the stack's outputs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pulumi
from rackwright.clouds import sellers, supports
from rackwright.diagnostics.errors import UserError
from rackwright.stackplan import BlueprintKind, PlacePlan, StackPlan

from rackwright_pulumi.outputs import fabric_output
from rackwright_pulumi.program.deletion_lock import DeletionLock
from rackwright_pulumi.unsupported import Unsupported

if TYPE_CHECKING:
    from rackwright.workflow.pipeline import Decided

    from rackwright_pulumi.program.settings import Settings

BLUEPRINTS = {
    BlueprintKind.BOX: ("box", "Box"),
    BlueprintKind.TRAINING_CLUSTER: ("training_cluster", "TrainingCluster"),
    BlueprintKind.INFERENCE_FLEET: ("inference_fleet", "InferenceFleet"),
    BlueprintKind.TPU_POD: ("tpu_pod", "TpuPod"),
}
"""Module of rackwright_pulumi.blueprints and its component class, imported when a plan needs it: each brings its cloud's SDK."""


def build(decided: "Decided", settings: "Settings") -> dict[str, Any]:
    """Declares every resource of the decided plan and returns the stack's outputs by name.

    Raises pulumi.RunError, which Pulumi prints without a traceback, for what this release cannot build.
    """
    try:
        blueprint = declare(decided.plan, teardown=settings.teardown, secrets=_secrets(decided))
    except UserError as error:
        from rackwright_pulumi.program.settings import run_error  # brings sizing along, which declaring does not need

        raise run_error(error) from None
    DeletionLock(f"{decided.plan.name}-lock", blueprint, locked=decided.plan.protected and not settings.teardown)
    candidate, bill = decided.decision.fit.candidate, decided.bill
    return blueprint.stack_outputs() | {
        "plan": {"chosen": candidate.label, "parallelism": str(candidate.parallelism), "recorded": decided.recorded},
        "expectedFabric": fabric_output(decided.plan.expected_fabric),
        "cost": {"hourlyUsd": bill.hourly_usd, "totalUsd": bill.total_usd, "notPublished": list(bill.unknown)},
        "expiresOn": decided.plan.expires_on or None,
    }


def declare(plan: StackPlan, *, teardown: bool = False, secrets: dict[str, pulumi.Input[str]] | None = None) -> Any:
    """The blueprint component of a plan under one pinned provider. secrets: by the name manifests use.

    Raises Unsupported where no provider or component of this release can build the plan, and pulumi.RunError where a teardown would take
    the network away below a cluster.
    """
    module, name = BLUEPRINTS[plan.kind]
    component = getattr(import_module(f"rackwright_pulumi.blueprints.{module}"), name)
    own = provider(plan.place)
    if teardown and supports(plan.place.cloud, "layers"):
        import_module(f"rackwright_pulumi.{plan.place.cloud}.downstream").refuse_under_a_cluster(plan, own)
    options = pulumi.ResourceOptions(providers=[own])
    return component(plan.name, {"plan": plan, "teardown": teardown, "secrets": secrets or {}}, options)


def provider(place: PlacePlan) -> pulumi.ProviderResource:
    """The one explicit provider: a wrong account or project is refused before anything is created. Raises Unsupported."""
    if place.cloud not in sellers():
        raise Unsupported(f"a provider for {place.cloud}", "place.cloud", " or ".join(sellers()))
    return import_module(f"rackwright_pulumi.{place.cloud}.provider").make_provider(place)


def _secrets(decided: "Decided") -> dict[str, pulumi.Input[str]]:
    """Only workloads read secrets, so a stack of other layers needs none in its configuration."""
    if "workloads" not in decided.plan.layers:
        return {}
    config = pulumi.Config("rackwright")
    return {name: config.require_secret(entry.config) for name, entry in decided.spec.secrets.items()}
