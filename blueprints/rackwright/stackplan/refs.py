"""Values only the cloud knows, and where a plan may say them."""

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
    "identity.*.principal",
    "karpenter.queue_name",
    "karpenter.node_role_name",
    "network.id",
    "network.subnet_ids",
    "network.machine_subnet_id",
    "network.fabric_group_id",
    "key.id",
    "key.arn",
    "place.account",
    "place.project",
    "place.region",
    "secret.*",
)
"""Every name a plan may refer to, as shell patterns; a test holds all plans to it."""


class BlueprintKind(StrEnum):
    """Blueprints, as the spec calls them."""

    BOX = "box"
    TRAINING_CLUSTER = "training-cluster"
    INFERENCE_FLEET = "inference-fleet"
    TPU_POD = "tpu-pod"


@dataclass(frozen=True)
class FromStack:
    """An id another stack exports: read at deployment, and a clear error where stack or output is missing."""

    stack: str
    output: str

    def __str__(self) -> str:
        return f"{self.output} of stack {self.stack}"


Existing = str | FromStack
"""An id as it is, or another stack's output; the empty text: nothing exists, one is made."""


def ref(name: str) -> dict[str, str]:
    """The whole of a value; a name of REFS."""
    return {"$ref": name}


def format_refs(template: str, *names: str) -> dict[str, Any]:
    """A text with values in it: `{0}` in the template is the first name's."""
    return {"$format": template, "$refs": list(names)}
