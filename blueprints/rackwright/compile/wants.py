"""The StackPlan: what is wanted, in nobody's field names. Plain frozen data, JSON both ways; every count is here.

A `Ref` stands for a value only the cloud knows. Inside manifests and Helm values it is a dict `{"$ref": "lustre.dns_name"}`; a text
with several is `{"$format": "...{0}...", "$refs": ["bucket.data.name"]}`. Components resolve them to
Outputs. The names a plan may refer to:

    cluster.name, cluster.endpoint, cluster.oidc_issuer      bucket.<key>.name, bucket.<key>.url
    lustre.id, lustre.dns_name, lustre.mount_name            identity.<key>.principal
    network.id, network.subnet_ids, key.id                   place.account, place.project, place.region
    secret.<name of the spec's secrets>

Neutral names the fields below use (a component maps each to its cloud, and refuses one it does not know):

    private_endpoints  object-store, registry, identity, compute, cluster, pod-identity, logs, machine-access, keys
    services           projects, compute, cluster, identity, keys, object-store, registry, logs, metrics
    add-ons            pod-network, kube-proxy, pod-identity, dns, block-storage, lustre, metrics, node-health;
                       GKE: object-store-mount (GCS FUSE), whose version is "" because the cluster's own release carries it
    pool image         al2023, al2023-nvidia, al2023-neuron (EKS AMI families), cos (GKE)
    subnets            accelerator pools live in `nodes`; system pools in `control` where there is one, else in `nodes`
    capacity-block     the pool starts at nodes_start; where starts_at or drains_at are set the component schedules nodes_max and 0
"""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import TypeAdapter

STACK_PLAN_VERSION = "stack/1"
REFS = (
    "cluster.name",
    "cluster.endpoint",
    "cluster.oidc_issuer",
    "bucket.*.name",
    "bucket.*.url",
    "lustre.id",
    "lustre.dns_name",
    "lustre.mount_name",
    "identity.*.principal",
    "network.id",
    "network.subnet_ids",
    "key.id",
    "place.account",
    "place.project",
    "place.region",
    "secret.*",
)
"""Every name a plan may refer to, as shell patterns; a test holds all plans to it."""


class Kind(StrEnum):
    BOX = "box"
    TRAINING_CLUSTER = "training-cluster"
    INFERENCE_FLEET = "inference-fleet"
    TPU_POD = "tpu-pod"


def ref(name: str) -> dict[str, str]:
    return {"$ref": name}


def format_refs(template: str, *names: str) -> dict[str, Any]:
    return {"$format": template, "$refs": list(names)}


@dataclass(frozen=True)
class PlaceWant:
    """Where. zone holds the accelerators, control_zones the control plane (AWS wants two); account: AWS account or GCP project.

    zone_assumed: neither the spec nor the catalog names a zone, and zone is only the region's first.
    """

    cloud: str
    region: str
    zone: str
    control_zones: tuple[str, ...] = ()
    account: str = ""
    zone_assumed: bool = False


@dataclass(frozen=True)
class SubnetWant:
    name: str
    cidr: str
    zone: str
    public: bool = False
    purpose: str = "nodes"
    """nodes | control | nat | proxy (GCP regional proxy-only)"""
    secondary: tuple[tuple[str, str], ...] = ()
    """GCP alias ranges: (name, cidr)"""


@dataclass(frozen=True)
class NetworkWant:
    """existing_id set: nothing is created, subnets are the ids given. private_endpoints: neutral service names (object-store ...)."""

    cidr: str
    subnets: tuple[SubnetWant, ...]
    nat: bool = True
    flow_logs: bool = True
    private_endpoints: tuple[str, ...] = ()
    fabric: str = "none"
    self_reachable: bool = False
    """Members of the accelerator security group reach one another on every protocol (EFA)."""
    mtu: int | None = None
    existing_id: str = ""
    existing_subnet_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeyWant:
    rotation_days: int = 90
    deletion_window_days: int = 30
    serves: tuple[str, ...] = ("disks", "buckets", "cluster", "logs", "filesystem")


@dataclass(frozen=True)
class BucketWant:
    """key: `data`, `checkpoints`, `weights`. existing_name set: used, not created. prefix: the folder of it that is used."""

    key: str
    existing_name: str = ""
    prefix: str = ""
    versioned: bool = True
    hierarchical: bool = False
    abort_upload_days: int = 7


@dataclass(frozen=True)
class LustreWant:
    capacity_gib: int
    throughput_mb_s_per_tib: int
    zone: str
    imports: tuple[tuple[str, str], ...] = ()
    """(path in the file system, bucket key)"""
    rdma: bool = False
    backup_days: int = 7


@dataclass(frozen=True)
class Grant:
    """bucket: key of a BucketWant; access: read | write (write includes read)."""

    bucket: str
    access: str = "read"


@dataclass(frozen=True)
class IdentityWant:
    """A workload's identity without static keys. On Kubernetes: namespace and service_account; on a box: the machine itself."""

    key: str
    grants: tuple[Grant, ...] = ()
    namespace: str = ""
    service_account: str = ""


@dataclass(frozen=True)
class DiskWant:
    size_gib: int
    iops: int | None = None
    throughput_mib_s: int | None = None
    kind: str = "balanced"
    """balanced (gp3, pd-balanced) | hyperdisk-balanced"""


