"""The cluster, its add-ons, Helm releases and objects."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from rackwright.stackplan.network import IF_SET
from rackwright.stackplan.refs import Existing
from rackwright.stackplan.storage import DiskPlan


@dataclass(frozen=True)
class ClusterPlan:
    """The control plane and the access to its API. admins, viewers: principals of the cloud with full access, and with read access."""

    name: str
    version: str
    private_api: bool = True
    api_cidrs: tuple[str, ...] = ()
    multi_network: bool = False
    gateway_api: bool = False
    autoprovision: tuple[tuple[str, int], ...] = ()
    """(resource, maximum) for node auto-provisioning; empty: off"""
    log_retention_days: int = 90
    admins: tuple[str, ...] = ()
    public_api: bool = False
    """The API accepts requests from every address; IAM still authenticates them."""
    runner_inside: bool = False
    """Updates run on a machine in the network, which reaches a private API."""
    audit_logs: bool = True
    existing: Existing = ""
    """Name of an existing cluster: no cluster is created, and its version stays."""
    location: Annotated[str, IF_SET] = ""
    """Region or zone of an existing GKE cluster; empty: the region of the stack."""
    control_role_arn: Existing = ""
    node_role_arn: Existing = ""
    """Existing roles, in place of new ones."""

    viewers: tuple[str, ...] = ()
    pod_logs: bool = False
    """Logs of pods are sent to the cloud's log service."""
    creator_access: Literal["eks", "entry", "none"] = "none"
    """Access of the principal that creates an EKS cluster. `eks`: EKS makes its entry, which the stack cannot change. `entry`: the stack
    has its entry, and with `admins` only theirs, so that one of them must run every update. `none`: only `admins` have access, and EKS
    makes the creator's entry where there are none."""

    @property
    def api_scope(self) -> Literal["network", "ranges", "internet"]:
        """Who reaches a new cluster's API: its network and networks connected to it, also `api_cidrs`, or every address."""
        return "internet" if self.public_api else "ranges" if self.api_cidrs else "network"


@dataclass(frozen=True)
class KarpenterPlan:
    """Karpenter's cloud resources: a role for its pods, a role for its nodes, an interruption queue. NodePools are manifests."""

    namespace: str = "kube-system"
    service_account: str = "karpenter"
    interruptions: bool = True
    adjacent: tuple[str, ...] = ()
    """Names of the placement groups of its nodes"""


@dataclass(frozen=True)
class AddonPlan:
    """A cloud-managed cluster add-on with a neutral name. version empty: the cloud's default at creation."""

    name: str
    version: str
    needs_nodes: bool = False
    values: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class ReleasePlan:
    """A Helm release. chart: full `oci://` reference, or a chart name with `repository`. after: release names and manifest keys to wait
    for.

    version: of the chart, with `@sha256:...` where the digest of an OCI chart is pinned.
    """

    name: str
    namespace: str
    chart: str
    version: str
    repository: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    timeout_s: int = 1200
    claims: tuple[DiskPlan, ...] = ()
    """Disks that its pods claim through a storage class; the cluster creates them, and deletes them with their claims."""
    teardown_values: dict[str, Any] = field(default_factory=dict)
    """Replace values of these keys in a teardown, so that controllers delete what the release made in the cloud while they still run."""

    @property
    def chart_version(self) -> str:
        """`version` without the digest."""
        return self.version.partition("@")[0]


@dataclass(frozen=True)
class ManifestPlan:
    """A Kubernetes object. after: release names and manifest keys to wait for. key: unique in the plan, such as `queue.cluster-queue`."""

    key: str
    body: dict[str, Any]
    after: tuple[str, ...] = ()
    data: bool = False
    """Contains data, and is protected like a disk."""
    wait_s: int | None = None
    """Seconds to wait until it is ready; 0: do not wait; None: Pulumi's default."""
    layer: str = "workloads"
    """Layer that creates it: `operators` for objects that releases wait for."""
