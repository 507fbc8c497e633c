"""Parts of a place with own servers: what a server costs, and its RDMA fabric."""

from typing import Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Id, Part
from rackwright.spec.inventory import Ipv4Range
from rackwright.spec.quantity import Duration, Money, UnitPrice


class NodeCost(Part):
    """Cost of one own server: `per_hour`, or its price, lifetime and power."""

    per_hour: Money | None = None
    """Cost of one server for an hour, everything included."""
    purchase: Money | None = None
    """Price of one server, with its share of racks, switches and cables."""
    lifetime: Duration | None = None
    """Time over which the price is depreciated, such as 1461 d."""
    electricity: UnitPrice | None = None
    """Price of one kWh."""
    pue: Annotated[float, Field(ge=1, le=5, allow_inf_nan=False)] | None = None
    """Facility power over server power, which adds cooling; default: the mean of published surveys."""


class RdmaFabric(Part):
    """InfiniBand or RoCE for pods, through NVIDIA's network operator."""

    mode: Literal["host-device", "sriov", "shared"] = "host-device"
    """Whole NICs for each pod, virtual functions of them (SR-IOV), or NICs that pods share."""
    driver: Literal["host", "operator"] = "host"
    """NIC driver: installed on the servers, or installed by the network operator (DOCA-OFED)."""
    gpu_driver: Literal["host", "operator"] = "operator"
    """GPU driver: installed on the servers, or installed by the GPU operator."""
    virtual_functions: Annotated[int, Field(ge=1, le=127, strict=True)] = 8
    """Virtual functions of each port; mode sriov only."""
    mtu: Annotated[int, Field(ge=1280, le=9216, strict=True)] | None = None
    """MTU of the ports in bytes; default: what the servers have."""
    pkey: Annotated[str, Field(pattern=r"^0x[0-9a-fA-F]{4}$", description="such as 0x8001")] | None = None
    """InfiniBand partition of the pods; mode sriov only, with `ufm_secret`."""
    ufm_secret: Id | None = None
    """Secret in the network operator's namespace with the address and credentials of UFM, which assigns PKeys."""
    addresses: Ipv4Range = "198.18.0.0/15"
    """IPv4 range of the rails; each rail gets an equal part. The default is reserved for network benchmarks (RFC 2544), so pods and servers
    rarely use it. Calico's pods use 192.168.0.0/16 by default."""
