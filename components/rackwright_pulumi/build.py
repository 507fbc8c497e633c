"""StackPlan -> Pulumi resources: one provider, one blueprint, the stack's outputs."""

import importlib
from typing import Any

import pulumi
from rackwright.compile.wants import Kind, PlaceWant, StackPlan

from rackwright_pulumi.program import Decided, Settings

BLUEPRINTS = {
    Kind.BOX: ("box", "Box"),
    Kind.TRAINING_CLUSTER: ("training_cluster", "TrainingCluster"),
    Kind.INFERENCE_FLEET: ("inference_fleet", "InferenceFleet"),
    Kind.TPU_POD: ("tpu_pod", "TpuPod"),
}


def build(decided: Decided, settings: Settings) -> dict[str, Any]:
    """Declares every resource of the decided plan and returns the stack's outputs by name."""
    blueprint = declare(decided.plan, teardown=settings.teardown, secrets=_secrets(decided))
    candidate, bill = decided.decision.fit.candidate, decided.bill
    return blueprint.stack_outputs() | {
        "plan": {"chosen": candidate.label, "parallelism": str(candidate.parallelism), "recorded": decided.recorded},
        "expectedFabric": _fabric(decided.plan),
        "cost": {"hourlyUsd": bill.hourly_usd, "totalUsd": bill.total_usd, "notPublished": list(bill.unknown)},
        "expiresOn": decided.plan.expires_on or None,
    }


def declare(plan: StackPlan, *, teardown: bool = False, secrets: dict[str, pulumi.Input[str]] | None = None) -> Any:
    """The blueprint component of a plan under one pinned provider."""
    module, name = BLUEPRINTS[plan.kind]
    kind = getattr(importlib.import_module(f"rackwright_pulumi.blueprints.{module}"), name)
    options = pulumi.ResourceOptions(providers=[provider(plan.place, dict(plan.tags))])
    return kind(plan.name, {"plan": plan, "teardown": teardown, "secrets": secrets or {}}, options)


def provider(place: PlaceWant, tags: dict[str, str]) -> pulumi.ProviderResource:
    """The one explicit provider: a wrong account or project is refused before anything is created."""
    if place.cloud == "aws":
        from pulumi_aws import Provider

        return Provider("aws", region=place.region, allowed_account_ids=[place.account] if place.account else None)
    if place.cloud == "gcp":
        from pulumi_gcp import Provider

        return Provider("gcp", project=place.account, region=place.region, default_labels=None)
    raise NotImplementedError(f"no provider for {place.cloud}")


def _secrets(decided: Decided) -> dict[str, pulumi.Input[str]]:
    config = pulumi.Config("rackwright")
    return {name: config.require_secret(entry.config) for name, entry in decided.spec.secrets.items()}


def _fabric(plan: StackPlan) -> dict[str, Any]:
    expected = plan.expected_fabric
    return {
        "fabric": expected.fabric,
        "interfacesPerNode": expected.interfaces_per_node,
        "busBandwidthFloorGbPerS": expected.busbw_floor_gb_s,
        "source": expected.source,
    }
