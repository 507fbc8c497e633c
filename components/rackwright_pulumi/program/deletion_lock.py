"""A resource without cloud counterpart that a destroy deletes first.

`pulumi destroy --skip-preview` deletes resources without dependents until it reaches a protected one. Node groups, endpoints and roles
would be deleted before the destroy fails.
"""

import pulumi

HOW_TO_DESTROY = "to destroy: pulumi config set rackwright:teardown true, then pulumi up"
"""Part of the lock's name, because the engine's refusal contains the name, and otherwise only suggests `pulumi state unprotect`."""


class DeletionLock(pulumi.ComponentResource):
    """Depends on all children of `blueprint`, so a destroy deletes it first, or fails without a change while it is protected."""

    def __init__(self, stack: str, blueprint: pulumi.Resource, locked: bool):
        """stack: name of the plan. locked: protect the lock."""
        former = pulumi.Alias(name=f"{stack}-lock")  # the name in 0.1
        opts = pulumi.ResourceOptions(protect=locked, depends_on=[blueprint], aliases=[former])
        super().__init__("rackwright:index:DeletionLock", f"{stack}-lock ({HOW_TO_DESTROY})", None, opts)
        self.register_outputs({})
