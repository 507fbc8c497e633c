"""Machines: how they are bought, how they are wired, in a box or in pools."""

from dataclasses import dataclass, field

from rackwright.stackplan.storage import DiskPlan


@dataclass(frozen=True)
class CapacityPlan:
    """mode: on-demand | spot | capacity-block | reservation | flex-start | calendar. times are ISO 8601.

    drains_at: when a capacity block's machines must be empty, 40 min before its end, 70 where they are parts of an
    UltraServer (the cloud reclaims them from 30 and 60 min before).
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
    """What the reservation or block was made for, as its owner says; empty and None: not said."""


@dataclass(frozen=True)
class BoxPlan:
    """One machine, scaled up. image: a neutral name resolved and pinned by the decision.

    idle_stop_minutes: stop when nothing runs for so long; idle_cpu_percent: the busiest minute of all processors that still is nothing.
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


@dataclass(frozen=True)
class NicPlan:
    """One network interface of a node's launch layout (AWS): kind is `ip` or `fabric`."""

    card: int
    device: int
    kind: str


@dataclass(frozen=True)
class TaintPlan:
    """Keeps pods that do not tolerate it off the nodes of a pool; effects are Kubernetes's own."""

    key: str
    value: str
    effect: str = "NoSchedule"


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
    """What pods ask for: nvidia.com/gpu, google.com/tpu"""
    cpu_arch: str = "x86_64"
    capacity: CapacityPlan = field(default_factory=CapacityPlan)
    disk: DiskPlan = field(default_factory=lambda: DiskPlan(100))
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[TaintPlan, ...] = ()
    fabric: str = "none"
    nics: tuple[NicPlan, ...] = ()
    adjacent: bool = False
    """Placed close together (cluster placement group, compact policy)"""
    local_nvme: bool = False
    local_ssd_count: int = 0
    topology: str = ""
    multi_host: bool = False
    max_pods: int | None = None
    image: str = ""
    image_id: str = ""
    """An AMI of one's own, of the family that `image` names."""
    provisioner: str = "managed"
    """managed: a node group; karpenter: a NodePool among the manifests, and no node group"""
    autoscaled: bool = False
    """The cluster autoscaler moves the size between the bounds."""
    preference: int = 0
    """Among pools for the same work: the lowest is filled first."""
    devices: str = "plugin"
    """How fabric interfaces reach pods: plugin | dra"""
    pod_prefixes: bool = False
    """Pods take addresses from prefixes, which max_pods counts on"""
    lustre_interfaces: int = 0
    """Fabric interfaces over which a machine reads the Lustre file system; 0: over TCP."""
    serves: tuple[str, ...] = ()
    """Names of the workloads it is for; empty: all"""

    @property
    def fabric_interfaces(self) -> int:
        """Interfaces of one machine that are the fabric's."""
        return sum(nic.kind == "fabric" for nic in self.nics)
