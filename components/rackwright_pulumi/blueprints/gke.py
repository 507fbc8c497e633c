"""What every blueprint on GKE is made of: network, key and buckets, cluster, pools, identities, and the layer inside."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import Input, InvokeOutputOptions, Output, ResourceOptions
from pulumi_gcp.organizations import get_project_output
from pulumi_kubernetes import Provider
from rackwright.stackplan import PoolPlan, StackPlan

from rackwright_pulumi.gcp import CLOUD
from rackwright_pulumi.gcp.cluster import GcpCluster
from rackwright_pulumi.gcp.identity import GcpNodeIdentity, GcpWorkloadIdentity
from rackwright_pulumi.gcp.network import GcpNetwork
from rackwright_pulumi.gcp.pool import GcpPool
from rackwright_pulumi.gcp.storage import GcpStorage
from rackwright_pulumi.kubernetes.workloads import KubernetesLayer
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported


class GkeParts:
    """Builds every part of a StackPlan below a blueprint, each a component that also stands alone.

    Raises Unsupported for what this release does not give GKE.
    """

    def __init__(
        self,
        parent: pulumi.Resource,
        name: str,
        plan: StackPlan,
        teardown: bool,
        secrets: Mapping[str, Input[str]],
        project_number: Input[str] | None,
    ):
        self.plan = plan
        site = _Site(parent, name, plan, teardown, ResourceOptions(parent=parent))
        site.check()
        self.network = site.network()
        number = project_number or site.project_number(self.network.project)
        self.storage = site.storage(self.network, number)
        self.bucket_names: Output[Mapping[str, str]] = Output.all(**self.storage.bucket_names)
        nodes = GcpNodeIdentity(child(name, "identity"), {"project": self.network.project}, site.below)
        self.cluster = site.cluster(self.network, self.storage, nodes)
        self.pools = {want.name: site.pool(want, self.storage, self.cluster, nodes) for want in self.plan.pools}
        grants = site.grants(self.storage, self.cluster, number)
        secrets = {f"secret.{key}": Output.secret(value) for key, value in secrets.items()}
        self.layer = site.layer(self.cluster, self.pools, self._refs(grants) | secrets)

    @property
    def outputs(self) -> dict[str, Any]:
        """What every blueprint on GKE registers."""
        return {
            "clusterName": self.cluster.cluster_name,
            "endpoint": self.cluster.endpoint,
            "kubeconfig": self.cluster.kubeconfig,
            "kubeconfigCommand": self.cluster.kubeconfig_command,
            "bucketNames": self.bucket_names,
        }

    def _refs(self, grants: GcpWorkloadIdentity) -> dict[str, Input[Any]]:
        """Every name a plan may refer to: rackwright.stackplan."""
        names = self.storage.bucket_names
        return {
            "cluster.name": self.cluster.cluster_name,
            "cluster.endpoint": self.cluster.endpoint,
            "cluster.oidc_issuer": Output.concat("https://container.googleapis.com/v1/", self.cluster.cluster_id),
            "network.id": self.network.network_id,
            "network.subnet_ids": self.network.subnet_ids,
            "key.id": self.storage.key_id,
            "place.account": self.network.project,
            "place.project": self.network.project,
            "place.region": self.plan.place.region,
            **{f"bucket.{key}.name": name for key, name in names.items()},
            **{f"bucket.{key}.url": Output.concat("gs://", name) for key, name in names.items()},
            **{f"identity.{key}.principal": principal for key, principal in grants.principals.items()},
        }


@dataclass(frozen=True)
class _Site:
    """Whose children the parts are, and under which names."""

    parent: pulumi.Resource
    name: str
    plan: StackPlan
    teardown: bool
    below: ResourceOptions

    def check(self) -> None:
        if self.plan.place.cloud != CLOUD:
            raise Unsupported(f"{self.plan.kind} on {self.plan.place.cloud}", "place.cloud", CLOUD)
        if self.plan.lustre:
            raise Unsupported("Lustre on GKE", "lustre", "buckets mounted with the object-store-mount add-on")

    def network(self) -> GcpNetwork:
        return GcpNetwork(
            child(self.name, "network"),
            {
                "network": self.plan.network,
                "services": self.plan.services,
                "project": self.plan.place.account,
                "region": self.plan.place.region,
                "teardown": self.teardown,
            },
            self.below,
        )

    def project_number(self, project: Input[str]) -> Output[str]:
        return get_project_output(project_id=project, opts=InvokeOutputOptions(parent=self.parent)).number

    def storage(self, network: GcpNetwork, number: Input[str]) -> GcpStorage:
        return GcpStorage(
            child(self.name, "storage"),
            {
                "key": self.plan.key,
                "buckets": self.plan.buckets,
                "tags": self.plan.tags,
                "project": network.project,
                "project_number": number,
                "region": self.plan.place.region,
                "teardown": self.teardown,
            },
            self.below,
        )

    def cluster(self, network: GcpNetwork, storage: GcpStorage, nodes: GcpNodeIdentity) -> GcpCluster:
        ranges = {key: key for subnet in self.plan.network.subnets for key, _ in subnet.secondary}  # GKE makes its own where there are none
        return GcpCluster(
            child(self.name, "cluster"),
            {
                "cluster": self.plan.cluster,
                "addons": self.plan.addons,
                "tags": self.plan.tags,
                "project": network.project,
                "region": self.plan.place.region,
                "zones": list(self.plan.place.control_zones) or [self.plan.place.zone],
                "network_id": network.network_id,
                "subnet_id": network.subnet_ids[0],
                "pods_range": ranges.get("pods"),
                "services_range": ranges.get("services"),
                "secrets_key_id": storage.key_for["cluster"],
                "disk_key_id": storage.key_for["disks"],
                "node_account": nodes.email,
                "teardown": self.teardown,
            },
            self.below,
        )

    def pool(self, plan: PoolPlan, storage: GcpStorage, cluster: GcpCluster, nodes: GcpNodeIdentity) -> GcpPool:
        return GcpPool(
            child(self.name, plan.name),
            {
                "pool": plan,
                "tags": self.plan.tags,
                "project": cluster.project,
                "region": self.plan.place.region,
                "cluster_name": cluster.cluster_name,
                "node_account": nodes.email,
                "disk_key_id": storage.key_for["disks"],
            },
            self.below,
        )

    def grants(self, storage: GcpStorage, cluster: GcpCluster, number: Input[str]) -> GcpWorkloadIdentity:
        return GcpWorkloadIdentity(
            child(self.name, "workload-identity"),
            {
                "identities": self.plan.identities,
                "project_number": number,
                "workload_pool": cluster.workload_pool,
                "bucket_names": storage.bucket_names,
            },
            self.below,
        )

    def layer(self, cluster: GcpCluster, pools: Mapping[str, GcpPool], refs: Mapping[str, Input[Any]]) -> KubernetesLayer:
        """Nothing goes into the cluster before the system nodes are there, and nothing of it outlives them."""
        provider = Provider(
            child(self.name, "k8s"),
            kubeconfig=cluster.kubeconfig,
            cluster_identifier=cluster.cluster_id,
            enable_server_side_apply=True,
            opts=ResourceOptions(
                parent=self.parent, depends_on=[pools[plan.name].node_pool for plan in self.plan.pools if plan.role == "system"]
            ),
        )
        return KubernetesLayer(
            child(self.name, "layer"),
            {
                "namespaces": self.plan.namespaces,
                "releases": self.plan.releases,
                "manifests": self.plan.manifests,
                "refs": refs,
                "protect": not self.teardown,
            },
            ResourceOptions(parent=self.parent, provider=provider),
        )
