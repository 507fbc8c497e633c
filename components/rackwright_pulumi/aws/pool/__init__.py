"""Node pools: launch template, user data per image family, managed node group."""

from typing import TYPE_CHECKING

from rackwright.lazy import on_first_use

if TYPE_CHECKING:
    from rackwright_pulumi.aws.pool.pool import AwsPool, AwsPoolArgs

__all__ = ["AwsPool", "AwsPoolArgs"]
if not TYPE_CHECKING:  # with it, type checkers accept misspelt names
    __getattr__ = on_first_use(__name__, dict.fromkeys(__all__, "rackwright_pulumi.aws.pool.pool"))
