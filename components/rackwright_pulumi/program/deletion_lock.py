"""A resource without cloud counterpart that a destroy deletes first.

`pulumi destroy --skip-preview` deletes resources without dependents until it reaches a protected one. Node groups, endpoints and roles
would be deleted before the destroy fails.
"""

import pulumi


class DeletionLock(pulumi.ComponentResource):
    """Depends on all children of `blueprint`, so a destroy deletes it first, or fails without a change while it is protected."""

    def __init__(self, name: str, blueprint: pulumi.Resource, locked: bool):
        super().__init__("rackwright:index:DeletionLock", name, None, pulumi.ResourceOptions(protect=locked, depends_on=[blueprint]))
        self.register_outputs({})