@dataclass(frozen=True)
class CapacityWant:
    """mode: on-demand | spot | capacity-block | reservation | flex-start | calendar. times are ISO 8601.

    drains_at: when a capacity block's machines must be empty, 40 min before its end (the cloud reclaims them from 30 min before).
    """

    mode: str = "on-demand"
    reservation_id: str = ""
    starts_at: str = ""
    ends_at: str = ""
    max_run_s: int | None = None
    drains_at: str = ""


@dataclass(frozen=True)
class BoxWant:
    """One machine, scaled up. image: a neutral name resolved and pinned by the decision.

    idle_stop_minutes: stop when nothing runs for so long; idle_cpu_percent: the busiest minute of all processors that still is nothing.
    """

    machine: str
    zone: str
    image: str
    root: DiskWant
    data: DiskWant | None
    capacity: CapacityWant
    accelerator: str = ""
    accelerator_count: int = 0
    local_nvme: bool = False
    idle_stop_minutes: int | None = 60
    setup_script: str = ""
    ingress: tuple[str, ...] = ()
    idle_cpu_percent: float = 2.0


@dataclass(frozen=True)
class NicWant:
    """One network interface of a node's launch layout (AWS): kind is `ip` or `fabric`."""

    card: int
    device: int
    kind: str


@dataclass(frozen=True)
class TaintWant:
    key: str
    value: str
    effect: str = "NoSchedule"


@dataclass(frozen=True)
class PoolWant:
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
    capacity: CapacityWant = field(default_factory=CapacityWant)
    disk: DiskWant = field(default_factory=lambda: DiskWant(100))
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[TaintWant, ...] = ()
    fabric: str = "none"
    nics: tuple[NicWant, ...] = ()
    adjacent: bool = False
    """Placed close together (cluster placement group, compact policy)"""
    local_nvme: bool = False
    local_ssd_count: int = 0
    topology: str = ""
    multi_host: bool = False
    max_pods: int | None = None
    image: str = ""


@dataclass(frozen=True)
class ClusterWant:
    name: str
    version: str
    private_api: bool = True
    api_cidrs: tuple[str, ...] = ()
    multi_network: bool = False
    gateway_api: bool = False
    autoprovision: tuple[tuple[str, int], ...] = ()
    """(resource, most) for node auto-provisioning; empty means off"""
    log_retention_days: int = 90
    admins: tuple[str, ...] = ()


@dataclass(frozen=True)
class AddonWant:
    """A cloud-managed cluster add-on; its name is neutral (see above). version empty: the cloud's default when it is made."""

    name: str
    version: str
    needs_nodes: bool = False
    values: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class ReleaseWant:
    """A Helm release. chart: full `oci://` reference, or a chart name with `repository`. after: names of releases it waits for."""

    name: str
    namespace: str
    chart: str
    version: str
    repository: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    timeout_s: int = 1200


@dataclass(frozen=True)
class ManifestWant:
    """A Kubernetes object. after: release names and manifest keys it waits for. key is unique in the plan: `queue.cluster-queue`."""

    key: str
    body: dict[str, Any]
    after: tuple[str, ...] = ()
    data: bool = False
    """Holds data: protected like a disk."""
    wait_s: int | None = None
    """How long its readiness is waited for; 0: not at all, what it needs is put there later; None: the engine's default."""


@dataclass(frozen=True)
class FabricExpectation:
    """What a job must see, so that falling back to TCP is loud: devices per node and the all-reduce bus bandwidth floor."""

    fabric: str = "none"
    interfaces_per_node: int = 0
    node_bytes_per_s: float | None = None
    busbw_floor_gb_s: float | None = None
    source: str = ""


@dataclass(frozen=True)
class VersionPins:
    """What the decision fixes so that nothing floats: Kubernetes, images, add-ons, charts."""

    kubernetes: str = ""
    images: tuple[tuple[str, str], ...] = ()
    charts: tuple[tuple[str, str], ...] = ()
    addons: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class StackPlan:
    """The compiled blueprint. Components read it and decide nothing."""

    name: str
    kind: Kind
    place: PlaceWant
    network: NetworkWant
    key: KeyWant
    tags: tuple[tuple[str, str], ...] = ()
    buckets: tuple[BucketWant, ...] = ()
    lustre: LustreWant | None = None
    identities: tuple[IdentityWant, ...] = ()
    box: BoxWant | None = None
    cluster: ClusterWant | None = None
    pools: tuple[PoolWant, ...] = ()
    addons: tuple[AddonWant, ...] = ()
    namespaces: tuple[tuple[str, str], ...] = ()
    """(name, pod security level)"""
    releases: tuple[ReleaseWant, ...] = ()
    manifests: tuple[ManifestWant, ...] = ()
    services: tuple[str, ...] = ()
    """Cloud APIs that must be on (GCP), neutral names"""
    expected_fabric: FabricExpectation = field(default_factory=FabricExpectation)
    pins: VersionPins = field(default_factory=VersionPins)
    expires_on: str = ""
    version: str = STACK_PLAN_VERSION

    def pool(self, name: str) -> PoolWant:
        return next(pool for pool in self.pools if pool.name == name)

    def to_json(self) -> str:
        return _adapter().dump_json(self, indent=2).decode()

    @staticmethod
    def from_json(text: str) -> "StackPlan":
        return _adapter().validate_json(text)


@cache
def _adapter() -> TypeAdapter[StackPlan]:
    return TypeAdapter(StackPlan)
