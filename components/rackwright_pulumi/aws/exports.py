"""The parts of one stack as another stack exports them: what is written stands beside what is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi import Input, Output, Resource
from rackwright.stackplan import BucketPlan, NetworkPlan, PlacePlan

from rackwright_pulumi.aws.cluster.cluster import AwsCluster
from rackwright_pulumi.aws.cluster.kubeconfig import kubeconfig
from rackwright_pulumi.aws.existing_cluster import AwsExistingCluster
from rackwright_pulumi.aws.karpenter import AwsKarpenter
from rackwright_pulumi.aws.key import AwsKey
from rackwright_pulumi.aws.network.network import AwsNetwork
from rackwright_pulumi.aws.network.subnets import Subnetted, described
from rackwright_pulumi.aws.network.vpc import Subnets
from rackwright_pulumi.aws.storage.bucket import BucketSite
from rackwright_pulumi.aws.storage.lustre import Lustre
from rackwright_pulumi.aws.storage.storage import AwsStorage
from rackwright_pulumi.upstream import Upstream


@dataclass(frozen=True)
class ExportedKey:
    """A key of the layers below."""

    key_arn: Output[str]
    key_id: Output[str]

    @staticmethod
    def written(key: "Key") -> dict[str, Any]:
        return {"arn": key.key_arn, "id": key.key_id}

    @staticmethod
    def read(below: Upstream) -> "ExportedKey":
        return ExportedKey(below.value("key", "arn"), below.value("key", "id"))


@dataclass
class ExportedNetwork(Subnetted):
    """A network of the layers below."""

    vpc_id: Output[str]
    subnets: Subnets
    subnet_ids: Output[Sequence[str]]
    fabric_group_id: Output[str] | None

    @staticmethod
    def written(network: "Network") -> dict[str, Any]:
        subnets = {plan.name: subnet_id for plan, subnet_id in network.subnets}
        return {"vpcId": network.vpc_id, "subnets": subnets, "fabricGroupId": network.fabric_group_id}

    @staticmethod
    def read(below: Upstream, plan: NetworkPlan) -> "ExportedNetwork":
        names = described(plan, len(plan.existing_subnet_ids))
        subnets: Subnets = [(subnet, below.value("network", "subnets", subnet.name)) for subnet in names]
        fabric = below.value("network", "fabricGroupId") if plan.self_reachable else None
        return ExportedNetwork(below.value("network", "vpcId"), subnets, Output.all(*[subnet_id for _, subnet_id in subnets]), fabric)


@dataclass(frozen=True)
class ExportedStorage:
    """Buckets and file system of the layers below."""

    buckets: Mapping[str, BucketSite]
    bucket_names: Output[Mapping[str, str]]
    lustre: Lustre | None

    @staticmethod
    def written(storage: "Storage") -> dict[str, Any]:
        buckets = {key: {"name": place.name, "arn": place.arn, "url": place.url} for key, place in storage.buckets.items()}
        lustre = storage.lustre.outputs | {"groupId": storage.lustre.group_id} if storage.lustre else None
        return {"buckets": buckets, "lustre": lustre}

    @staticmethod
    def read(below: Upstream, wants: Sequence[BucketPlan], lustre: bool) -> "ExportedStorage":
        def place(plan: BucketPlan) -> BucketSite:
            at = ("storage", "buckets", plan.key)
            return BucketSite(below.value(*at, "name"), below.value(*at, "arn"), plan.prefix)

        buckets = {plan.key: place(plan) for plan in wants}
        system = Lustre(*(below.value("storage", "lustre", key) for key in ("id", "dnsName", "mountName", "groupId"))) if lustre else None
        return ExportedStorage(buckets, Output.all(**{key: bucket.name for key, bucket in buckets.items()}), system)


@dataclass(frozen=True)
class ExportedCluster:
    """A cluster of the layers below. Its nodes' rights and administrators were waited for there."""

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
    def written(cluster: "Cluster") -> dict[str, Any]:
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
    def read(below: Upstream, place: PlacePlan) -> "ExportedCluster":
        name, endpoint = below.value("cluster", "name"), below.value("cluster", "endpoint")
        authority = below.value("cluster", "certificateAuthority")
        return ExportedCluster(
            cluster_name=name,
            cluster_id=name,
            cluster_arn=below.value("cluster", "arn"),
            endpoint=endpoint,
            certificate_authority=authority,
            oidc_issuer=below.value("cluster", "oidcIssuer"),
            security_group_id=below.value("cluster", "securityGroupId"),
            service_cidr=below.value("cluster", "serviceCidr"),
            node_role_arn=below.value("cluster", "nodeRoleArn"),
            kubeconfig=kubeconfig(name, endpoint, authority, place.region, place.role_arn),
        )


@dataclass(frozen=True)
class ExportedKarpenter:
    """Karpenter's queue and the role of its machines, of the layers below."""

    queue_name: Output[str]
    node_role_name: Output[str]

    @staticmethod
    def written(karpenter: "Karpenter") -> dict[str, Any]:
        return {"queueName": karpenter.queue_name, "nodeRoleName": karpenter.node_role_name}

    @staticmethod
    def read(below: Upstream) -> "ExportedKarpenter":
        return ExportedKarpenter(below.value("karpenter", "queueName"), below.value("karpenter", "nodeRoleName"))


Karpenter = AwsKarpenter | ExportedKarpenter
Key = AwsKey | ExportedKey
Network = AwsNetwork | ExportedNetwork
Storage = AwsStorage | ExportedStorage
Cluster = AwsCluster | AwsExistingCluster | ExportedCluster


def parts(
    layers: Input[Sequence[str]],
    key: Key,
    network: Network,
    storage: Storage,
    cluster: Cluster | None,
    roles: Mapping[str, Input[str]],
    karpenter: Karpenter | None = None,
) -> dict[str, Any]:
    """What a stack exports for the layers above it, with what it was handed from below."""
    return {
        **({"karpenter": ExportedKarpenter.written(karpenter)} if karpenter else {}),
        "layers": layers,
        "key": ExportedKey.written(key),
        "network": ExportedNetwork.written(network),
        "storage": ExportedStorage.written(storage),
        "cluster": ExportedCluster.written(cluster) if cluster else None,
        "identities": dict(roles),
    }
