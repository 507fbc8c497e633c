"""Parts of every blueprint on GKE: network, key, buckets, cluster, pools, identities, and Kubernetes objects."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi import Input, InvokeOutputOptions, Output, ResourceOptions
from pulumi_gcp.organizations import get_project_output
from pulumi_kubernetes import Provider
from rackwright.stackplan import PoolPlan, StackPlan

from rackwright_pulumi.gcp import CLOUD
from rackwright_pulumi.gcp.cluster import GcpCluster
from rackwright_pulumi.gcp.identity import GcpNodeIdentity, GcpNodeIdentityArgs, GcpWorkloadIdentity
from rackwright_pulumi.gcp.network.accelerator_networks import GcpAcceleratorNetworks
from rackwright_pulumi.gcp.network.network import GcpNetwork
from rackwright_pulumi.gcp.network.shared_vpc import GcpSharedVpc, GcpSharedVpcArgs
from rackwright_pulumi.gcp.pool import GcpPool
from rackwright_pulumi.gcp.private_services import GcpPrivateServices
from rackwright_pulumi.gcp.storage import GcpStorage
from rackwright_pulumi.kubernetes.workloads import KubernetesLayer
from rackwright_pulumi.naming import child
from rackwright_pulumi.refs import RefValue
from rackwright_pulumi.unsupported import Unsupported
from rackwright_pulumi.upstream import StackReferences


class GkeParts:
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
        self.parent, self.name, self.plan, self.teardown = parent, name, plan, teardown or not plan.protected
        self.child_opts = ResourceOptions(parent=parent)
        self.network = self.build_network()
        self.further = self.build_accelerator_networks()
        self.services = self.build_private_services()
        number = project_number or get_project_output(project_id=self.network.project, opts=InvokeOutputOptions(parent=parent)).number
        self.storage = self.build_storage(number)
        self.bucket_names: Output[Mapping[str, str]] = Output.all(**self.storage.bucket_names)
        self.nodes = self.build_node_identity()
        self.subnet_id = self.build_subnet_use(number)
        self.cluster = self.build_cluster()
        self.pools = {pool.name: self.build_pool(pool) for pool in plan.pools}
        grants = self.build_grants(number)
        self.layer = self.build_layer(self._refs(grants) | {f"secret.{key}": Output.secret(value) for key, value in secrets.items()})

    @property
    def outputs(self) -> dict[str, Any]:
        """Outputs of every blueprint on GKE."""
        return {
            "clusterName": self.cluster.cluster_name,
            "endpoint": self.cluster.endpoint,
            "kubeconfig": self.cluster.kubeconfig,
            "kubeconfigCommand": self.cluster.kubeconfig_command,
            "bucketNames": self.bucket_names,
            "keyId": self.storage.key_id,
        }

    def build_network(self) -> GcpNetwork:
        return GcpNetwork(
            child(self.name, "network"),
            {
                "network": self.plan.network,
                "services": self.plan.services,
                "project": self.plan.place.account,
                "region": self.plan.place.region,
                "teardown": self.teardown,
            },
            self.child_opts,
        )

    def build_accelerator_networks(self) -> GcpAcceleratorNetworks | None:
        """Networks of the accelerators' further interfaces; None for a plan without them."""
        if not self.plan.network.accelerator_networks:
            return None
        return GcpAcceleratorNetworks(
            child(self.name, "fabric"),
            {
                "networks": self.plan.network.accelerator_networks,
                "project": self.network.project,
                "region": self.plan.place.region,
                "teardown": self.teardown,
            },
            self.child_opts,
        )

    def build_private_services(self) -> GcpPrivateServices | None:
        """Access to managed services in the network; None for a plan without a range for them."""
        if not self.plan.network.private_services_cidr:
            return None
        return GcpPrivateServices(
            child(self.name, "services"),
            {
                "cidr": self.plan.network.private_services_cidr,
                "project": self.network.project,
                "network_id": self.network.network_id,
            },
            self.child_opts,
        )

    def build_node_identity(self) -> GcpNodeIdentity:
        args: GcpNodeIdentityArgs = {"project": self.network.project}
        if self.plan.cluster and self.plan.cluster.node_role_arn:
            args["existing_email"] = StackReferences(self.parent, self.name).value(self.plan.cluster.node_role_arn)
        return GcpNodeIdentity(child(self.name, "identity"), args, self.child_opts)

    def build_subnet_use(self, number: Input[str]) -> Output[str]:
        """Subnet of the nodes, known after GKE may use it in the host project of a Shared VPC."""
        subnet_id = self.network.subnet_ids[0]
        if not self.plan.network.host_project:
            return subnet_id
        args: GcpSharedVpcArgs = {
            "host_project": self.plan.network.host_project,
            "project_number": number,
            "region": self.plan.place.region,
            "subnet_ids": [subnet_id],
        }
        return GcpSharedVpc(child(self.name, "shared-vpc"), args, self.child_opts).subnet_ids[0]

    def build_storage(self, number: Input[str]) -> GcpStorage:
        return GcpStorage(
            child(self.name, "storage"),
            {
                "key": self.plan.key,
                "buckets": self.plan.buckets,
                "tags": self.plan.tags,
                "project": self.network.project,
                "project_number": number,
                "region": self.plan.place.region,
                "teardown": self.teardown,
                "lustre": self.plan.lustre,
                "network_id": (self.services or self.network).network_id,
            },
            self.child_opts,
        )

    def build_cluster(self) -> GcpCluster:
        """Raises Unsupported for a plan without a cluster."""
        if self.plan.cluster is None:
            raise Unsupported(f"{self.plan.kind} without a cluster", "cluster", "a plan with a cluster")
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

    def build_pool(self, plan: PoolPlan) -> GcpPool:
        uses_fabric = plan.role == "accelerator" and plan.fabric == self.plan.network.fabric
        further = self.further if uses_fabric else None
        return GcpPool(
            child(self.name, plan.name),
            {
                "pool": plan,
                "tags": self.plan.tags,
                "project": self.cluster.project,
                "region": self.plan.place.region,
                "cluster_name": self.cluster.cluster_name,
                "node_account": self.nodes.email,
                "disk_key_id": self.storage.key_for["disks"],
                **({"vpcs": [*further.vpcs.values()], "subnets": [*further.subnets.values()]} if further else {}),
            },
            self.child_opts,
        )

    def build_grants(self, number: Input[str]) -> GcpWorkloadIdentity:
        return GcpWorkloadIdentity(
            child(self.name, "workload-identity"),
            {
                "identities": self.plan.identities,
                "project_number": number,
                "workload_pool": self.cluster.workload_pool,
                "bucket_names": self.storage.bucket_names,
            },
            self.child_opts,
        )

    def build_layer(self, refs: Mapping[str, RefValue]) -> KubernetesLayer:
        """Kubernetes objects, which depend on the system nodes."""
        system = [self.pools[plan.name].node_pool for plan in self.plan.pools if plan.role == "system"]
        provider = Provider(
            child(self.name, "k8s"),
            kubeconfig=self.cluster.kubeconfig,
            cluster_identifier=self.cluster.cluster_id,
            enable_server_side_apply=True,
            opts=ResourceOptions(parent=self.parent),
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
            ResourceOptions(parent=self.parent, provider=provider, depends_on=system),
        )

    def _refs(self, grants: GcpWorkloadIdentity) -> dict[str, RefValue]:
        """Values of all Refs of a plan (rackwright.stackplan)."""
        names, files = self.storage.bucket_names, self.storage.lustre
        vpcs, subnets = (self.further.vpcs, self.further.subnets) if self.further else ({}, {})
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
            **({"lustre.id": files.id, "lustre.dns_name": files.ip_address, "lustre.mount_name": files.mount_name} if files else {}),
            **{f"network.accelerator.{key}.vpc": vpc for key, vpc in vpcs.items()},
            **{f"network.accelerator.{key}.subnet": subnet for key, subnet in subnets.items()},
            **{f"bucket.{key}.name": name for key, name in names.items()},
            **{f"bucket.{key}.url": Output.concat("gs://", name) for key, name in names.items()},
            **{f"identity.{key}.principal": principal for key, principal in grants.principals.items()},
            **{f"identity.{key}.account": account for key, account in grants.accounts.items()},
        }
