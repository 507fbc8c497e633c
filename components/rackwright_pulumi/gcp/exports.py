"""Values that a stack exports for downstream stacks: `exported_parts` writes them, `from_upstream` reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi import Input, Output
from rackwright.stackplan import BucketPlan, ClusterPlan, NetworkPlan

from rackwright_pulumi.gcp.cluster import GcpCluster
from rackwright_pulumi.gcp.existing_cluster import GcpExistingCluster
from rackwright_pulumi.gcp.kubeconfig import kubeconfig
from rackwright_pulumi.gcp.network.accelerator_networks import GcpAcceleratorNetworks
from rackwright_pulumi.gcp.network.network import GcpNetwork
from rackwright_pulumi.gcp.storage import GcpStorage
from rackwright_pulumi.gcp.storage.lustre import ManagedLustre
from rackwright_pulumi.upstream import Upstream


@dataclass(frozen=True)
class ExportedNetwork:
    """The network of an upstream stack."""

    project: Output[str]
    network_id: Output[str]
    subnet_ids: Output[Sequence[str]]

    @staticmethod
    def from_upstream(upstream: Upstream) -> "ExportedNetwork":
        return ExportedNetwork(*(upstream.value("network", key) for key in ("project", "networkId", "subnetIds")))


@dataclass(frozen=True)
class ExportedAcceleratorNetworks:
    """Names of the networks of accelerators of an upstream stack, by their name in the plan."""

    vpcs: Mapping[str, Output[str]]
    subnets: Mapping[str, Output[str]]

    @staticmethod
    def from_upstream(upstream: Upstream, plan: NetworkPlan) -> "ExportedAcceleratorNetworks | None":
        names = [network.name for network in plan.accelerator_networks]
        vpcs, subnets = ({name: upstream.value("fabric", part, name) for name in names} for part in ("vpcs", "subnets"))
        return ExportedAcceleratorNetworks(vpcs, subnets) if names else None


@dataclass(frozen=True)
class ExportedStorage:
    """Key, buckets and file system of an upstream stack."""

    key_id: Output[str]
    key_for: Mapping[str, Output[str]]
    bucket_names: Mapping[str, Output[str]]
    lustre: ManagedLustre | None

    @staticmethod
    def from_upstream(upstream: Upstream, uses: Sequence[str], buckets: Sequence[BucketPlan], has_lustre: bool) -> "ExportedStorage":
        key_id = upstream.value("key", "id")
        lustre = ManagedLustre(*(upstream.value("lustre", key) for key in ("id", "ipAddress", "mountName"))) if has_lustre else None
        names = {bucket.key: upstream.value("bucketNames", bucket.key) for bucket in buckets}
        return ExportedStorage(key_id, dict.fromkeys(uses, key_id), names, lustre)


@dataclass(frozen=True)
class ExportedCluster:
    """The cluster of an upstream stack."""

    cluster_name: Output[str]
    cluster_id: Output[str]
    project: Output[str]
    endpoint: Output[str]
    workload_pool: Output[str]
    certificate_authority: Output[str] | None
    kubeconfig: Output[str]
    kubeconfig_command: Output[str]

    @staticmethod
    def from_upstream(upstream: Upstream, plan: ClusterPlan | None) -> "ExportedCluster":
        name, address = upstream.value("cluster", "name"), upstream.value("cluster", "endpoint")
        by_name = plan is not None and plan.api_scope == "internet"
        authority = None if by_name else upstream.value("cluster", "certificateAuthority")
        return ExportedCluster(
            cluster_name=name,
            cluster_id=upstream.value("cluster", "id"),
            project=upstream.value("cluster", "project"),
            endpoint=address,
            workload_pool=upstream.value("cluster", "workloadPool"),
            certificate_authority=authority,
            kubeconfig=kubeconfig(name, address, authority),
            kubeconfig_command=upstream.value("cluster", "kubeconfigCommand"),
        )


Network = GcpNetwork | ExportedNetwork
AcceleratorNetworks = GcpAcceleratorNetworks | ExportedAcceleratorNetworks
Storage = GcpStorage | ExportedStorage
Cluster = GcpCluster | GcpExistingCluster | ExportedCluster


def exported_parts(
    layers: Input[Sequence[str]],
    network: Network,
    fabric: AcceleratorNetworks | None,
    storage: Storage,
    cluster: Cluster | None,
    identities: Mapping[str, Mapping[str, Output[str]]],
) -> dict[str, Any]:
    """The values that a stack exports for downstream stacks, including those from its upstream stack."""
    return {
        "layers": layers,
        "network": {"project": network.project, "networkId": network.network_id, "subnetIds": network.subnet_ids},
        "fabric": {"vpcs": dict(fabric.vpcs), "subnets": dict(fabric.subnets)} if fabric else None,
        "key": {"id": storage.key_id},
        "bucketNames": dict(storage.bucket_names),
        **({"lustre": storage.lustre.outputs} if storage.lustre else {}),
        "cluster": {
            "name": cluster.cluster_name,
            "id": cluster.cluster_id,
            "project": cluster.project,
            "endpoint": cluster.endpoint,
            "workloadPool": cluster.workload_pool,
            "certificateAuthority": cluster.certificate_authority,
            "kubeconfigCommand": cluster.kubeconfig_command,
        }
        if cluster
        else None,
        "identities": {key: dict(values) for key, values in identities.items()},
    }
