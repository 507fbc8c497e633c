"""The whole plan."""

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
LAYERS = ("base", "cluster", "operators", "workloads")
"""base: network, key, buckets, file system. cluster: control plane, add-ons, pools, alarms, identities of pods. operators: Helm releases
and their namespaces. workloads: team namespaces and manifests. A box is of base (with its alarms) and workloads."""


def upstream_layers(plan: "StackPlan") -> tuple[str, ...]:
    """Layers that must be there already. Operators of a cluster that exists are taken to be there."""
    lowest = min(LAYERS.index(layer) for layer in plan.layers if layer in used_layers(plan))
    known = ("operators",) if plan.cluster and plan.cluster.existing else ()
    return tuple(layer for layer in LAYERS[:lowest] if layer in used_layers(plan) and layer not in known)


def used_layers(plan: "StackPlan") -> tuple[str, ...]:
    """Layers that its blueprint has."""
    return ("base", "workloads") if plan.kind is BlueprintKind.BOX else LAYERS


def machine_layer(plan: "StackPlan") -> str:
    """The layer that holds the machines."""
    return "workloads" if plan.kind is BlueprintKind.BOX else "cluster"


@dataclass(frozen=True)
class FabricExpectation:
    """What a job must see, so that falling back to TCP is loud: devices per node and the all-reduce bus bandwidth floor."""

    fabric: str = "none"
    interfaces_per_node: int = 0
    node_bytes_per_s: float | None = None
    busbw_floor_gb_s: float | None = None
    source: str = ""
    note: str = ""
    """What makes the fabric slower than its interfaces suggest"""


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
    """What holds data or the cluster refuses deletion until `rackwright:teardown`."""
    layers: tuple[str, ...] = LAYERS
    """Those this stack builds; what is below them comes from the stack `below` or exists."""
    below: str = ""
    """Name of the stack that exports the layers below."""
    version: str = STACK_PLAN_VERSION

    def pool(self, name: str) -> PoolPlan:
        return next(pool for pool in self.pools if pool.name == name)

    def to_json(self) -> str:
        return _adapter().dump_json(self, indent=2).decode()

    @staticmethod
    def from_json(text: str) -> "StackPlan":
        return _adapter().validate_json(text)


@cache
def _adapter() -> TypeAdapter[StackPlan]:
    return TypeAdapter(StackPlan)
