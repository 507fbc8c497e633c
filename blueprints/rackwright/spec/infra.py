"""Where it may run: places to look, in order or all at once."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Part, PositiveInt
from rackwright.spec.quantity import Duration

Id = Annotated[str, Field(min_length=1)]


class StackOutput(Part):
    """A value another stack exports."""

    stack: Id
    output: Id


class CapacityBlock(Part):
    id: Annotated[str, Field(pattern=r"^cr-[0-9a-f]{17}$")]
    instance: Id
    count: PositiveInt
    zone: Id
    start: datetime
    end: datetime


class Reservation(Part):
    id: Id
    instance: Id | None = None
    count: PositiveInt | None = None
    zone: Id | None = None


class UseBlock(Part):
    capacity_block: CapacityBlock


class UseReservation(Part):
    reservation: Reservation


Mode = Literal["on-demand", "spot", "flex-start", "calendar"]
CapacityEntry = Mode | UseBlock | UseReservation


class Capacity(Part):
    """`ordered`: alternatives for sizing, first that fits wins. `fallback`: several pools of which the scheduler prefers the first."""

    ordered: tuple[CapacityEntry, ...] = ()
    fallback: tuple[CapacityEntry, ...] = ()


class ExistingNetwork(Part):
    vpc: Id | StackOutput
    subnets: tuple[Id | StackOutput, ...] = ()


class Network(Part):
    existing: ExistingNetwork | None = None


class Pin(Part):
    """Beats sizing, with a warning; never a rule that means certain failure."""

    instance: Id
    nodes: PositiveInt | None = None
    topology: Annotated[str, Field(pattern=r"^[0-9]+x[0-9]+(x[0-9]+)?$")] | None = None


class Place(Part):
    cloud: Literal["aws", "gcp", "kubernetes"]
    account: Annotated[str, Field(pattern=r"^[0-9]{12}$")] | None = None
    project: Id | None = None
    regions: tuple[Id, ...] = ()
    zones: tuple[Id, ...] = ()
    capacity: Capacity = Capacity(ordered=("on-demand",))
    network: Network = Network()
    quotas: str | None = None
    inventory: str | None = None
    pin: Pin | None = None


class Infra(Part):
    any_of: tuple[Place, ...] = ()
    ordered: tuple[Place, ...] = ()

    @property
    def places(self) -> tuple[Place, ...]:
        return self.any_of or self.ordered


class PrivateAccess(Part):
    cidrs: tuple[str, ...]


class Blueprint(Part):
    kind: Literal["auto", "box", "training-cluster", "inference-fleet", "tpu-pod"] = "auto"
    cluster: Literal["new"] | StackOutput = "new"
    pools: Literal["auto"] = "auto"
    api_access: Literal["private"] | PrivateAccess = "private"
    storage: Literal["auto", "none", "lustre"] = "auto"
    ttl: Duration | None = None
