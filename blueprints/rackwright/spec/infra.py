"""Models of the `infra` section: clouds, regions, capacity and existing infrastructure."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from rackwright.clouds import names, sellers
from rackwright.spec.base import MAPPING, PLAIN, Id, Moment, Name, OneOf, Part, PositiveInt, Text, plain_or_mapping, tag_by_key
from rackwright.spec.inventory import Inventory
from rackwright.spec.own_servers import NodeCost, RdmaFabric

CloudName = Annotated[str, OneOf(names)]
SellerName = Annotated[str, OneOf(sellers)]
BillingAccount = Annotated[str, Field(pattern=r"^[0-9A-F]{6}(-[0-9A-F]{6}){2}$", description="such as 012345-6789AB-CDEF01")]
Project = Annotated[str, Field(pattern=r"^[a-z][-a-z0-9:.]{4,61}[a-z0-9]$", description="lower-case letters, digits, dashes; 6 at least")]


class StackOutput(Part):
    """Output of another Pulumi stack."""

    stack: Id
    """Name of the other stack; `organization/project/stack` for a stack of another project."""
    output: Id
    """Name of the stack output."""


IdOrOutput = Annotated[Annotated[Id, Tag(PLAIN)] | Annotated[StackOutput, Tag(MAPPING)], plain_or_mapping]


Arn = Annotated[
    str, Field(pattern=r"^arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:[0-9]*:\S+$", description="such as arn:aws:iam::123456789012:role/x")
]


Deployer = Annotated[
    str,
    Field(
        pattern=r"^(arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:[0-9]*:\S+|[a-z][-a-z0-9]{4,28}[a-z0-9]@[a-z][-a-z0-9:.]{4,61}\.iam\.gserviceaccount\.com)$",
        description="such as arn:aws:iam::123456789012:role/x, or builder@my-project.iam.gserviceaccount.com",
    ),
]


class CapacityBlock(Part):
    """Purchased EC2 Capacity Block for ML."""

    id: Annotated[str, Field(pattern=r"^cr-[0-9a-f]{17}$", description="cr- and 17 hexadecimal digits")]
    """ID of the capacity reservation."""
    instance: Id
    """Instance type of the block."""
    count: PositiveInt
    """Number of instances in the block."""
    zone: Id
    """Availability zone of the block."""
    start: Moment
    """Start of the block, with time zone."""
    end: Moment
    """End of the block, with time zone."""


class Reservation(Part):
    """Existing capacity reservation: one by `id`, or on AWS a resource group of reservations."""

    id: Id | None = None
    """ID of the reservation on AWS; on Google Cloud its name, with its project or block where it is shared or divided."""
    group: Arn | None = None
    """ARN of an AWS resource group of reservations; replaces `id`."""
    instance: Id | None = None
    """Machine type of the reservation."""
    count: PositiveInt | None = None
    """Number of reserved machines."""
    zone: Id | None = None
    """Zone of the reservation."""
    local_ssds: Annotated[int, Field(ge=0, strict=True)] | None = None
    """Local SSDs of each machine of the reservation, on Google Cloud; machines with another number cannot use it."""


class UseBlock(Part):
    """Use an EC2 Capacity Block."""

    capacity_block: CapacityBlock
    """Capacity Block to use."""


class UseReservation(Part):
    """Use a reservation."""

    reservation: Reservation
    """Reservation to use."""


Mode = Literal["on-demand", "spot", "flex-start", "calendar"]


_FORMS = "a capacity entry is a mode (on-demand, spot, flex-start, calendar), {capacity_block: ...} or {reservation: ...}"
CapacityEntry = Annotated[
    Annotated[Mode, Tag(PLAIN)] | Annotated[UseBlock, Tag("<capacity_block>")] | Annotated[UseReservation, Tag("<reservation>")],
    Discriminator(
        tag_by_key({"capacity_block": "<capacity_block>", "reservation": "<reservation>"}, None),
        custom_error_type="S-choice",
        custom_error_message=_FORMS,
    ),
]


def existing_capacity(entry: CapacityEntry | None) -> CapacityBlock | Reservation | None:
    """Return the Capacity Block or reservation of an entry; None for a capacity mode."""
    if isinstance(entry, UseBlock):
        return entry.capacity_block
    return entry.reservation if isinstance(entry, UseReservation) else None


class Capacity(Part):
    """Capacity modes of a place: either `ordered` or `fallback`."""

    ordered: tuple[CapacityEntry, ...] = ()
    """Alternatives for sizing, most preferred first; the first that fits is used. Calendar capacity is named by its reservation (S-274)."""
    fallback: tuple[CapacityEntry, ...] = ()
    """One pool per entry, which grows when jobs need machines; later ones grow where earlier ones have no capacity. Not on own
    servers (N-04)."""
    queued: bool = False
    """Obtain flex-start machines by queued provisioning: Kueue requests all machines of a job together, and the job waits for them."""


class SecondaryRange(Part):
    """Secondary range of an existing subnet on Google Cloud."""

    name: Id
    """Name of the range."""
    cidr: Text | None = None
    """Addresses of the range, such as 10.4.0.0/14; validation checks them against the nodes of the stack."""


RangeEntry = Annotated[Annotated[Id, Tag(PLAIN)] | Annotated[SecondaryRange, Tag(MAPPING)], plain_or_mapping]


class ExistingSubnet(Part):
    """Existing subnet. Zone, CIDR and use are optional; validation checks those that are given."""

    id: IdOrOutput
    """Subnet ID, or an output of another stack."""
    zone: Id | None = None
    """Availability zone of the subnet."""
    cidr: Text | None = None
    """Address range of the subnet, such as 10.0.64.0/18."""
    use: Literal["all", "nodes", "control", "public", "proxy"] = "all"
    """Purpose: nodes, control plane, both (all), or not used by the stack (public). On Google Cloud also `proxy`: the region's proxy-only
    subnet, which the gateway of a fleet needs."""
    pods: RangeEntry | None = None
    """Secondary range of the pods; default: GKE adds a range to the subnet. Google Cloud only."""
    services: RangeEntry | None = None
    """Secondary range of the Kubernetes services; default: GKE adds a range to the subnet. Google Cloud only."""


SubnetEntry = Annotated[
    Annotated[Id, Tag(PLAIN)] | Annotated[StackOutput, Tag(MAPPING)] | Annotated[ExistingSubnet, Tag("<subnet>")],
    Discriminator(tag_by_key({"id": "<subnet>", "stack": MAPPING}, "<subnet>")),
]


class ExistingNetwork(Part):
    """Existing network."""

    vpc: IdOrOutput
    """ID of the network, or an output of another stack."""
    subnets: tuple[SubnetEntry, ...] = ()
    """Subnets to use: IDs, outputs of another stack, or mappings with `id`, `zone`, `cidr` and `use`."""
    subnet_users: Literal["create", "exist"] = "create"
    """Shared VPC on Google Cloud. create: the stack grants GKE's service agents the use of the subnets in the host project. exist: an
    administrator of the host project did."""


class Network(Part):
    """Network of the stack; a new one is created unless `existing` is set."""

    existing: ExistingNetwork | None = None
    """Existing network to use. On Google Cloud its name, or projects/HOST/global/networks/NAME of a Shared VPC."""
    cidr: Text | None = None
    """Address range of the new network, such as 10.20.0.0/16. On Google Cloud it also holds pods, services and accelerator networks.
    Not on own servers (N-19)."""


class Roles(Part):
    """Existing IAM roles, on Google Cloud service accounts; one that is left out is created."""

    cluster: IdOrOutput | None = None
    """ARN of the EKS control plane role. AWS only."""
    nodes: IdOrOutput | None = None
    """ARN of the node role, or email address of the service account of the nodes."""
    workload: IdOrOutput | None = None
    """ARN of the role of the workload's pods; for a box, the name of an instance profile. On Google Cloud the email address of the service
    account that the pods act as."""


Quotas = dict[Id, dict[Id, Annotated[float, Field(ge=0)]]]
"""Region -> quota code or metric -> granted amount less current usage, in the quota's unit."""


