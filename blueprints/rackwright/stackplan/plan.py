"""The StackPlan, its layers and version pins."""

import re
from dataclasses import dataclass, field
from functools import cache

from pydantic import TypeAdapter

from rackwright.stackplan.cluster import AddonPlan, ClusterPlan, KarpenterPlan, ManifestPlan, ReleasePlan
from rackwright.stackplan.network import NetworkPlan
from rackwright.stackplan.nodes import BoxPlan, PoolPlan
from rackwright.stackplan.place import CostAlertsPlan, IdentityPlan, KeyPlan, PlacePlan
from rackwright.stackplan.refs import BlueprintKind
from rackwright.stackplan.storage import BucketPlan, LustrePlan

STACK_PLAN_VERSION = "stack/1"
BOX_CONTAINER = "box.container"
"""Key of the Job, or of the StatefulSet of a server, with the container of a box in a cluster."""
PREFLIGHT_QUEUE, PREFLIGHT_FLAVOR = "queue.local-queue.preflight", "queue.flavor.preflight"
"""Keys of the queue and the flavor for checks of nodes, where only nodes that passed them run other jobs."""
LAYERS = ("base", "cluster", "operators", "workloads")
"""base: network, key, buckets, file system. cluster: control plane, add-ons, pools, alarms, identities of pods. operators: Helm releases
and their namespaces. workloads: team namespaces and manifests. A box has base (with its alarms) and workloads."""


def layers_of(text: str) -> tuple[str, ...]:
    """Layers in build order, from names separated by commas or from the JSON text of a list. Raises ValueError with unknown names."""
    named = {name for name in re.split(r'[\s,\[\]"]+', text) if name}
    if unknown := named - set(LAYERS):
        raise ValueError(f"unknown layers: {', '.join(sorted(unknown))}. Use {', '.join(LAYERS)}")
    return tuple(layer for layer in LAYERS if layer in named)


def upstream_layers(plan: "StackPlan") -> tuple[str, ...]:
    """Layers that other stacks must have. Operators of an existing cluster are assumed to exist."""
    lowest = min(LAYERS.index(layer) for layer in plan.layers if layer in used_layers(plan))
    assumed = ("operators",) if plan.cluster and plan.cluster.existing else ()
    return tuple(layer for layer in LAYERS[:lowest] if layer in used_layers(plan) and layer not in assumed)


def used_layers(plan: "StackPlan") -> tuple[str, ...]:
    """Layers of the blueprint."""
    return ("base", "workloads") if plan.kind is BlueprintKind.BOX else LAYERS


def machine_layer(plan: "StackPlan") -> str:
    """The layer with the machines."""
    return "workloads" if plan.kind is BlueprintKind.BOX else "cluster"


@dataclass(frozen=True)
class FabricExpectation:
    """Fabric that jobs should measure, so that a fallback to TCP is detected: devices per node and minimum all-reduce bus bandwidth."""

    fabric: str = "none"
    interfaces_per_node: int = 0
    node_bytes_per_s: float | None = None
    busbw_floor_gb_s: float | None = None
    source: str = ""
    note: str = ""
    """Why the fabric is slower than its interfaces"""


@dataclass(frozen=True)
class VersionPins:
    """Versions that a decision records: Kubernetes, images, add-ons, charts."""

    kubernetes: str = ""
    images: tuple[tuple[str, str], ...] = ()
    charts: tuple[tuple[str, str], ...] = ()
    addons: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class StackPlan:
    """The compiled blueprint, which the components deploy unchanged."""

    name: str
    kind: BlueprintKind
    place: PlacePlan
    network: NetworkPlan
    key: KeyPlan
    tags: tuple[tuple[str, str], ...] = ()
    buckets: tuple[BucketPlan, ...] = ()
    lustre: LustrePlan | None = None
    identities: tuple[IdentityPlan, ...] = ()
    box: BoxPlan | None = None
    cluster: ClusterPlan | None = None
    pools: tuple[PoolPlan, ...] = ()
    addons: tuple[AddonPlan, ...] = ()
    namespaces: tuple[tuple[str, str], ...] = ()
    """(name, pod security level)"""
    releases: tuple[ReleasePlan, ...] = ()
    manifests: tuple[ManifestPlan, ...] = ()
    services: tuple[str, ...] = ()
    """Cloud APIs that must be on (GCP), neutral names"""
    expected_fabric: FabricExpectation = field(default_factory=FabricExpectation)
    pins: VersionPins = field(default_factory=VersionPins)
    expires_on: str = ""
    karpenter: KarpenterPlan | None = None
    guard: CostAlertsPlan | None = None
    protected: bool = True
    """The cluster and resources with data are protected from deletion until `rackwright:teardown`."""
    layers: tuple[str, ...] = LAYERS
    """Layers of this stack; lower layers belong to the stack in `below` or exist already."""
    below: str = ""
    """Name of the upstream stack with the lower layers."""
    installed: tuple[str, ...] = ()
    """Charts of an existing cluster that the stack uses and does not install."""
    version: str = STACK_PLAN_VERSION

    @property
    def runs_jobs(self) -> bool:
        """Whether `rackwright job` can submit jobs: the stack has a LocalQueue. The queue of a box has no JobSets."""
        return self.kind is not BlueprintKind.BOX and any(manifest.body["kind"] == "LocalQueue" for manifest in self.manifests)

    @property
    def has_gated_queue(self) -> bool:
        """Whether jobs start only on nodes that passed `rackwright preflight`, which has a queue of its own."""
        return any(manifest.key == PREFLIGHT_QUEUE for manifest in self.manifests)

    @property
    def runs_container(self) -> bool:
        """Whether the stack itself starts the container of `run`: a box in a cluster."""
        return any(manifest.key == BOX_CONTAINER for manifest in self.manifests)

    def node_pool_name(self, pool: PoolPlan) -> str:
        """Name of a node pool of GKE, with the stack's name in a cluster that other stacks use too."""
        return f"{self.name}-{pool.name}" if self.cluster and self.cluster.existing else pool.name

    def pool(self, name: str) -> PoolPlan:
        return next(pool for pool in self.pools if pool.name == name)

    @property
    def fallback_pools(self) -> tuple[PoolPlan, ...]:
        """Pools of a fallback in the order in which they are filled; none where the sized workload has no alternatives."""
        works = sorted((pool for pool in self.pools if pool.does_the_work), key=lambda pool: pool.preference)
        return tuple(works) if len({pool.preference for pool in works}) > 1 else ()

    def to_json(self) -> str:
        return _adapter().dump_json(self, indent=2).decode()

    @staticmethod
    def from_json(text: str) -> "StackPlan":
        return _adapter().validate_json(text)


@cache
def _adapter() -> TypeAdapter[StackPlan]:
    return TypeAdapter(StackPlan)
