"""Machines of a box or of pools: capacity, interfaces, disks and images."""

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from rackwright.stackplan.capacity import ADJACENT_MODES
from rackwright.stackplan.labels import RESOURCES, ROLE_LABEL
from rackwright.stackplan.storage import DiskPlan

MEMORY_LOCKING_FABRICS = ("efa", "infiniband", "roce")
"""Fabrics whose RDMA registers memory, which pods may lock only in a namespace of the level `privileged`."""
PRIVILEGED_FABRICS = (*MEMORY_LOCKING_FABRICS, "tcpx", "tcpxo")
"""These, and fabrics whose libraries and sockets are folders of the node, which pods mount only in such a namespace."""

IF_SHARED = Field(exclude_if=lambda value: value is None)
"""JSON of a pool with whole accelerators has no such key."""
IF_KNOWN = Field(exclude_if=lambda value: value is None)
"""JSON has no such key where it is not set."""
IF_SET = Field(exclude_if=lambda value: not value)
"""JSON has no such key where it is False."""


@dataclass(frozen=True)
class CapacityPlan:
    """How machines are obtained. mode: on-demand | spot | capacity-block | reservation | flex-start | calendar. Times are ISO 8601.

    drains_at: start of draining a capacity block, 40 minutes before its end, 70 for UltraServers (EC2 reclaims machines from 30 and 60
    minutes before it).
    """

    mode: str = "on-demand"
    reservation_id: str = ""
    starts_at: str = ""
    ends_at: str = ""
    max_run_s: int | None = None
    drains_at: str = ""
    group_arn: str = ""
    """A resource group of reservations, in place of reservation_id."""
    machine: str = ""
    zone: str = ""
    count: int | None = None
    """Instance type, zone and number in the reservation or block, as in the spec; empty and None: not set."""
    local_ssds: Annotated[int | None, IF_KNOWN] = None
    """Local SSDs of each machine in the reservation, as in the spec."""
    queued: Annotated[bool, IF_SET] = False
    """Flex-start machines that Kueue requests together for a job (queued provisioning)."""


@dataclass(frozen=True)
class NicPlan:
    """One network interface of a machine. kind: `ip` or `fabric`. device: 0 where the cloud numbers interfaces by card alone."""

    card: int
    device: int
    kind: str


@dataclass(frozen=True)
class BoxPlan:
    """One machine. image: name of a machine image, pinned by the decision.

    idle_stop_minutes: idle time before the machine stops; idle_cpu_percent: CPU utilization below which a minute is idle.
    attached_accelerator: the cloud's name of an accelerator that is attached to the machine; empty where the machine type has it.
    local_ssd_count: local SSDs to add, where the machine type lets the user choose. nics: empty for one interface.
    is_reservation_bound: the machine ends with its reservation, which serves no other machines.
    """

    machine: str
    zone: str
    image: str
    root: DiskPlan
    data: DiskPlan | None
    capacity: CapacityPlan
    accelerator: str = ""
    accelerator_count: int = 0
    local_nvme: bool = False
    idle_stop_minutes: int | None = 60
    setup_script: str = ""
    ingress: tuple[str, ...] = ()
    idle_cpu_percent: float = 2.0
    kind: str = "gpu"
    """gpu | neuron | cpu | other"""
    cpu_arch: str = "x86_64"
    attached_accelerator: Annotated[str, IF_SET] = ""
    local_ssd_count: Annotated[int, IF_SET] = 0
    nics: Annotated[tuple[NicPlan, ...], IF_SET] = ()
    is_reservation_bound: Annotated[bool, IF_SET] = False

    @property
    def machine_type(self) -> str:
        """The cloud's name of the machine type, without the accelerators that are attached to it: n1-standard-8 of n1-standard-8+1xT4."""
        return self.machine.partition("+")[0]


@dataclass(frozen=True)
class TaintPlan:
    """A Kubernetes taint of a pool's nodes."""

    key: str
    value: str
    effect: str = "NoSchedule"

    @property
    def toleration(self) -> dict[str, str]:
        """The toleration of a pod for this taint alone."""
        return {"key": self.key, "operator": "Equal", "value": self.value, "effect": self.effect}


@dataclass(frozen=True)
class SharingPlan:
    """Division of every accelerator of a pool: one part for each pod.

    strategy: mig | mps | time-slicing. parts: of one accelerator. profile: of MIG. resource: what a pod requests, one of it.
    """

    strategy: str
    parts: int
    resource: str
    profile: str = ""

    @property
    def config(self) -> str:
        """Name of the configuration of NVIDIA's device plugin, and value of the node label that selects it."""
        return "mig" if self.profile else f"{self.strategy}-{self.parts}"

    @property
    def mig_config(self) -> str:
        """Configuration of NVIDIA's MIG manager that divides every GPU of a node alike; empty without MIG."""
        return f"all-{self.profile}" if self.profile else ""


