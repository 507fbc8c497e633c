"""What the children of one component share: the parent, the stem of their names, the tags."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pulumi import ComponentResource, Input, ResourceOptions
from rackwright.stackplan import StackPlan

from rackwright_pulumi.naming import child, physical

ENGINE_SUFFIX = 8
"""Characters the engine adds to make a physical name unique."""
PREFIX_LIMIT = 36
"""AWS adds 26 characters to a prefix: within the 63 of a bucket and a node group, and the 64 of a role, with a dash between."""


def stack_tags(plan: StackPlan) -> dict[str, str]:
    """The plan's tags with the day the stack should be gone by, where it has one."""
    return dict(plan.tags) | ({"expires-on": plan.expires_on} if plan.expires_on else {})


@dataclass(frozen=True)
class ChildContext:
    """Names, tags and options of a component's children."""

    parent: ComponentResource
    stem: str
    tags: Mapping[str, str]
    boundary: Input[str] | None = None
    """Permissions boundary of every role"""

    def name(self, *parts: str | int) -> str:
        return child(self.stem, *parts)

    def tagged(self, *parts: str | int) -> dict[str, str]:
        """The stack's tags and the `Name` that consoles show."""
        return {**self.tags, "Name": self.name(*parts)}

    def opts(self, **more: Any) -> ResourceOptions:
        return ResourceOptions(parent=self.parent, **more)


def waits(opts: ResourceOptions | None) -> Any:
    """What a component was told to wait for. Pulumi does not hand it to children; a component does, where order matters to the cloud."""
    return opts.depends_on if opts else None


def fitting(field: str, name: str, limit: int) -> dict[str, Any]:
    """Nothing where the engine's own physical name fits into `limit`; else a shorter prefix of `field`, which AWS makes unique."""
    return {} if len(name) + ENGINE_SUFFIX <= limit else {f"{field}_prefix": physical(name, PREFIX_LIMIT) + "-"}
