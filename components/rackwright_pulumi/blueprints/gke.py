"""Parts of every blueprint on GKE: network, key, buckets, cluster, pools, identities, and Kubernetes objects."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_kubernetes import Provider
from rackwright.stackplan import PoolPlan, StackPlan

from rackwright_pulumi.blueprints.gke_base import GkeBase
from rackwright_pulumi.gcp import CLOUD
from rackwright_pulumi.gcp.cluster import GcpCluster
from rackwright_pulumi.gcp.cost_alerts import GcpGuard
from rackwright_pulumi.gcp.existing_cluster import GcpExistingCluster, GcpExistingClusterArgs
from rackwright_pulumi.gcp.exports import (
    Cluster,
    ExportedCluster,
    exported_parts,
)
from rackwright_pulumi.gcp.identity import GcpNodeIdentity, GcpNodeIdentityArgs, GcpWorkloadIdentity
from rackwright_pulumi.gcp.pool import GcpPool
from rackwright_pulumi.kubernetes.workloads import KubernetesLayer
from rackwright_pulumi.naming import child
from rackwright_pulumi.refs import RefValue
from rackwright_pulumi.unsupported import Unsupported
from rackwright_pulumi.upstream import StackReferences


class GkeParts(GkeBase):
    """Builds the parts of a StackPlan as child components of a blueprint. Raises Unsupported for parts that GKE does not support."""

    def __init__(
        self,
        parent: pulumi.Resource,
        name: str,
        plan: StackPlan,
        teardown: bool,
        secrets: Mapping[str, Input[str]],
        project_number: Input[str] | None,
    ):
        if plan.place.cloud != CLOUD:
            raise Unsupported(f"{plan.kind} on {plan.place.cloud}", "place.cloud", CLOUD)
        super().__init__(parent, name, plan, teardown, project_number)
        self.pools: dict[str, GcpPool] = {}
        self.identities: dict[str, dict[str, Output[str]]] = {}
        self.cluster: Cluster | None = self.build_machines() if self.builds("cluster") else self.read_cluster()
        given: dict[str, RefValue] = {f"secret.{key}": Output.secret(value) for key, value in secrets.items()}
        self.layer = self.build_layer(self.cluster, given) if self.cluster and self.builds("operators", "workloads") else None

    def build_machines(self) -> GcpCluster | GcpExistingCluster:
        """The cluster with its pools, and the identities of its pods."""
        self.nodes = self.build_node_identity()
        self.subnet_id = self.build_subnet_use(self.number)
        cluster = self.build_cluster()
        self.pools = {pool.name: self.build_pool(pool, cluster) for pool in self.plan.pools}
        grants = self.build_grants(self.number, cluster)
        self.identities = {"principals": dict(grants.principals), "accounts": dict(grants.accounts)}
        self.guard = self.build_guard(cluster)
        return cluster

    def read_cluster(self) -> ExportedCluster | None:
        """The cluster and the identities of its pods from the upstream stack; None for a stack of the base layer alone."""
        if not self.builds("operators", "workloads"):
            return None
        upstream, plans = self.required_upstream, self.plan.identities
        named = {"principals": plans, "accounts": [plan for plan in plans if plan.existing_arn]}
        self.identities = {k: {plan.key: upstream.value("identities", k, plan.key) for plan in those} for k, those in named.items()}
        return ExportedCluster.from_upstream(upstream, self.plan.cluster)

    @property
    def outputs(self) -> dict[str, Any]:
        """Outputs of every blueprint on GKE."""
        cluster = self.cluster
        return {
            "clusterName": cluster.cluster_name if cluster else None,
            "endpoint": cluster.endpoint if cluster else None,
            "kubeconfig": cluster.kubeconfig if cluster else None,
            "kubeconfigCommand": cluster.kubeconfig_command if cluster else None,
            "bucketNames": self.bucket_names,
            "keyId": self.storage.key_id,
            "parts": exported_parts(self.deployed_layers, self.network, self.further, self.storage, cluster, self.identities),
        }

    def build_node_identity(self) -> GcpNodeIdentity:
        args: GcpNodeIdentityArgs = {"project": self.network.project}
        if self.plan.cluster and self.plan.cluster.node_role_arn:
            args["existing_email"] = StackReferences(self.parent, self.name).value(self.plan.cluster.node_role_arn)
        return GcpNodeIdentity(child(self.name, "identity"), args, self.child_opts)

    def build_cluster(self) -> GcpCluster | GcpExistingCluster:
        """A new cluster or an existing one. Raises Unsupported for a plan without a cluster."""
        if self.plan.cluster is None:
            raise Unsupported(f"{self.plan.kind} without a cluster", "cluster", "a plan with a cluster")
        if self.plan.cluster.existing:
            existing: GcpExistingClusterArgs = {
                "cluster": self.plan.cluster,
                "project": self.network.project,
                "region": self.plan.place.region,
            }
            return GcpExistingCluster(child(self.name, "cluster"), existing, self.child_opts)
        network = self.plan.network  # GKE adds ranges of its own to a subnet without any
        ranges = {key: key for subnet in network.subnets if not network.existing_id for key, _ in subnet.secondary}
        ranges |= {key: range_name for subnet in network.subnets for key, range_name in subnet.range_names}
        return GcpCluster(
            child(self.name, "cluster"),
            {
                "cluster": self.plan.cluster,
                "addons": self.plan.addons,
                "tags": self.plan.tags,
                "project": self.network.project,
                "region": self.plan.place.region,
                "zones": list(self.plan.place.control_zones) or [self.plan.place.zone],
                "network_id": self.network.network_id,
                "subnet_id": self.subnet_id,
                "pods_range": ranges.get("pods"),
                "services_range": ranges.get("services"),
                "secrets_key_id": self.storage.key_for["cluster"],
                "disk_key_id": self.storage.key_for["disks"],
                "node_account": self.nodes.email,
                "teardown": self.teardown,
            },
            self.child_opts,
        )

    def build_pool(self, plan: PoolPlan, cluster: Cluster) -> GcpPool:
        uses_fabric = plan.role == "accelerator" and plan.fabric == self.plan.network.fabric
        further = self.further if uses_fabric else None
        return GcpPool(
            child(self.name, plan.name),
            {
                "pool": plan,
                "pool_name": self.plan.node_pool_name(plan),
                "tags": self.plan.tags,
                "project": cluster.project,
                "region": self.plan.place.region,
                "cluster_name": cluster.cluster_name,
                "node_account": self.nodes.email,
                "disk_key_id": self.storage.key_for["disks"],
                **({"vpcs": [*further.vpcs.values()], "subnets": [*further.subnets.values()]} if further else {}),
            },
            self.child_opts,
        )

    def build_grants(self, number: Input[str], cluster: Cluster) -> GcpWorkloadIdentity:
        return GcpWorkloadIdentity(
            child(self.name, "workload-identity"),
            {
                "identities": self.plan.identities,
                "project_number": number,
                "workload_pool": cluster.workload_pool,
                "bucket_names": self.storage.bucket_names,
            },
            self.child_opts,
        )

    def build_guard(self, cluster: Cluster) -> GcpGuard | None:
        """Cost alerts; None for a plan without them."""
        if self.plan.guard is None:
            return None
        return GcpGuard(
            child(self.name, "guard"),
            {
                "guard": self.plan.guard,
                "stack": self.plan.name,
                "project": self.network.project,
                "project_number": self.number,
                "cluster_name": cluster.cluster_name,
                "pools": [self.plan.node_pool_name(pool) for pool in self.plan.pools if pool.role == "accelerator"],
                "tags": self.plan.tags,
            },
            self.child_opts,
        )

    def build_layer(self, cluster: Cluster, secrets: dict[str, RefValue]) -> KubernetesLayer:
        """Kubernetes objects of this stack, which depend on the system nodes. Names in `after` of objects of other stacks are removed."""
        plan = self.plan
        system = [self.pools[pool.name].node_pool for pool in plan.pools if pool.role == "system" and pool.name in self.pools]
        operators = {release.namespace for release in plan.releases}
        releases = plan.releases if self.builds("operators") else ()
        manifests = tuple(manifest for manifest in plan.manifests if self.builds(manifest.layer))
        own = {*(release.name for release in releases), *(manifest.key for manifest in manifests)}
        provider = Provider(
            child(self.name, "k8s"),
            kubeconfig=cluster.kubeconfig,
            cluster_identifier=cluster.cluster_id,
            enable_server_side_apply=True,
            opts=ResourceOptions(parent=self.parent),
        )
        return KubernetesLayer(
            child(self.name, "layer"),
            {
                "namespaces": tuple(row for row in plan.namespaces if self.builds("operators" if row[0] in operators else "workloads")),
                "releases": releases,
                "manifests": tuple(replace(manifest, after=tuple(key for key in manifest.after if key in own)) for manifest in manifests),
                "refs": {**self._refs(cluster), **secrets},
                "protect": not self.teardown,
                "draining": self.draining,
            },
            ResourceOptions(parent=self.parent, provider=provider, depends_on=system),
        )

    def _refs(self, cluster: Cluster) -> dict[str, RefValue]:
        """Values of all Refs of a plan (rackwright.stackplan)."""
        names, files = self.storage.bucket_names, self.storage.lustre
        vpcs, subnets = (self.further.vpcs, self.further.subnets) if self.further else ({}, {})
        return {
            "cluster.name": cluster.cluster_name,
            "cluster.endpoint": cluster.endpoint,
            "cluster.oidc_issuer": Output.concat("https://container.googleapis.com/v1/", cluster.cluster_id),
            "network.id": self.network.network_id,
            "network.subnet_ids": self.network.subnet_ids,
            "key.id": self.storage.key_id,
            "place.account": self.network.project,
            "place.project": self.network.project,
            "place.region": self.plan.place.region,
            **({"lustre.id": files.id, "lustre.dns_name": files.ip_address, "lustre.mount_name": files.mount_name} if files else {}),
            **{f"network.accelerator.{key}.vpc": vpc for key, vpc in vpcs.items()},
            **{f"network.accelerator.{key}.subnet": subnet for key, subnet in subnets.items()},
            **{f"bucket.{key}.name": name for key, name in names.items()},
            **{f"bucket.{key}.url": Output.concat("gs://", name) for key, name in names.items()},
            **{f"identity.{key}.principal": principal for key, principal in self.identities["principals"].items()},
            **{f"identity.{key}.account": account for key, account in self.identities["accounts"].items()},
        }
