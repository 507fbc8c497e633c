"""What every computed value is made from: who asks, in which account and place, and digits derived from the URN."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

Known = Callable[[str, str], Mapping[str, Any] | None]
"""Asks the cloud for another resource's state by type token and id; None when it is not there."""

CLOCK = "2026-01-01T00:00:00Z"
"""The time every creation is stamped with: the clock is an argument, and repeated runs agree."""


@dataclass(frozen=True)
class Context:
    """Where a resource is made. Empty fields mean the cloud's own default (us-east-1, us-central1)."""

    account: str = "123456789012"
    region: str = ""
    project: str = "simulated-project"
    zone: str = ""
    default_tags: Mapping[str, str] | None = None
    generation: int = 0
    """How many times this URN was created before in this cloud: a replacement gets new ids."""
    revision: int = 1
    """1 when created, one more at each update."""
    now: str = CLOCK
    known: Known | None = None

    def narrowed(self, provider: Mapping[str, Any]) -> "Context":
        """This context as an explicit provider's inputs pin it: region, zone, project, allowedAccountIds, defaultTags."""
        accounts = provider.get("allowedAccountIds") or [self.account]
        tags = (provider.get("defaultTags") or {}).get("tags") or provider.get("defaultLabels") or self.default_tags
        return replace(
            self,
            account=accounts[0],
            region=provider.get("region") or self.region,
            project=provider.get("project") or self.project,
            zone=provider.get("zone") or self.zone,
            default_tags=tags,
        )

    @property
    def project_number(self) -> str:
        """Twelve digits that belong to the project's name."""
        return digits(self.project, 12)


@dataclass(frozen=True)
class ResourceRequest:
    """One resource whose outputs are wanted; inputs are plain (secrets opened, nothing unknown)."""

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
        """Lower-case hexadecimal digits that belong to this URN, generation and salt."""
        return hashlib.sha256(f"{self.urn}#{self.context.generation}#{salt}".encode()).hexdigest()[:length]

    def digits(self, length: int, salt: str = "") -> str:
        """Decimal digits, the first never zero."""
        return digits(f"{self.urn}#{self.context.generation}#{salt}", length)

    def upper(self, length: int, salt: str = "") -> str:
        """Upper-case letters and digits, as IAM's unique ids are written."""
        return self.hex(length, salt).upper()

    def uuid(self, salt: str = "") -> str:
        """A version 4 UUID that belongs to this URN."""
        h = self.hex(32, salt)
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"

    def known(self, token: str, resource_id: str) -> Mapping[str, Any]:
        """Another resource's state, empty when it is not known here."""
        found = self.context.known(token, resource_id) if self.context.known and isinstance(resource_id, str) else None
        return found or {}


def digits(text: str, length: int) -> str:
    """Decimal digits derived from a text, the first never zero."""
    number = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    return str(10 ** (length - 1) + number % (9 * 10 ** (length - 1)))


def autoname(name: str, urn: str, limit: int, separator: str = "-", suffix: str | None = None) -> str:
    """A physical name as the engine proposes them: the logical name, a dash and seven hexadecimal digits, cut to the limit."""
    tail = separator + (suffix or hashlib.sha1(urn.encode()).hexdigest()[:7])
    return name[: limit - len(tail)] + tail


def slug(name: str) -> str:
    """Lower case with dashes, as Google's and S3's names must be."""
    return re.sub(r"[^a-z0-9-]", "-", name.lower())


def prune(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without the entries that are None."""
    return {k: v for k, v in values.items() if v is not None}


def certificate(asked: ResourceRequest) -> str:
    """Base64 of a PEM-shaped text: as long and as well formed as a kubeconfig needs it, and no real certificate."""
    body = base64.b64encode(hashlib.sha512(asked.hex(64, "ca").encode()).digest() * 8).decode()
    lines = "\n".join(body[i : i + 64] for i in range(0, len(body), 64))
    return base64.b64encode(f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n".encode()).decode()
