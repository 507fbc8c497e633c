"""Models of an inventory file: servers, networks and storage of an existing Kubernetes cluster (docs/kubernetes.md).

`rackwright inventory --kubeconfig FILE` writes one; people write one by hand with the same keys.
"""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from rackwright.spec.base import PLAIN, Id, Moment, Name, Part, PositiveInt, Text, tag_by_key
from rackwright.spec.quantity import Size

INVENTORY_VERSION = "rackwright/inventory/v1"
Host = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$", description="name of a Kubernetes node")]
LinkSpeed = Annotated[str, Field(pattern=r"^([A-Z]{3}|[0-9]{1,4} Gbit/s)$", description="NDR, HDR, EDR, XDR or such as 100 Gbit/s")]
Ipv4Range = Annotated[str, Field(pattern=r"^[0-9.]+/[0-9]+$", description="such as 10.244.0.0/16")]
Ipv4Ranges = Annotated[
    Annotated[Ipv4Range, Tag(PLAIN)] | Annotated[tuple[Ipv4Range, ...], Tag("<list>")],
    Discriminator(lambda value: "<list>" if isinstance(value, (list, tuple)) else PLAIN),
]
Labels = dict[Annotated[str, Field(max_length=317)], Annotated[str, Field(max_length=63)]]


class ClusterFacts(Part):
    """The existing cluster."""

    name: Name
    """Name of the cluster, in plans and reports."""
    kubernetes: Annotated[str, Field(pattern=r"^1\.[0-9]{2}$", description="such as 1.35, in quotes")]
    """Minor version of its control plane."""
    context: Id | None = None
    """Context of the kubeconfig that updates use; default: the current one."""
    pod_cidr: Ipv4Ranges | None = None
    """Addresses of pods, one range or several, which the rails must not overlap (S-199)."""
    service_cidr: Ipv4Ranges | None = None
    """Addresses of services, one range or several, which the rails must not overlap (S-199)."""
    node_cidr: Ipv4Ranges | None = None
    """Addresses of nodes, one range or several, which the rails must not overlap (S-199)."""
    topology_labels: tuple[Id, ...] = ()
    """Node labels of the network's levels from spine to leaf, such as those of NVIDIA Topograph; the host name is always the last level."""

    @property
    def ranges(self) -> dict[str, tuple[str, ...]]:
        """Key -> address ranges that the cluster uses; empty where they are not known."""
        keys = ("pod_cidr", "service_cidr", "node_cidr")
        return {key: (value,) if isinstance(value := getattr(self, key), str) else value or () for key in keys}


class Gpus(Part):
    """GPUs of one server."""

    model: Id
    """Accelerator of the catalog: its name or alias, such as h100 or l40s."""
    count: PositiveInt
    """GPUs of the server."""
    mig: Id | None = None
    """MIG profile that divides every GPU, such as 3g.40gb; `count` is that of whole GPUs. For services only (N-08)."""


class NicPort(Part):
    """One NIC port of a server."""

    device: Id | None = None
    """RDMA device, such as mlx5_0."""
    interface: Id | None = None
    """Network interface, such as ibs1f0."""
    resource: Annotated[str, Field(pattern=r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$", description="such as nvidia.com/rail_0")] | None = None
    """Resource of the port that the cluster's network operator offers already; with `network`."""
    network: Annotated[str, Field(pattern=r"^([a-z0-9-]+/)?[a-z0-9.-]+$", description="such as rails/rail-0")] | None = None
    """Existing network (NetworkAttachmentDefinition) of the rail: `namespace/name`, or a name in the stack's namespace; with `resource`."""


class Nic(Part):
    """NIC ports of one kind in a server, one per rail."""

    kind: Literal["infiniband", "roce", "ethernet"]
    """Link layer: InfiniBand, RDMA over Ethernet, or Ethernet without RDMA."""
    speed: LinkSpeed | None = None
    """Speed of one port: an InfiniBand generation (NDR), or such as 100 Gbit/s; sizing requires it."""
    count: PositiveInt
    """Ports of the server; each is a rail."""
    firmware: Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+){2}$", description="such as 28.43.1014")] | None = None
    """Firmware of the NICs, which V-222 compares with that of the driver."""
    rails: tuple[NicPort, ...] = ()
    """Names of the ports in rail order; where they are missing, all ports share one resource."""

    @property
    def has_interfaces(self) -> bool:
        """Whether every port has the name of its interface."""
        return bool(self.rails) and all(rail.interface for rail in self.rails)


class LocalDisks(Part):
    """Local NVMe disks of a server."""

    count: PositiveInt
    """Number of disks."""
    size: Size
    """Size of one disk."""


class Node(Part):
    """One node of the cluster."""

    name: Host
    """Name of the Kubernetes node."""
    rack: Id | None = None
    """Rack of the server."""
    labels: Labels = {}
    """Labels of this node besides those of its group, such as its switch of each level in `topology_labels`."""
    gpus: Gpus | None = None
    """GPUs of this node where they differ from its group; S-187 refuses them."""


NodeEntry = Annotated[Annotated[Host, Tag(PLAIN)] | Annotated[Node, Tag("<node>")], Discriminator(tag_by_key({}, "<node>"))]


class Taint(Part):
    """Taint of nodes."""

    key: Id
    """Key of the taint."""
    value: Annotated[str, Field(max_length=63)] = ""
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"
    """Effect of the taint."""


class ServerGroup(Part):
    """Equal servers: what one pool of the stack uses."""

    name: Name
    """Name of the group."""
    model: Id | None = None
    """Server of the catalog, such as xe9680-h100; `rackwright catalog` lists them."""
    nodes: Annotated[tuple[NodeEntry, ...], Field(min_length=1)]
    """Nodes of the group: names, or mappings with `name`, `rack` and `labels`."""
    gpus: Gpus | None = None
    """GPUs of each server; default: those of the server in the catalog."""
    cpus: PositiveInt
    """Logical processors of each server, as Kubernetes counts them."""
    memory: Size
    """Host memory of each server."""
    arch: Literal["x86_64", "arm64"] = "x86_64"
    """Architecture of the processors."""
    os: Text | None = None
    """Operating system, such as Ubuntu 24.04."""
    gpu_driver: Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+){1,2}$", description="such as 580.126.20")] | None = None
    """GPU driver on the servers, where they have one (V-222)."""
    nic_driver: Annotated[str, Field(pattern=r"^[0-9A-Za-z_.:-]+$", description="such as 24.10-0.7.0.0")] | None = None
    """NIC driver on the servers (DOCA-OFED or MLNX_OFED), as `ofed_info -s` prints it (V-222)."""
    nics: tuple[Nic, ...] = ()
    """NICs of each server."""
    local_nvme: LocalDisks | None = None
    """Local NVMe disks of each server."""
    labels: Labels = {}
    """Labels that all nodes of the group have."""
    taints: tuple[Taint, ...] = ()
    """Taints that all nodes of the group have; jobs and servers of the stack tolerate them."""

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(node if isinstance(node, str) else node.name for node in self.nodes)

    def lacks_label(self, label: str) -> tuple[str, ...]:
        """Nodes without the label, neither as one of the group nor of the node."""
        own = ({} if isinstance(node, str) else node.labels for node in self.nodes)
        return () if label in self.labels else tuple(name for name, labels in zip(self.node_names, own, strict=True) if label not in labels)

    @property
    def rdma_nics(self) -> tuple[Nic, ...]:
        """NICs with RDMA, in file order."""
        return tuple(nic for nic in self.nics if nic.kind != "ethernet")


