"""References to values that are known only after deployment, and to existing resources."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

REFS = (
    "cluster.name",
    "cluster.endpoint",
    "cluster.oidc_issuer",
    "cluster.security_group_id",
    "bucket.*.name",
    "bucket.*.url",
    "lustre.id",
    "lustre.dns_name",
    "lustre.mount_name",
    "identity.*.account",
    "identity.*.principal",
    "karpenter.queue_name",
    "karpenter.node_role_name",
    "network.id",
    "network.subnet_ids",
    "network.machine_subnet_id",
    "network.machine_subnet_id.*",
    "network.control_subnet_id",
    "network.control_subnet_id.*",
    "network.fabric_group_id",
    "network.accelerator.*.vpc",
    "network.accelerator.*.subnet",
    "key.id",
    "key.arn",
    "place.account",
    "place.project",
    "place.region",
    "secret.*",
)
"""Valid reference names, as shell patterns; a test checks all plans."""


class BlueprintKind(StrEnum):
    """Blueprints, by their names in the spec."""

    BOX = "box"
    TRAINING_CLUSTER = "training-cluster"
    INFERENCE_FLEET = "inference-fleet"
    TPU_POD = "tpu-pod"


@dataclass(frozen=True)
class FromStack:
    """An output of another stack, read at deployment, with an error where the stack or output is missing."""

    stack: str
    output: str

    def __str__(self) -> str:
        return f"{self.output} of stack {self.stack}"


Existing = str | FromStack
"""An ID, or an output of another stack; empty: a new resource is created."""


def machine_subnet_refs(zones: Sequence[str]) -> tuple[str, ...]:
    """Names of references to a machine subnet in each zone: `network.machine_subnet_id`, `network.machine_subnet_id.2`."""
    return _subnet_refs("machine", zones)


def control_subnet_refs(zones: Sequence[str]) -> tuple[str, ...]:
    """Names of references to the subnet of system machines in each zone: `network.control_subnet_id`, `network.control_subnet_id.2`."""
    return _subnet_refs("control", zones)


def _subnet_refs(purpose: str, zones: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"network.{purpose}_subnet_id{f'.{number}' if number > 1 else ''}" for number, _ in enumerate(zones, 1))


def ref(name: str) -> dict[str, str]:
    """A reference to a name in REFS."""
    return {"$ref": name}


def digest_of_refs(*names: str) -> dict[str, Any]:
    """A hash of the values of references, which changes with any of them, and from which they cannot be found."""
    return {"$digest": True, "$refs": list(names)}


def format_refs(template: str, *names: str) -> dict[str, Any]:
    """A text with references: `{0}` in the template is the value of the first name."""
    return {"$format": template, "$refs": list(names)}
