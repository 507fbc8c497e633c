"""Layers of a plan that one stack on GKE builds, and the stack with the others."""

import pulumi
from pulumi import Input
from rackwright.stackplan import StackPlan, upstream_layers

from rackwright_pulumi.unsupported import Unsupported
from rackwright_pulumi.upstream import Upstream


class GkeLayers:
    """The layers of a StackPlan. upstream: the stack with the layers below; None without one."""

    def __init__(self, parent: pulumi.Resource, name: str, plan: StackPlan):
        self.parent, self.name, self.plan = parent, name, plan
        self.upstream = Upstream(parent, name, plan.below, upstream_layers(plan)) if plan.below else None

    def builds(self, *layers: str) -> bool:
        """Whether this stack builds any of the layers."""
        return bool({*layers} & {*self.plan.layers})

    @property
    def required_upstream(self) -> Upstream:
        """The upstream stack. Raises Unsupported without one."""
        if self.upstream is None:
            layers = ", ".join(self.plan.layers)
            fix = "set rackwright:below to the stack with the earlier layers"
            raise Unsupported(f"layers {layers} without an upstream stack", "below", fix)
        return self.upstream

    @property
    def deployed_layers(self) -> Input[list[str]]:
        """Layers of this stack and of those below it."""
        own = list(self.plan.layers)
        return self.upstream.value("layers").apply(lambda lower: [*lower, *own]) if self.upstream else own
