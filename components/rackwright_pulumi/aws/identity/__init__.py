"""IAM roles of workloads and services."""

from typing import TYPE_CHECKING

from rackwright.lazy import on_first_use

if TYPE_CHECKING:
    from rackwright_pulumi.aws.identity.identity import AwsIdentity, AwsIdentityArgs

__all__ = ["AwsIdentity", "AwsIdentityArgs"]
if not TYPE_CHECKING:  # with it, type checkers accept misspelt names
    __getattr__ = on_first_use(__name__, dict.fromkeys(__all__, "rackwright_pulumi.aws.identity.identity"))
