"""The shape of what is built: what sizing decides unless it is said here."""

from typing import Annotated, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from rackwright.spec.base import MAPPING, PLAIN, Flag, Id, Name, Part, PositiveInt, Text, plain_or_mapping
from rackwright.spec.infra import CapacityEntry, StackOutput
from rackwright.spec.quantity import Duration, Size


class PrivateAccess(Part):
    """The cluster's API endpoint, reachable from these networks only."""

    cidrs: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Such as 203.0.113.0/24."""


class InsideAccess(Part):
    """The cluster's API endpoint stays private, and updates run from a machine that reaches it."""

    runner: Literal["inside"]
    """Whoever runs the update is in the network, or has a way into it."""


def _by_key(**tags: str):
    """Which form a mapping is meant to have, by a key of it; a plain value is PLAIN."""

    def choose(value: object) -> str:
        if not isinstance(value, (dict, BaseModel)):
            return PLAIN
        keys = value if isinstance(value, dict) else type(value).model_fields
        return next((f"<{key}>" for key in tags if key in keys), f"<{next(iter(tags))}>")

    return Discriminator(choose)


ApiAccess = Annotated[
    Annotated[Literal["private", "public"], Tag(PLAIN)]
    | Annotated[PrivateAccess, Tag("<cidrs>")]
    | Annotated[InsideAccess, Tag("<runner>")],
    _by_key(cidrs="", runner=""),
]


class ExistingCluster(Part):
    """An EKS cluster this stack does not own: pools, queues and workloads are added to it."""

    name: Id
    """Its name."""


ClusterChoice = Annotated[
    Annotated[Literal["new"], Tag(PLAIN)] | Annotated[StackOutput, Tag("<stack>")] | Annotated[ExistingCluster, Tag("<name>")],
    _by_key(name="", stack=""),
]


class LustreOptions(Part):
    """A file system with what sizing would have chosen; what is left out sizing chooses."""

    capacity: Size | None = None
    """Such as 4800 GiB."""
    throughput: Literal[125, 250, 500, 1000] | None = None
    """MB/s per TiB of an SSD file system."""
    tiering: Literal["ssd", "intelligent"] = "ssd"
    """SSD that is bought, or tiers that follow use (FSx Intelligent-Tiering)."""
    efa: Flag | None = None
    """Clients reach it over EFA; left out, when they need to."""


class LustreStorage(Part):
    """A Lustre file system, described."""

    lustre: LustreOptions
    """What it is to be."""


Storage = Annotated[Annotated[Literal["auto", "none", "lustre"], Tag(PLAIN)] | Annotated[LustreStorage, Tag(MAPPING)], plain_or_mapping]


class OwnImage(Part):
    """A machine image of one's own, on AWS."""

    ami: Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$", description="ami- and 8 to 17 hexadecimal digits")]
    """Its id."""
    family: Literal["al2023", "bottlerocket", "ubuntu"]
    """What it is made from, which decides how a node starts."""


Family = Literal["al2023", "bottlerocket"]
Image = Annotated[Annotated[Family, Tag(PLAIN)] | Annotated[OwnImage, Tag(MAPPING)], plain_or_mapping]


class Nodes(Part):
    """How the accelerators' machines on EKS are set up."""

    image: Image = "al2023"
    """EKS image family, or an image of one's own."""
    provisioner: Literal["auto", "managed", "karpenter"] = "auto"
    """Who makes them: managed node groups, or Karpenter (serving's default)."""
    devices: Literal["plugin", "dra"] = "plugin"
    """How EFA interfaces reach pods: the device plugin, or dynamic resource allocation."""
    interfaces: Literal["fewest-addresses", "most-bandwidth"] = "fewest-addresses"
    """Network interfaces of EFA machines: one address per machine, or more addresses and more IP bandwidth."""
    placement_group: Literal["auto", "never"] = "auto"
    """Machines close together where the capacity allows it."""


class ExtraPool(Part):
    """A pool beside the one that sizing chose."""

    name: Name
    """Its name, and that of its queue."""
    instance: Id
    """Instance type."""
    nodes: PositiveInt
    """Most machines."""
    at_least: Annotated[int, Field(ge=0, strict=True)] = 0
    """Fewest machines."""
    capacity: CapacityEntry = "on-demand"
    """How they are obtained."""


Pools = Annotated[
    Annotated[Literal["auto"], Tag(PLAIN)] | Annotated[tuple[ExtraPool, ...], Tag("<list>")],
    Discriminator(lambda value: "<list>" if isinstance(value, (list, tuple)) else PLAIN),
]


class Safety(Part):
    """What is on unless it is switched off here, with a warning. Encryption, private machines and closed buckets have no switch."""

    flow_logs: Flag = True
    """Who talked to whom in the network."""
    audit_logs: Flag = True
    """Who asked what of the cluster's API."""
    private_endpoints: Flag = True
    """AWS services reached without leaving the network."""
    network_policies: Flag = True
    """Pods reach only what is allowed."""
    deletion_protection: Flag = True
    """What holds data, and the cluster, refuses to be deleted until teardown."""
    idle_alarm: Flag = True
    """Machines that do nothing are told of; a box stops."""


class Blueprint(Part):
    """The shape of what is built; `auto` leaves it to sizing."""

    kind: Literal["auto", "box", "training-cluster", "inference-fleet", "tpu-pod"] = "auto"
    """One node; many on one fabric; replicas that follow traffic; TPU slices."""
    cluster: ClusterChoice = "new"
    """A cluster of its own, one that exists, or one that another stack exports."""
    pools: Pools = "auto"
    """Node pools: what sizing chose, and those listed beside it."""
    nodes: Nodes = Nodes()
    """How machines of a cluster are set up."""
    api_access: ApiAccess = "private"
    """Who reaches the cluster's API."""
    ssh_from: Annotated[
        Annotated[Literal["nobody", "anywhere"], Tag(PLAIN)] | Annotated[tuple[Text, ...], Tag("<list>")],
        Discriminator(lambda value: "<list>" if isinstance(value, (list, tuple)) else PLAIN),
    ] = "nobody"
    """Networks that may open SSH to a box, which has no public address: peered ones, a VPN. Session Manager needs none."""
    storage: Storage = "auto"
    """Shared file system beside the machines."""
    safety: Safety = Safety()
    """Switches of what protects data and money."""
    notify: tuple[Annotated[str, Field(pattern=r"^\S+@\S+\.\S+$", description="an e-mail address")], ...] = ()
    """Who is told by mail of budget, idle machines and the end of the stack's time."""
    ttl: Duration | None = None
    """How long the stack may live."""
