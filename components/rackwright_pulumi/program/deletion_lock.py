"""What a destroy meets first. `pulumi destroy --skip-preview` deletes whatever nothing depends on until it comes to something protected: a
node group at work, endpoints and roles would be gone before it is refused."""

import pulumi


class DeletionLock(pulumi.ComponentResource):
    """Nothing in any cloud. It depends on everything below `stands`, so that it goes first; while it is protected, nothing goes."""

    def __init__(self, name: str, stands: pulumi.Resource, locked: bool):
        super().__init__("rackwright:index:DeletionLock", name, None, pulumi.ResourceOptions(protect=locked, depends_on=[stands]))
        self.register_outputs({})
