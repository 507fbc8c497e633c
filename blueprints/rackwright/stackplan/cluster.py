"""The cluster and what runs inside it."""

from dataclasses import dataclass, field
from typing import Any

from rackwright.stackplan.refs import Existing


@dataclass(frozen=True)
class ClusterPlan:
    """The control plane: its version, who reaches its API, and whose it is. admins: ARNs of roles that may do everything in it."""

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
    public_api: bool = False
    """Everybody may call the API (and is asked who they are)."""
    runner_inside: bool = False
    """Updates run from a machine in the network, so a private API is reached."""
    audit_logs: bool = True
    existing: Existing = ""
    """Name of a cluster that exists: nothing is created, its own version stays."""
    control_role_arn: Existing = ""
    node_role_arn: Existing = ""
    """Roles that exist, in place of those that would be made."""


@dataclass(frozen=True)
class KarpenterPlan:
    """What Karpenter needs of the cloud: a role for its pods, a role for its nodes, a queue of interruptions. NodePools are manifests."""

    namespace: str = "kube-system"
    service_account: str = "karpenter"
    interruptions: bool = True
    adjacent: tuple[str, ...] = ()
    """Names of the placement groups its machines start in"""


@dataclass(frozen=True)
class AddonPlan:
    """A cloud-managed cluster add-on; its name is neutral (see above). version empty: the cloud's default when it is made."""

    name: str
    version: str
    needs_nodes: bool = False
    values: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class ReleasePlan:
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
class ManifestPlan:
    """A Kubernetes object. after: release names and manifest keys it waits for. key is unique in the plan: `queue.cluster-queue`."""

    key: str
    body: dict[str, Any]
    after: tuple[str, ...] = ()
    data: bool = False
    """Holds data: protected like a disk."""
    wait_s: int | None = None
    """How long its readiness is waited for; 0: not at all, what it needs is put there later; None: the engine's default."""
