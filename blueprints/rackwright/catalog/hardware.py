"""Shapes of hardware: accelerators, machines, fabrics, TPU slices, servers; units and the meaning of None are in `rows.py`."""

from dataclasses import dataclass, replace
from enum import StrEnum

from rackwright.catalog.sharing import Sharing


class Fabric(StrEnum):
    """Interconnect between accelerators of two machines. NONE: VPC networking; TCP: VPC networking documented for multi-node use."""

    NONE = "none"
    EFA = "efa"
    TCPX = "tcpx"
    TCPXO = "tcpxo"
    ROCE = "roce"
    INFINIBAND = "infiniband"
    ICI = "ici"
    TCP = "tcp"


class CapacityMode(StrEnum):
    ON_DEMAND = "on-demand"
    SPOT = "spot"
    CAPACITY_BLOCK = "capacity-block"
    FLEX_START = "flex-start"
    RESERVATION = "reservation"
    CALENDAR = "calendar"
    OWNED = "owned"
    CUD_1Y = "cud-1y"
    CUD_3Y = "cud-3y"


FORMATS = ("fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4")
"""Number formats with a peak in the catalog; all peaks are dense, without sparsity."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One GPU, TPU chip or Neuron device.

    memory_bytes: addressable memory as an API or tool prints it, else the vendor's GB; *_flops, int8_ops: dense peak per second;
    scale_up_bytes_per_s: per direction and accelerator (half of the vendor's bidirectional figure), None without such a link;
    scale_up_domain: accelerators that reach one another over it; aliases: other names people and APIs use, lower case; generation: what the
    estimator's coefficients are fitted by, and row of accelerator_generations.csv; host_bytes_per_s: usable rate to the CPU per direction,
    None: that of the generation; serves_only: no trainer is documented; neuron_cores: NeuronCores a program sees of a device, and
    neuron_degrees those over which the Neuron runtime splits a model.
    """

    name: str
    vendor: str
    architecture: str
    generation: str
    form_factor: str
    aliases: tuple[str, ...]
    memory_bytes: int | None
    memory_type: str
    memory_bandwidth_bytes_per_s: float | None
    fp32_flops: float | None
    tf32_flops: float | None
    bf16_flops: float | None
    fp16_flops: float | None
    fp8_flops: float | None
    int8_ops: float | None
    fp4_flops: float | None
    measured_bf16_flops: float | None
    serves_only: bool
    neuron_cores: int | None
    neuron_degrees: tuple[int, ...]
    scale_up_link: str
    scale_up_bytes_per_s: float | None
    scale_up_domain: int | None
    scale_up_topology: str
    host_link: str
    host_bytes_per_s: float | None
    tdp_watts: float | None
    status: str
    confidence: str
    conflict: str
    notes: str
    source: str
    as_of: str

    def peak(self, dtype: str) -> float | None:
        """Return the dense peak of a number format in operations per second; None when it is not published or not supported."""
        if dtype not in FORMATS:
            raise ValueError(f"unknown number format {dtype!r}; known: {', '.join(FORMATS)}")
        return self.int8_ops if dtype == "int8" else getattr(self, f"{dtype}_flops")

    def supports(self, dtype: str) -> bool:
        """Return whether a peak is published for the format."""
        return self.peak(dtype) is not None


