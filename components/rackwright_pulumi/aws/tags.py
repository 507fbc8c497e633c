"""Parent, name prefix and tags of a component's children."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pulumi import ComponentResource, Input, ResourceOptions
from rackwright.stackplan import StackPlan

from rackwright_pulumi.naming import child, physical

ENGINE_SUFFIX = 8
"""Characters that the engine appends to a physical name."""
PREFIX_LIMIT = 36
"""AWS appends 26 characters to a prefix and a dash: within 63 of a bucket or node group, and 64 of a role."""


def stack_tags(plan: StackPlan) -> dict[str, str]:
    """The plan's tags, and the expiry date if it has one."""
    return dict(plan.tags) | ({"expires-on": plan.expires_on} if plan.expires_on else {})


@dataclass(frozen=True)
class ChildContext:
    """Names, tags and options of a component's children."""

    parent: ComponentResource
    stem: str
    tags: Mapping[str, Input[str]]
    boundary: Input[str] | None = None
    """ARN of the permissions boundary of every role."""

    def name(self, *parts: str | int) -> str:
        return child(self.stem, *parts)

    def tagged(self, *parts: str | int) -> dict[str, Input[str]]:
        """The stack's tags, and `Name` for the console."""
        return {**self.tags, "Name": self.name(*parts)}

    def opts(self, **more: Any) -> ResourceOptions:
        return ResourceOptions(parent=self.parent, **more)


def name_or_prefix(field: str, name: str, limit: int) -> dict[str, Any]:
    """Empty if the engine's physical name fits into `limit`; else a short prefix argument, to which AWS appends a unique suffix."""
    return {} if len(name) + ENGINE_SUFFIX <= limit else {f"{field}_prefix": physical(name, PREFIX_LIMIT) + "-"}