class NfsStorage(Part):
    """Directory of an NFS server."""

    kind: Literal["nfs"]
    """NFS."""
    name: Name
    """Name of the volume."""
    server: Id
    """Address of the NFS server."""
    path: Annotated[str, Field(pattern=r"^/\S*$", description="an absolute path")]
    """Exported directory."""


class MountedStorage(Part):
    """File system that every node mounts at the same path."""

    kind: Literal["lustre", "mounted"]
    """Lustre, or any other file system that the nodes mount."""
    name: Name
    """Name of the volume."""
    path: Annotated[str, Field(pattern=r"^/\S*$", description="an absolute path")]
    """Path of the mount on the nodes."""


class CsiStorage(Part):
    """Storage class of a CSI driver, such as those of Weka, VAST or Ceph."""

    kind: Literal["csi"]
    """Volumes of a storage class."""
    name: Name
    """Name of the volume."""
    storage_class: Id
    """Name of the storage class."""
    shared: Annotated[bool, Field(strict=True)] = True
    """Whether several nodes can write to a volume (ReadWriteMany)."""
    default: Annotated[bool, Field(strict=True)] = False
    """Whether it is the default class of the cluster."""


STORAGE_ORDER = {"lustre": 0, "mounted": 1, "csi": 1, "nfs": 2}
"""Kinds from fast to slow: Lustre stripes files over servers, NFS has one server, and the others may be either."""
StorageEntry = Annotated[NfsStorage | MountedStorage | CsiStorage, Discriminator("kind")]


class Installed(Part):
    """Helm release of the cluster."""

    name: Id
    """Name of the chart."""
    version: Id
    """Version of the chart."""
    namespace: Id
    """Namespace of the release."""
    service: Id | None = None
    """Service of Prometheus, of kube-prometheus-stack; default: prometheus-operated, which its operator creates."""


class Inventory(Part):
    """Servers, networks and storage of an existing Kubernetes cluster."""

    api_version: Literal["rackwright/inventory/v1"]
    """Version of the inventory format."""
    generated_at: Moment
    """When the cluster was read or the file was written."""
    cluster: ClusterFacts
    """The cluster."""
    servers: Annotated[tuple[ServerGroup, ...], Field(min_length=1)]
    """Groups of equal servers."""
    storage: tuple[StorageEntry, ...] = ()
    """Storage of the cluster: NFS, mounted file systems, and CSI storage classes."""
    installed: tuple[Installed, ...] = ()
    """Operators of the cluster; the stack does not install them again."""

    @property
    def shared_storage(self) -> tuple[StorageEntry, ...]:
        """Storage that several nodes can write to, parallel file systems before NFS."""
        shared = (entry for entry in self.storage if not isinstance(entry, CsiStorage) or entry.shared)
        return tuple(sorted(shared, key=lambda entry: STORAGE_ORDER[entry.kind]))

    @property
    def fastest_storage(self) -> tuple[StorageEntry, ...]:
        """The first of `shared_storage`, with those whose kind is as fast."""
        found = self.shared_storage
        return tuple(entry for entry in found if STORAGE_ORDER[entry.kind] == STORAGE_ORDER[found[0].kind])