@dataclass(frozen=True, slots=True)
class AcceleratorGeneration:
    """Links that accelerators of a generation share, usable bytes/s per direction and accelerator.

    host: PCIe to the CPU, also the path between accelerators without a scale-up link. scale_out: its NIC in the vendor's reference server.
    slice: share of a TPU chip in the network between slices; None: not published.
    vllm_tpu: documented for vLLM's TPU backend.
    """

    generation: str
    host_link: str
    host_bytes_per_s: float
    scale_out_bytes_per_s: float
    slice_bytes_per_s: float | None
    vllm_tpu: bool
    confidence: str
    conflict: str
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Machine:
    """One node shape of any cloud or vendor, as sizing and compile use it.

    kind: gpu, tpu, neuron, cpu or other. accelerator_count: devices the node sees; accelerator_fraction: part of a whole device each of
    them is (vGPU); accelerator_memory_bytes: of one such device. network_bytes_per_s: all interfaces together, one direction, fabric
    included; network_is_peak: the vendor says "up to", and network_baseline_bytes_per_s is the rate without a burst, None where not
    published (NetworkCards[].BaselineBandwidthInGbps of EC2 DescribeInstanceTypes). fabric_interfaces: EFA devices or fabric NICs;
    fabric_bytes_per_s: theirs alone. network_cards, enis_per_card, ipv4_per_eni: EC2 limits; efa_cards: cards that carry EFA in the
    recommended layout; card0_efa: whether card 0 does; ip_cards: those that get a further address for most IP bandwidth, empty where
    that is not published; gpudirect: False where the fabric cannot reach device memory. extra_networks: GCP node networks besides the
    primary one. local_nvme_bytes: 0 is none, None not published; local_nvme_choices: numbers of 375 GiB disks that may be added (GCP).
    scale_up_domain: accelerators one of these reaches over its scale-up link, other nodes included. orderable: False when no API name
    is known or it is sold only inside a bigger unit, which then names it in `unit_machine` and holds `unit_nodes` of them. cpu_arch ""
    is not published.
    node_images: EKS images that have its drivers; no_box_image: why no pinned image starts it as a box, empty where one does;
    in_ultraserver: it is an UltraServer or a part of one; network_layers: layers of the network in which EC2 reports its place, None where
    it reports none (docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-topology-prerequisites.html); lustre_interfaces: EFA
    interfaces for an FSx file system, 0 where it cannot be a client over EFA; needs_whole_fabric: training must attach all its EFA
    interfaces. boot_disk: neutral kind of its boot disk (GCP); compact_flex_start: compact placement works with flex-start (GCP).
    vcpu_*: bandwidth and dense bf16 rate of one vCPU while all are busy, None where not published.
    sharing: how its accelerators are divided; its devices are then their parts.
    """

    name: str
    cloud: str
    family: str
    kind: str
    accelerator: str | None
    accelerator_count: int
    accelerator_memory_bytes: int | None
    vcpus: int | None
    memory_bytes: int | None
    cpu_arch: str
    network_bytes_per_s: float | None
    source: str
    as_of: str
    accelerator_fraction: float = 1.0
    network_is_peak: bool = False
    network_baseline_bytes_per_s: float | None = None
    fabric: Fabric = Fabric.NONE
    fabric_interfaces: int | None = 0
    fabric_bytes_per_s: float | None = None
    network_cards: int | None = None
    enis_per_card: int | None = None
    ipv4_per_eni: int | None = None
    efa_interfaces: int | None = 0
    efa_cards: tuple[int, ...] = ()
    card0_efa: bool = False
    ip_cards: tuple[int, ...] = ()
    gpudirect: bool | None = None
    extra_networks: int = 0
    local_nvme_bytes: int | None = None
    local_nvme_count: int | None = None
    local_nvme_choices: tuple[int, ...] = ()
    block_storage_bytes_per_s: float | None = None
    scale_up_link: str = ""
    scale_up_domain: int | None = None
    max_pods: int | None = None
    gke_accelerator_label: str = ""
    capacity_modes: tuple[CapacityMode, ...] = ()
    capacity_block: bool = False
    quota_on_demand: str = ""
    quota_spot: str = ""
    quota_capacity_block: str = ""
    placement: str = ""
    orderable: bool = True
    unit_machine: str = ""
    unit_nodes: int = 1
    node_images: tuple[str, ...] = ()
    no_box_image: str = ""
    in_ultraserver: bool = False
    network_layers: int | None = None
    lustre_interfaces: int = 0
    needs_whole_fabric: bool = False
    boot_disk: str = "balanced"
    compact_flex_start: bool = False
    vcpu_bandwidth_bytes_per_s: float | None = None
    vcpu_bf16_flops: float | None = None
    conflict: str = ""
    notes: str = ""
    sharing: Sharing | None = None

    @property
    def whole_accelerators(self) -> int:
        """Accelerators of the machine, whether they are divided or not."""
        return self.accelerator_count // self.sharing.parts if self.sharing else self.accelerator_count

    @property
    def device_key(self) -> str:
        """Name of the machine, with how its accelerators are divided."""
        return f"{self.name} {self.sharing.label}" if self.sharing else self.name

    def divided(self, sharing: Sharing, memory_bytes: float) -> "Machine":
        """The machine with its accelerators divided. memory_bytes: of one accelerator. Parts reach each other over no scale-up link."""
        count, each = self.accelerator_count * sharing.parts, int(memory_bytes * sharing.memory_share)
        return replace(
            self, accelerator_count=count, accelerator_memory_bytes=each, scale_up_link="", scale_up_domain=None, sharing=sharing
        )

    @property
    def sustained_network_bytes_per_s(self) -> float | None:
        """Rate of all interfaces that a long transfer keeps: the baseline where `network_bytes_per_s` is a peak. None where not published.

        A burst lasts 5 to 60 minutes (docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html).
        """
        return self.network_baseline_bytes_per_s if self.network_is_peak else self.network_bytes_per_s