class Pin(Part):
    """Machines chosen by hand in place of sizing; causes a warning with the extra cost. Validation rules still apply."""

    instance: Id
    """Instance, machine or TPU host type."""
    nodes: PositiveInt | None = None
    """Number of machines; default: chosen by sizing."""
    topology: Annotated[str, Field(pattern=r"^[0-9]+x[0-9]+(x[0-9]+)?$", description="such as 4x8 or 4x4x4")] | None = None
    """Topology of the TPU slice."""
    slices: PositiveInt | None = None
    """Number of TPU slices of this topology that train together; default: 1."""


class Place(Part):
    """One cloud account, project or cluster in which sizing searches for machines."""

    cloud: CloudName
    """Cloud; `kubernetes` is an existing cluster on own servers, described by `inventory`."""
    account: Annotated[str, Field(pattern=r"^[0-9]{12}$", description="12 digits, in quotes")] | None = None
    """AWS account ID; the provider rejects credentials of any other account."""
    project: Project | None = None
    """Google Cloud project ID."""
    billing_account: BillingAccount | None = None
    """Google Cloud billing account of the project, in US dollars, for a budget from `goals.max_cost`; without it there is no budget."""
    role: Deployer | None = None
    """ARN of the role that the provider assumes to build the stack, or email address of the service account that it acts as.
    Not on own servers (N-18)."""
    permissions_boundary: Arn | None = None
    """ARN of the IAM policy set as permissions boundary on every new role; without it, the deployer can become administrator. AWS only
    (S-271)."""
    roles: Roles | None = None
    """Existing IAM roles or service accounts to use; not on own servers (N-18)."""
    key: IdOrOutput | None = None
    """Existing KMS key: its ARN, or projects/P/locations/REGION/keyRings/R/cryptoKeys/K; default: a new key. Not on own servers (N-18)."""
    regions: tuple[Id, ...] = ()
    """Allowed regions; default: every region of the catalog."""
    zones: tuple[Id, ...] = ()
    """Allowed zones; default: every zone of the allowed regions. On AWS zone IDs (use1-az1), which are the same in every account, or
    names (us-east-1a). Fleets use all of them, other stacks one."""
    capacity: Capacity = Capacity(ordered=("on-demand",))
    """Capacity modes, reservations and Capacity Blocks to consider."""
    network: Network = Network()
    """Network of the stack."""
    quotas: Annotated[Annotated[Text, Tag(PLAIN)] | Annotated[Quotas, Tag(MAPPING)], plain_or_mapping] | None = None
    """Quotas of the account or project: `region: {quota code: amount}`, with the key `global` for those of all regions of Google Cloud, or
    the path of a file. `rackwright lookup SPEC --write-quotas FILE`, `aws service-quotas list-service-quotas`, `gcloud compute regions
    describe REGION --format json` and `gcloud beta quotas info list` write such files."""
    inventory: Annotated[Annotated[Text, Tag(PLAIN)] | Annotated[Inventory, Tag(MAPPING)], plain_or_mapping] | None = None
    """Servers of an existing Kubernetes cluster: the path of a file that `rackwright inventory` writes, or its content. Kubernetes only."""
    node_cost: NodeCost | None = None
    """What an hour of a server costs; without it plans show hours only. Kubernetes only."""
    fabric: RdmaFabric | None = None
    """How pods use the InfiniBand or RoCE ports of the servers; default: `host-device`. Kubernetes only."""
    namespace: Name | None = None
    """Namespace that the stack creates for its workloads; default: `<stack>-team-<team>`. Kubernetes only."""
    pin: Pin | None = None
    """Machines chosen by hand in place of sizing."""


class Infra(Part):
    """Places to run: either `any_of` or `ordered`."""

    any_of: tuple[Place, ...] = ()
    """Places to compare; the best candidate of all is chosen."""
    ordered: tuple[Place, ...] = ()
    """Places by preference; the first one with a candidate that fits is chosen."""

    @property
    def places(self) -> tuple[Place, ...]:
        return self.any_of or self.ordered
