"""`purchase:` of a spec: what `rackwright buy` compares, with the user's own prices."""

from typing import Annotated

from pydantic import Field

from rackwright.spec.base import Id, Part, PositiveInt
from rackwright.spec.quantity import Duration, Money, Size, UnitPrice


class PurchasePrices(Part):
    """Prices of one piece each; 0 USD where another price includes it. A price that is missing is listed, and the total is left open."""

    servers: dict[Id, Money] = {}
    """Price of one server by model, such as xe9680-h100, with its NICs."""
    switch: UnitPrice | None = None
    """Price of one switch."""
    cable: UnitPrice | None = None
    """Price of one cable, without the transceivers at its ends."""
    server_transceiver: UnitPrice | None = None
    """Price of one transceiver in a port of a server."""
    switch_transceiver: UnitPrice | None = None
    """Price of one transceiver in a switch; it may have several ports, as the catalog says."""
    rack: UnitPrice | None = None
    """Price of one rack with its power distribution."""


class Purchase(Part):
    """Servers to compare for the goals of the spec, and what they cost."""

    servers: Annotated[tuple[Id, ...], Field(min_length=1)] | None = None
    """Server models of the catalog; default: all whose accelerators and fabric are supported."""
    max_servers: Annotated[int, Field(ge=1, le=256, strict=True)] = 64
    """Most servers that are considered."""
    cpus: PositiveInt = 224
    """Logical processors of each server; default: those of DGX H100."""
    memory: Size = 2048 * 2**30
    """Host memory of each server; default: 2 TiB, as of DGX H100."""
    switch: Id = "qm9700"
    """Switch of the catalog."""
    switch_watts: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] | None = None
    """Power of one switch with its transceivers at full load; default: that of the catalog."""
    rack_units: Annotated[int, Field(ge=1, le=60, strict=True)] = 42
    """Rack units of one rack."""
    rack_kw: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] | None = None
    """Power of one rack in kW; default: space alone limits racks."""
    prices: PurchasePrices = PurchasePrices()
    """The user's prices."""
    lifetime: Duration | None = None
    """Time over which the prices are depreciated, such as 1461 d; default: that of `node_cost`."""
    electricity: UnitPrice | None = None
    """Price of one kWh; default: that of `node_cost`."""
    pue: Annotated[float, Field(ge=1, le=5, allow_inf_nan=False)] | None = None
    """Facility power over IT power, which adds cooling; default: that of `node_cost`, else the mean of published surveys."""