@dataclass(frozen=True, slots=True)
class FabricLayout:
    """Network interfaces that a machine's fabric requires.

    AWS: `cards` carry one EFA each (at device 1 on card 0, device 0 elsewhere), `ip_cards` get a further ENA interface at device 1 for most
    IP bandwidth; `lustre_interfaces` of them read an FSx file system; `gpudirect`: whether the fabric reads and writes device memory, None:
    not published for the type; `needs_whole_fabric`: training must attach all interfaces. GCP: `gvnic_networks` extra VPCs with one subnet
    each, `rdma_subnets` subnets of one RDMA VPC made with `network_profile` (zonal: prefix it with `ZONE-`); `first_interface` is the pod
    interface of the first fabric NIC; `device_mode` that of the GKENetworkParamSet; `managed_networks_from`: GKE release from which it
    makes these networks itself and gives their interfaces to pods by DRA.
    """

    machine: str
    cloud: str
    fabric: Fabric
    interfaces: int | None
    interface_bytes_per_s: float | None
    cards: tuple[int, ...]
    ip_cards: tuple[int, ...]
    lustre_interfaces: int | None
    generation: str
    rdma: str
    gpudirect: bool | None
    needs_whole_fabric: bool | None
    gvnic_networks: int
    rdma_subnets: int
    network_profile: str
    device_mode: str
    first_interface: str
    mtu: int | None
    gke_min_versions: tuple[str, ...]
    managed_networks_from: str
    conflict: str
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class TpuSlice:
    """One TPU topology. `generation` is also the accelerator's name and the price row's sku (per chip); `gke_machine_type` is one host.

    tpu_api_type: accelerator type of the TPU API, None if the shape is requested by version and topology, or GKE only;
    workload_policy: GKE gets the topology of several hosts as a resource policy with a workload policy instead of `tpu_topology`;
    slice_interface: interface of a pod that reaches other slices, which needs multi-networking; empty: the default one;
    listed: False for shapes that follow the vendor's rule of multiples but appear in no list.
    """

    generation: str
    topology: str
    chips: int
    tensorcores: int
    hosts: int
    chips_per_host: int
    multi_host: bool
    gke_machine_type: str
    gke_accelerator_label: str
    workload_policy: bool
    tpu_api_type: str | None
    tpu_api_version: str | None
    xpk_type: str
    host_vcpus: int | None
    host_memory_bytes: int | None
    slice_interface: str
    hbm_bytes_per_chip: int
    runtime_version: str | None
    gke_min_version: str | None
    gke_min_version_autopilot: str | None
    listed: bool
    conflict: str
    notes: str
    source: str
    as_of: str
