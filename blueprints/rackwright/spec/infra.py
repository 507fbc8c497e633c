"""Where it may run: places to look, in order or all at once."""

from typing import Annotated, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from rackwright.spec.base import MAPPING, PLAIN, Id, Moment, Part, PositiveInt, Text, plain_or_mapping
from rackwright.spec.quantity import Duration

Project = Annotated[str, Field(pattern=r"^[a-z][-a-z0-9:.]{4,61}[a-z0-9]$", description="lower-case letters, digits, dashes; 6 at least")]


class StackOutput(Part):
    """A value another stack exports."""

    stack: Id
    """Name of the other stack, `organization/project/stack` where it is not in this project."""
    output: Id
    """Name of its output."""


IdOrOutput = Annotated[Annotated[Id, Tag(PLAIN)] | Annotated[StackOutput, Tag(MAPPING)], plain_or_mapping]


class CapacityBlock(Part):
    """A bought EC2 Capacity Block for ML."""

    id: Annotated[str, Field(pattern=r"^cr-[0-9a-f]{17}$", description="cr- and 17 hexadecimal digits")]
    """Id of the capacity reservation."""
    instance: Id
    """Instance type the block was bought for."""
    count: PositiveInt
    """Instances in the block."""
    zone: Id
    """Availability zone the block lies in."""
    start: Moment
    """When the block starts, with its time zone."""
    end: Moment
    """When the block ends."""


class Reservation(Part):
    """Reserved capacity that exists already."""

    id: Id
    """Its name or id."""
    instance: Id | None = None
    """Machine type it holds."""
    count: PositiveInt | None = None
    """Machines in it."""
    zone: Id | None = None
    """Zone it lies in."""


class UseBlock(Part):
    """Use an EC2 Capacity Block."""

    capacity_block: CapacityBlock
    """The block."""


class UseReservation(Part):
    """Use a reservation."""

    reservation: Reservation
    """The reservation."""


Mode = Literal["on-demand", "spot", "flex-start", "calendar"]


def _capacity_kind(value: object) -> str | None:
    """Which of the forms a capacity entry is meant to have, so that only that one reports its problems."""
    if not isinstance(value, (dict, BaseModel)):
        return PLAIN
    keys = value if isinstance(value, dict) else type(value).model_fields
    return next((f"<{key}>" for key in ("capacity_block", "reservation") if key in keys), None)


_FORMS = "a capacity entry is a mode (on-demand, spot, flex-start, calendar), {capacity_block: ...} or {reservation: ...}"
CapacityEntry = Annotated[
    Annotated[Mode, Tag(PLAIN)] | Annotated[UseBlock, Tag("<capacity_block>")] | Annotated[UseReservation, Tag("<reservation>")],
    Discriminator(_capacity_kind, custom_error_type="S-choice", custom_error_message=_FORMS),
]


class Capacity(Part):
    """How machines are obtained: exactly one of the two."""

    ordered: tuple[CapacityEntry, ...] = ()
    """Alternatives for sizing; the first that fits wins."""
    fallback: tuple[CapacityEntry, ...] = ()
    """Several pools are provisioned; the scheduler prefers the first."""


class ExistingNetwork(Part):
    """A network this stack does not own."""

    vpc: IdOrOutput
    """Id of the network, or the output of another stack."""
    subnets: tuple[IdOrOutput, ...] = ()
    """Ids of its subnets."""


class Network(Part):
    """Left out, a network is made."""

    existing: ExistingNetwork | None = None
    """Use this network."""


class Pin(Part):
    """Beats sizing, with a warning; never a rule that means certain failure."""

    instance: Id
    """Instance, machine or TPU host type."""
    nodes: PositiveInt | None = None
    """Machines; left out, sizing chooses."""
    topology: Annotated[str, Field(pattern=r"^[0-9]+x[0-9]+(x[0-9]+)?$", description="such as 4x8 or 4x4x4")] | None = None
    """TPU slice."""


class Place(Part):
    """One place to look for machines."""

    cloud: Literal["aws", "gcp", "kubernetes"]
    """Whose machines."""
    account: Annotated[str, Field(pattern=r"^[0-9]{12}$", description="12 digits, in quotes")] | None = None
    """AWS account; the provider refuses credentials of any other."""
    project: Project | None = None
    """Google Cloud project id."""
    regions: tuple[Id, ...] = ()
    """Regions allowed; left out, every region of the catalog."""
    zones: tuple[Id, ...] = ()
    """Zones allowed; left out, every zone of the regions."""
    capacity: Capacity = Capacity(ordered=("on-demand",))
    """How machines are obtained here."""
    network: Network = Network()
    """Network to use."""
    quotas: Text | None = None
    """File of exported quotas."""
    inventory: Text | None = None
    """File that describes an existing Kubernetes cluster."""
    pin: Pin | None = None
    """Machines chosen by hand."""


class Infra(Part):
    """Exactly one of the two lists."""

    any_of: tuple[Place, ...] = ()
    """All places are compared; the best one wins."""
    ordered: tuple[Place, ...] = ()
    """The first place with a fit wins."""

    @property
    def places(self) -> tuple[Place, ...]:
        return self.any_of or self.ordered


class PrivateAccess(Part):
    """The cluster's API endpoint, reachable from these networks only."""

    cidrs: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Such as 203.0.113.0/24."""


class Blueprint(Part):
    """The shape of what is built; `auto` leaves it to sizing."""

    kind: Literal["auto", "box", "training-cluster", "inference-fleet", "tpu-pod"] = "auto"
    """One node; many on one fabric; replicas that follow traffic; TPU slices."""
    cluster: Annotated[Annotated[Literal["new"], Tag(PLAIN)] | Annotated[StackOutput, Tag(MAPPING)], plain_or_mapping] = "new"
    """A cluster of its own, or one that another stack exports."""
    pools: Literal["auto"] = "auto"
    """Node pools."""
    api_access: Annotated[Annotated[Literal["private"], Tag(PLAIN)] | Annotated[PrivateAccess, Tag(MAPPING)], plain_or_mapping] = "private"
    """Who reaches the cluster's API."""
    storage: Literal["auto", "none", "lustre"] = "auto"
    """Shared file system beside the machines."""
    ttl: Duration | None = None
    """How long the stack may live."""
