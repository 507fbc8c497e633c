"""What every blueprint on GKE is made of: network, key and buckets, cluster, pools, identities, and the layer inside."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import Input, InvokeOutputOptions, Output, ResourceOptions
from pulumi_gcp.organizations import get_project_output
from pulumi_kubernetes import Provider
from rackwright.compile.wants import PoolWant, StackPlan

from rackwright_pulumi.gcp.cluster import GcpCluster
from rackwright_pulumi.gcp.identity import GcpNodeIdentity, GcpWorkloadIdentity
from rackwright_pulumi.gcp.network import GcpNetwork
from rackwright_pulumi.gcp.pool import GcpPool, GcpPoolArgs
from rackwright_pulumi.gcp.storage import GcpStorage
from rackwright_pulumi.kubernetes.workloads import ClusterLayer
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported


@dataclass(frozen=True)
class GkeParts:
    """The parts of one stack on GKE, each a component below the blueprint."""

    network: GcpNetwork
    storage: GcpStorage
    cluster: GcpCluster
    pools: Mapping[str, GcpPool]
    layer: ClusterLayer

    @property
    def outputs(self) -> dict[str, Any]:
        """What every blueprint on GKE registers."""
        return {
            "clusterName": self.cluster.cluster_name,
            "endpoint": self.cluster.endpoint,
            "kubeconfig": self.cluster.kubeconfig,
            "kubeconfigCommand": self.cluster.kubeconfig_command,
            "bucketNames": dict(self.storage.bucket_names),
        }


def gke_parts(
    parent: pulumi.Resource,
    name: str,
    plan: StackPlan,
    teardown: bool,
    secrets: Mapping[str, Input[str]],
    project_number: Input[str] | None,
) -> GkeParts:
    """Builds all parts of `plan` below `parent`. Raises Unsupported for what GKE cannot be given here."""
    if plan.place.cloud != "gcp" or plan.cluster is None:
        raise Unsupported(f"{plan.kind} on {plan.place.cloud}", "place.cloud", "gcp")
    if plan.lustre:
        raise Unsupported("Lustre on GKE", "lustre", "buckets mounted with the object-store-mount add-on")
    below = ResourceOptions(parent=parent)
    network = GcpNetwork(
        child(name, "network"),
        {
            "network": plan.network,
            "services": plan.services,
            "project": plan.place.account,
            "region": plan.place.region,
            "teardown": teardown,
        },
        below,
    )
    number = project_number or get_project_output(project_id=network.project, opts=InvokeOutputOptions(parent=parent)).number
    storage = GcpStorage(
        child(name, "storage"),
        {
            "key": plan.key,
            "buckets": plan.buckets,
            "tags": plan.tags,
            "project": network.project,
            "project_number": number,
            "region": plan.place.region,
            "teardown": teardown,
        },
        below,
    )
    nodes = GcpNodeIdentity(child(name, "identity"), {"project": network.project}, below)
    ranges = _ranges(plan)
    cluster = GcpCluster(
        child(name, "cluster"),
        {
            "cluster": plan.cluster,
            "addons": plan.addons,
            "tags": plan.tags,
            "project": network.project,
            "region": plan.place.region,
            "zones": list(plan.place.control_zones) or [plan.place.zone],
            "network_id": network.network_id,
            "subnet_id": network.subnet_ids[0],
            "pods_range": ranges.get("pods"),
            "services_range": ranges.get("services"),
            "secrets_key_id": storage.key_for["cluster"],
            "disk_key_id": storage.key_for["disks"],
            "node_account": nodes.email,
            "teardown": teardown,
        },
        below,
    )
    pools = {want.name: _pool(name, want, plan, network, storage, cluster, nodes, below) for want in plan.pools}
    grants = GcpWorkloadIdentity(
        child(name, "workload-identity"),
        {
            "identities": plan.identities,
            "project_number": number,
            "workload_pool": cluster.workload_pool,
            "bucket_names": storage.bucket_names,
        },
        below,
    )
    refs = _refs(plan, network, storage, cluster, grants, secrets)
    provider = _provider(parent, name, plan, cluster, pools)
    layer = ClusterLayer(
        child(name, "layer"),
        {
            "namespaces": plan.namespaces,
            "releases": plan.releases,
            "manifests": plan.manifests,
            "refs": refs,
            "protect": not teardown,
        },
        ResourceOptions(parent=parent, provider=provider),
    )
    return GkeParts(network, storage, cluster, pools, layer)


def _ranges(plan: StackPlan) -> dict[str, str]:
    """Names of the secondary ranges of the plan's subnets, by themselves; none of an existing network, where GKE makes its own."""
    return {key: key for subnet in plan.network.subnets for key, _ in subnet.secondary}


def _pool(
    name: str,
    want: PoolWant,
    plan: StackPlan,
    network: GcpNetwork,
    storage: GcpStorage,
    cluster: GcpCluster,
    nodes: GcpNodeIdentity,
    below: ResourceOptions,
) -> GcpPool:
    args: GcpPoolArgs = {
        "pool": want,
        "tags": plan.tags,
        "project": network.project,
        "region": plan.place.region,
        "cluster_name": cluster.cluster_name,
        "node_account": nodes.email,
        "disk_key_id": storage.key_for["disks"],
    }
    return GcpPool(child(name, want.name), args, below)


def _provider(parent: pulumi.Resource, name: str, plan: StackPlan, cluster: GcpCluster, pools: Mapping[str, GcpPool]) -> Provider:
    """Nothing goes into the cluster before the system nodes are there, and nothing of it outlives them."""
    system = [pools[want.name].node_pool for want in plan.pools if want.role == "system"]
    return Provider(
        child(name, "k8s"),
        kubeconfig=cluster.kubeconfig,
        cluster_identifier=cluster.cluster_id,
        enable_server_side_apply=True,
        opts=ResourceOptions(parent=parent, depends_on=system),
    )


def _refs(
    plan: StackPlan,
    network: GcpNetwork,
    storage: GcpStorage,
    cluster: GcpCluster,
    grants: GcpWorkloadIdentity,
    secrets: Mapping[str, Input[str]],
) -> dict[str, Input[Any]]:
    """Every name a plan may refer to (rackwright.compile.wants), and `secret.<name>`."""
    issuer = Output.concat("https://container.googleapis.com/v1/", cluster.cluster_id)
    return {
        "cluster.name": cluster.cluster_name,
        "cluster.endpoint": cluster.endpoint,
        "cluster.oidc_issuer": issuer,
        "network.id": network.network_id,
        "network.subnet_ids": network.subnet_ids,
        "key.id": storage.key_id,
        "place.account": network.project,
        "place.project": network.project,
        "place.region": plan.place.region,
        **{f"bucket.{key}.name": name for key, name in storage.bucket_names.items()},
        **{f"bucket.{key}.url": Output.concat("gs://", name) for key, name in storage.bucket_names.items()},
        **{f"identity.{key}.principal": principal for key, principal in grants.principals.items()},
        **{f"secret.{key}": Output.secret(value) for key, value in secrets.items()},
    }
