"""VPC, subnets and NAT, networks of accelerators, and the use of a Shared VPC."""

from typing import TYPE_CHECKING

from rackwright.lazy import on_first_use

if TYPE_CHECKING:
    from rackwright_pulumi.gcp.network.network import GcpNetwork, GcpNetworkArgs

__all__ = ["GcpNetwork", "GcpNetworkArgs"]
if not TYPE_CHECKING:  # with it, type checkers accept misspelt names
    __getattr__ = on_first_use(__name__, dict.fromkeys(__all__, "rackwright_pulumi.gcp.network.network"))