@dataclass(frozen=True)
class PoolPlan:
    """Machines of one shape in one zone (system pools: several zones).

    nodes_min / nodes_max: autoscaling bounds; equal means fixed. For a TPU slice both bounds are in {0, hosts}.
    """

    name: str
    machine: str
    zones: tuple[str, ...]
    nodes_min: int
    nodes_max: int
    nodes_start: int
    role: str = "accelerator"
    """accelerator | system"""
    accelerator: str = ""
    accelerator_label: str = ""
    accelerator_count: int = 0
    resource: str = ""
    """Resource that pods request: nvidia.com/gpu, google.com/tpu"""
    cpu_arch: str = "x86_64"
    capacity: CapacityPlan = field(default_factory=CapacityPlan)
    disk: DiskPlan = field(default_factory=lambda: DiskPlan(100))
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[TaintPlan, ...] = ()
    fabric: str = "none"
    nics: tuple[NicPlan, ...] = ()
    adjacent: bool = False
    """Uses a cluster placement group or compact placement"""
    local_nvme: bool = False
    local_ssd_count: int = 0
    topology: str = ""
    multi_host: bool = False
    workload_policy: bool = False
    """The topology of a multi-host slice is a resource policy with a workload policy."""
    max_pods: int | None = None
    image: str = ""
    image_id: str = ""
    """A custom AMI of the family in `image`"""
    provisioner: str = "managed"
    """managed: a node group; karpenter: a NodePool among the manifests, and no node group; compute-class: a node pool that GKE's autoscaler
    grows in the order of a ComputeClass among the manifests"""
    autoscaled: bool = False
    """The cluster autoscaler changes the number of nodes between the bounds."""
    preference: int = 0
    """Among pools for the same workload: the lowest is filled first."""
    devices: str = "plugin"
    """How fabric interfaces reach pods: plugin | dra"""
    pod_prefixes: bool = False
    """Pods use prefix delegation, which max_pods assumes"""
    lustre_interfaces: int = 0
    """EFA interfaces over which a node reads the Lustre file system; 0: over TCP."""
    serves: tuple[str, ...] = ()
    """Names of its workloads; empty: all"""
    max_unavailable: int | None = None
    """Machines that an update of a managed pool replaces together; None: the cloud's default, one."""
    update_minutes: int | None = None
    """Time limit of an update; None: the provider's default."""
    sharing: Annotated[SharingPlan | None, IF_SHARED] = None
    """How replicas share its accelerators; None: each has whole ones."""

    @property
    def machine_type(self) -> str:
        """The cloud's name of the machine type, without the accelerators that are attached to it."""
        return self.machine.partition("+")[0]

    @property
    def pod_resource(self) -> str:
        """Resource of the accelerators or their parts that pods request."""
        return self.sharing.resource if self.sharing else self.resource

    @property
    def pod_devices(self) -> int:
        """Accelerators of a node that pods can request, or their parts."""
        return self.accelerator_count * (self.sharing.parts if self.sharing else 1)

    @property
    def does_the_work(self) -> bool:
        """Whether the pool runs the sized workload: the sized pool or one of its fallback."""
        return self.role == "accelerator" and ROLE_LABEL in dict(self.labels)

    @property
    def terminates_first(self) -> bool:
        """Whether an update of a managed pool terminates machines before it launches new ones.

        Launching first needs more accelerators, capacity and quota for the time of the update; a reservation has no further machine
        (https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupUpdateConfig.html).
        """
        return self.accelerator_count > 0 or self.capacity.mode in ADJACENT_MODES

    @property
    def tolerations(self) -> list[dict[str, str]]:
        """Tolerations of every taint of the pool."""
        return [taint.toleration for taint in self.taints]

    @property
    def device_tolerations(self) -> list[dict[str, str]]:
        """Tolerations of the taint of the pool's resource with any value, and of every other taint of the pool."""
        device = {"key": self.resource, "operator": "Exists", "effect": "NoSchedule"}
        others = [taint.toleration for taint in self.taints if (taint.key, taint.effect) != (self.resource, "NoSchedule")]
        return [device, *others]

    @property
    def pod_security(self) -> str:
        """Pod security level of the namespace of the pool's jobs: RDMA (IPC_LOCK) and libtpu (SYS_RESOURCE) lock memory."""
        locks_memory = self.resource == RESOURCES["tpu"] or self.fabric in PRIVILEGED_FABRICS
        return "privileged" if locks_memory else "baseline"

    @property
    def fabric_interfaces(self) -> int:
        """Number of EFA interfaces per node."""
        return sum(nic.kind == "fabric" for nic in self.nics)
