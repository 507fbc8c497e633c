"""Where it may run: places to look, in order or all at once."""

from typing import Annotated, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from rackwright.clouds import names, sellers
from rackwright.spec.base import MAPPING, PLAIN, Id, Moment, OneOf, Part, PositiveInt, Text, plain_or_mapping

CloudName = Annotated[str, OneOf(names)]
SellerName = Annotated[str, OneOf(sellers)]
Project = Annotated[str, Field(pattern=r"^[a-z][-a-z0-9:.]{4,61}[a-z0-9]$", description="lower-case letters, digits, dashes; 6 at least")]


class StackOutput(Part):
    """A value another stack exports."""

    stack: Id
    """Name of the other stack, `organization/project/stack` where it is not in this project."""
    output: Id
    """Name of its output."""


IdOrOutput = Annotated[Annotated[Id, Tag(PLAIN)] | Annotated[StackOutput, Tag(MAPPING)], plain_or_mapping]


Arn = Annotated[
    str, Field(pattern=r"^arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:[0-9]*:\S+$", description="such as arn:aws:iam::123456789012:role/x")
]


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
    """Reserved capacity that exists already: one reservation by id, or on AWS a group of them."""

    id: Id | None = None
    """Its name or id."""
    group: Arn | None = None
    """ARN of an AWS resource group of reservations, in place of an id."""
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


def held(entry: CapacityEntry | None) -> CapacityBlock | Reservation | None:
    """What an entry names that exists already; None for a mode."""
    if isinstance(entry, UseBlock):
        return entry.capacity_block
    return entry.reservation if isinstance(entry, UseReservation) else None


class Capacity(Part):
    """How machines are obtained: exactly one of the two."""

    ordered: tuple[CapacityEntry, ...] = ()
    """Alternatives for sizing; the first that fits wins."""
    fallback: tuple[CapacityEntry, ...] = ()
    """Several pools are provisioned; the scheduler prefers the first."""


class ExistingSubnet(Part):
    """A subnet this stack does not own, with what is known of it: the more is said, the more is checked before any call."""

    id: IdOrOutput
    """Its id, or the output of another stack."""
    zone: Id | None = None
    """Availability zone it lies in."""
    cidr: Text | None = None
    """Its addresses, such as 10.0.64.0/18."""
    use: Literal["all", "nodes", "control", "public"] = "all"
    """What it is for: machines, the control plane, both, or nothing of ours (public)."""


def _subnet_kind(value: object) -> str:
    if not isinstance(value, (dict, BaseModel)):
        return PLAIN
    keys = value if isinstance(value, dict) else type(value).model_fields
    return MAPPING if "stack" in keys and "id" not in keys else "<subnet>"


SubnetEntry = Annotated[
    Annotated[Id, Tag(PLAIN)] | Annotated[StackOutput, Tag(MAPPING)] | Annotated[ExistingSubnet, Tag("<subnet>")],
    Discriminator(_subnet_kind),
]


class ExistingNetwork(Part):
    """A network this stack does not own."""

    vpc: IdOrOutput
    """Id of the network, or the output of another stack."""
    subnets: tuple[SubnetEntry, ...] = ()
    """Its subnets: ids, outputs of another stack, or descriptions."""


class Network(Part):
    """Left out, a network is made."""

    existing: ExistingNetwork | None = None
    """Use this network."""
    cidr: Text | None = None
    """Addresses of the network that is made, such as 10.20.0.0/16; on AWS."""


class Roles(Part):
    """AWS roles that exist; those left out are made."""

    cluster: IdOrOutput | None = None
    """ARN of the EKS control plane's role."""
    nodes: IdOrOutput | None = None
    """ARN of the nodes' role."""
    workload: IdOrOutput | None = None
    """ARN of the role of the workload's pods; of a box, the name of its instance profile."""


Quotas = dict[Id, dict[Id, Annotated[float, Field(ge=0)]]]
"""Region -> quota code or metric -> what is granted and not taken by others, in the quota's own unit."""


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

    cloud: CloudName
    """Whose machines."""
    account: Annotated[str, Field(pattern=r"^[0-9]{12}$", description="12 digits, in quotes")] | None = None
    """AWS account; the provider refuses credentials of any other."""
    project: Project | None = None
    """Google Cloud project id."""
    role: Arn | None = None
    """AWS role that builds the stack; the provider assumes it."""
    permissions_boundary: Arn | None = None
    """IAM policy set as boundary on every role that is made."""
    roles: Roles | None = None
    """AWS roles to use in place of new ones."""
    key: IdOrOutput | None = None
    """ARN of a KMS key to use in place of a new one."""
    regions: tuple[Id, ...] = ()
    """Regions allowed; left out, every region of the catalog."""
    zones: tuple[Id, ...] = ()
    """Zones allowed; left out, every zone of the regions."""
    capacity: Capacity = Capacity(ordered=("on-demand",))
    """How machines are obtained here."""
    network: Network = Network()
    """Network to use."""
    quotas: Annotated[Annotated[Text, Tag(PLAIN)] | Annotated[Quotas, Tag(MAPPING)], plain_or_mapping] | None = None
    """What the account grants: a file that `rackwright lookup SPEC --write-quotas FILE` or `aws service-quotas list-service-quotas`
    wrote, or region: {quota code: amount}."""
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
