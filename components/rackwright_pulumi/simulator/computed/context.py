"""Inputs of computed values: the resource, its account and region, and digits derived from its URN."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rackwright_pulumi.simulator.provider.values import holds_unknown

Outputs = dict[str, Any]
FindState = Callable[[str, str], Mapping[str, Any] | None]
"""Finds another resource's state by type token and id; None if it does not exist."""

CLOCK = "2026-01-01T00:00:00Z"
"""Default creation time, constant so that repeated runs are equal."""


@dataclass(frozen=True)
class Context:
    """Account and location of a resource. Empty fields use the cloud's default (us-east-1, us-central1)."""

    account: str = "123456789012"
    region: str = ""
    project: str = "simulated-project"
    zone: str = ""
    default_tags: Mapping[str, str] | None = None
    generation: int = 0
    """Earlier creations of this URN in the cloud: a replacement has new ids."""
    revision: int = 1
    """1 after creation, plus 1 per update."""
    now: str = CLOCK
    find_state: FindState | None = None

    def for_provider(self, provider: Mapping[str, Any]) -> "Context":
        """This context with the inputs of an explicit provider: region, zone, project, allowedAccountIds, defaultTags.

        provider: decoded inputs (`decode_provider_inputs`). Unknown inputs keep the values of this context.
        """
        known = {key: value for key, value in provider.items() if value and not holds_unknown(value)}
        return replace(
            self,
            account=known.get("allowedAccountIds", [self.account])[0],
            region=known.get("region", self.region),
            project=known.get("project", self.project),
            zone=known.get("zone", self.zone),
            default_tags=known.get("defaultTags", {}).get("tags") or known.get("defaultLabels") or self.default_tags,
        )

    @property
    def project_number(self) -> str:
        """12 digits derived from the project's name."""
        return digits(self.project, 12)


@dataclass(frozen=True)
class ResourceRequest:
    """One resource to compute outputs of; inputs are plain (no secret envelopes, no unknown values)."""

    token: str
    name: str
    urn: str
    inputs: Mapping[str, Any]
    context: Context

    def get(self, path: str, default: Any = None) -> Any:
        """A nested input, ``vpcConfig.subnetIds``; the default also for an explicit null."""
        found: Any = self.inputs
        for part in path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return default if found is None else found

    def hex(self, length: int, salt: str = "") -> str:
        """Lower-case hexadecimal digits derived from URN, generation and salt."""
        return hashlib.sha256(f"{self.urn}#{self.context.generation}#{salt}".encode()).hexdigest()[:length]

    def digits(self, length: int, salt: str = "") -> str:
        """Decimal digits, the first never zero."""
        return digits(f"{self.urn}#{self.context.generation}#{salt}", length)

    def upper(self, length: int, salt: str = "") -> str:
        """Upper-case letters and digits, the format of IAM's unique ids."""
        return self.hex(length, salt).upper()

    def uuid(self, salt: str = "") -> str:
        """A version 4 UUID derived from the URN."""
        h = self.hex(32, salt)
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"

    def state_of(self, token: str, resource_id: str) -> Mapping[str, Any]:
        """Another resource's state, empty if it does not exist."""
        found = self.context.find_state(token, resource_id) if self.context.find_state and isinstance(resource_id, str) else None
        return found or {}


def digits(text: str, length: int) -> str:
    """Decimal digits derived from a text, the first never zero."""
    number = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    return str(10 ** (length - 1) + number % (9 * 10 ** (length - 1)))


def autoname(name: str, urn: str, limit: int, separator: str = "-", suffix: str | None = None) -> str:
    """A physical name in the engine's form: logical name, dash and 7 hexadecimal digits, cut to the limit."""
    tail = separator + (suffix or hashlib.sha1(urn.encode()).hexdigest()[:7])
    return name[: limit - len(tail)] + tail


def lower_case_name(name: str) -> str:
    """Lower case with dashes, as Google Cloud and S3 require."""
    return re.sub(r"[^a-z0-9-]", "-", name.lower())


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not None."""
    return {k: v for k, v in values.items() if v is not None}


def certificate(request: ResourceRequest) -> str:
    """Base64 of a text in PEM format, valid in a kubeconfig; not a real certificate."""
    body = base64.b64encode(hashlib.sha512(request.hex(64, "ca").encode()).digest() * 8).decode()
    lines = "\n".join(body[i : i + 64] for i in range(0, len(body), 64))
    return base64.b64encode(f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n".encode()).decode()
