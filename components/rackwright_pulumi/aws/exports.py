"""Values that a stack exports for downstream stacks: `to_outputs` writes them, `from_upstream` reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi import Input, Output, Resource
from rackwright.stackplan import BucketPlan, NetworkPlan, PlacePlan

from rackwright_pulumi.aws.cluster.cluster import AwsCluster
from rackwright_pulumi.aws.cluster.kubeconfig import kubeconfig
from rackwright_pulumi.aws.existing_cluster import AwsExistingCluster
from rackwright_pulumi.aws.key import AwsKey
from rackwright_pulumi.aws.network.network import AwsNetwork
from rackwright_pulumi.aws.network.subnets import HasSubnets, subnet_plans
from rackwright_pulumi.aws.network.vpc import Subnets
from rackwright_pulumi.aws.storage.bucket import BucketLocation
from rackwright_pulumi.aws.storage.lustre import Lustre
from rackwright_pulumi.aws.storage.storage import AwsStorage
from rackwright_pulumi.upstream import Upstream


@dataclass(frozen=True)
class ExportedKey:
    """The key of an upstream stack."""

    key_arn: Output[str]
    key_id: Output[str]

    @staticmethod
    def from_upstream(upstream: Upstream) -> "ExportedKey":
        return ExportedKey(upstream.value("key", "arn"), upstream.value("key", "id"))


@dataclass
class ExportedNetwork(HasSubnets):
    """The network of an upstream stack."""

    vpc_id: Output[str]
    subnets: Subnets
    subnet_ids: Output[Sequence[str]]
    fabric_group_id: Output[str] | None

    @staticmethod
    def to_outputs(network: "Network") -> dict[str, Any]:
        subnets = {plan.name: subnet_id for plan, subnet_id in network.subnets}
        return {"vpcId": network.vpc_id, "subnets": subnets, "fabricGroupId": network.fabric_group_id}

    @staticmethod
    def from_upstream(upstream: Upstream, plan: NetworkPlan) -> "ExportedNetwork":
        names = subnet_plans(plan, len(plan.existing_subnet_ids))
        subnets: Subnets = [(subnet, upstream.value("network", "subnets", subnet.name)) for subnet in names]
        fabric = upstream.value("network", "fabricGroupId") if plan.self_reachable else None
        return ExportedNetwork(upstream.value("network", "vpcId"), subnets, Output.all(*[subnet_id for _, subnet_id in subnets]), fabric)


@dataclass(frozen=True)
class ExportedStorage:
    """Buckets and file system of an upstream stack."""

    buckets: Mapping[str, BucketLocation]
    bucket_names: Output[Mapping[str, str]]
    lustre: Lustre | None

    @staticmethod
    def to_outputs(storage: "Storage") -> dict[str, Any]:
        buckets = {key: {"name": bucket.name, "arn": bucket.arn, "url": bucket.url} for key, bucket in storage.buckets.items()}
        lustre = storage.lustre.outputs | {"groupId": storage.lustre.group_id} if storage.lustre else None
        return {"buckets": buckets, "lustre": lustre}

    @staticmethod
    def from_upstream(upstream: Upstream, plans: Sequence[BucketPlan], lustre: bool) -> "ExportedStorage":
        def location(plan: BucketPlan) -> BucketLocation:
            path = ("storage", "buckets", plan.key)
            return BucketLocation(upstream.value(*path, "name"), upstream.value(*path, "arn"), plan.prefix)

        buckets = {plan.key: location(plan) for plan in plans}
        system = (
            Lustre(*(upstream.value("storage", "lustre", key) for key in ("id", "dnsName", "mountName", "groupId"))) if lustre else None
        )
        return ExportedStorage(buckets, Output.all(**{key: bucket.name for key, bucket in buckets.items()}), system)


@dataclass(frozen=True)
class ExportedCluster:
    """The cluster of an upstream stack, which waited for node permissions and administrators."""

    cluster_name: Output[str]
    cluster_id: Output[str]
    cluster_arn: Output[str]
    endpoint: Output[str]
    certificate_authority: Output[str]
    oidc_issuer: Output[str]
    security_group_id: Output[str]
    service_cidr: Output[str]
    node_role_arn: Output[str]
    kubeconfig: Output[str]
    version: str | None = None
    admins: Sequence[Resource] = ()
    node_rights: Sequence[Resource] = ()

    @staticmethod
    def to_outputs(cluster: "Cluster") -> dict[str, Any]:
        return {
            "name": cluster.cluster_name,
            "arn": cluster.cluster_arn,
            "endpoint": cluster.endpoint,
            "certificateAuthority": cluster.certificate_authority,
            "oidcIssuer": cluster.oidc_issuer,
            "securityGroupId": cluster.security_group_id,
            "serviceCidr": cluster.service_cidr,
            "nodeRoleArn": cluster.node_role_arn,
        }

    @staticmethod
    def from_upstream(upstream: Upstream, place: PlacePlan) -> "ExportedCluster":
        name, endpoint = upstream.value("cluster", "name"), upstream.value("cluster", "endpoint")
        authority = upstream.value("cluster", "certificateAuthority")
        return ExportedCluster(
            cluster_name=name,
            cluster_id=name,
            cluster_arn=upstream.value("cluster", "arn"),
            endpoint=endpoint,
            certificate_authority=authority,
            oidc_issuer=upstream.value("cluster", "oidcIssuer"),
            security_group_id=upstream.value("cluster", "securityGroupId"),
            service_cidr=upstream.value("cluster", "serviceCidr"),
            node_role_arn=upstream.value("cluster", "nodeRoleArn"),
            kubeconfig=kubeconfig(name, endpoint, authority, place.region, place.role_arn),
        )


@dataclass(frozen=True)
class ExportedKarpenter:
    """Karpenter's queue and node role, of this stack or an upstream stack."""

    queue_name: Output[str]
    node_role_name: Output[str]

    @property
    def outputs(self) -> dict[str, Any]:
        return {"queueName": self.queue_name, "nodeRoleName": self.node_role_name}

    @staticmethod
    def from_upstream(upstream: Upstream) -> "ExportedKarpenter":
        return ExportedKarpenter(upstream.value("karpenter", "queueName"), upstream.value("karpenter", "nodeRoleName"))


Key = AwsKey | ExportedKey
Network = AwsNetwork | ExportedNetwork
Storage = AwsStorage | ExportedStorage
Cluster = AwsCluster | AwsExistingCluster | ExportedCluster


def exported_parts(
    layers: Input[Sequence[str]],
    key: Key,
    network: Network,
    storage: Storage,
    cluster: Cluster | None,
    roles: Mapping[str, Input[str]],
    karpenter: ExportedKarpenter | None = None,
) -> dict[str, Any]:
    """The values that a stack exports for downstream stacks, including those from its upstream stack."""
    return {
        **({"karpenter": karpenter.outputs} if karpenter else {}),
        "layers": layers,
        "key": {"arn": key.key_arn, "id": key.key_id},
        "network": ExportedNetwork.to_outputs(network),
        "storage": ExportedStorage.to_outputs(storage),
        "cluster": ExportedCluster.to_outputs(cluster) if cluster else None,
        "identities": dict(roles),
    }
