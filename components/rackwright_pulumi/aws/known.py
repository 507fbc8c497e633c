"""The parts of one stack as another stack exports them: what is written stands beside what is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi import Input, Output, Resource
from rackwright.compile.wants import BucketWant, NetworkWant, PlaceWant

from rackwright_pulumi.aws.bucket import Place
from rackwright_pulumi.aws.cluster import AwsCluster
from rackwright_pulumi.aws.existing_cluster import AwsExistingCluster
from rackwright_pulumi.aws.karpenter import AwsKarpenter
from rackwright_pulumi.aws.key import AwsKey
from rackwright_pulumi.aws.kubeconfig import kubeconfig
from rackwright_pulumi.aws.lustre import Lustre
from rackwright_pulumi.aws.network import AwsNetwork
from rackwright_pulumi.aws.storage import AwsStorage
from rackwright_pulumi.aws.subnets import Subnetted, described
from rackwright_pulumi.aws.vpc import Subnets
from rackwright_pulumi.below import Below


@dataclass(frozen=True)
class KnownKey:
    """A key of the layers below."""

    key_arn: Output[str]
    key_id: Output[str]

    @staticmethod
    def written(key: "Key") -> dict[str, Any]:
        return {"arn": key.key_arn, "id": key.key_id}

    @staticmethod
    def read(below: Below) -> "KnownKey":
        return KnownKey(below.value("key", "arn"), below.value("key", "id"))


@dataclass
class KnownNetwork(Subnetted):
    """A network of the layers below."""

    vpc_id: Output[str]
    subnets: Subnets
    subnet_ids: Output[Sequence[str]]
    fabric_group_id: Output[str] | None

    @staticmethod
    def written(network: "Network") -> dict[str, Any]:
        subnets = {want.name: subnet_id for want, subnet_id in network.subnets}
        return {"vpcId": network.vpc_id, "subnets": subnets, "fabricGroupId": network.fabric_group_id}

    @staticmethod
    def read(below: Below, want: NetworkWant) -> "KnownNetwork":
        names = described(want, len(want.existing_subnet_ids))
        subnets: Subnets = [(subnet, below.value("network", "subnets", subnet.name)) for subnet in names]
        fabric = below.value("network", "fabricGroupId") if want.self_reachable else None
        return KnownNetwork(below.value("network", "vpcId"), subnets, Output.all(*[subnet_id for _, subnet_id in subnets]), fabric)


@dataclass(frozen=True)
class KnownStorage:
    """Buckets and file system of the layers below."""

    buckets: Mapping[str, Place]
    bucket_names: Output[Mapping[str, str]]
    lustre: Lustre | None

    @staticmethod
    def written(storage: "Storage") -> dict[str, Any]:
        buckets = {key: {"name": place.name, "arn": place.arn, "url": place.url} for key, place in storage.buckets.items()}
        lustre = storage.lustre.outputs | {"groupId": storage.lustre.group_id} if storage.lustre else None
        return {"buckets": buckets, "lustre": lustre}

    @staticmethod
    def read(below: Below, wants: Sequence[BucketWant], lustre: bool) -> "KnownStorage":
        def place(want: BucketWant) -> Place:
            at = ("storage", "buckets", want.key)
            return Place(below.value(*at, "name"), below.value(*at, "arn"), want.prefix)

        buckets = {want.key: place(want) for want in wants}
        system = Lustre(*(below.value("storage", "lustre", key) for key in ("id", "dnsName", "mountName", "groupId"))) if lustre else None
        return KnownStorage(buckets, Output.all(**{key: bucket.name for key, bucket in buckets.items()}), system)


@dataclass(frozen=True)
class KnownCluster:
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
    def read(below: Below, place: PlaceWant) -> "KnownCluster":
        name, endpoint = below.value("cluster", "name"), below.value("cluster", "endpoint")
        authority = below.value("cluster", "certificateAuthority")
        return KnownCluster(
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
class KnownKarpenter:
    """Karpenter's queue and the role of its machines, of the layers below."""

    queue_name: Output[str]
    node_role_name: Output[str]

    @staticmethod
    def written(karpenter: "Karpenter") -> dict[str, Any]:
        return {"queueName": karpenter.queue_name, "nodeRoleName": karpenter.node_role_name}

    @staticmethod
    def read(below: Below) -> "KnownKarpenter":
        return KnownKarpenter(below.value("karpenter", "queueName"), below.value("karpenter", "nodeRoleName"))


Karpenter = AwsKarpenter | KnownKarpenter
Key = AwsKey | KnownKey
Network = AwsNetwork | KnownNetwork
Storage = AwsStorage | KnownStorage
Cluster = AwsCluster | AwsExistingCluster | KnownCluster


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
        **({"karpenter": KnownKarpenter.written(karpenter)} if karpenter else {}),
        "layers": layers,
        "key": KnownKey.written(key),
        "network": KnownNetwork.written(network),
        "storage": KnownStorage.written(storage),
        "cluster": KnownCluster.written(cluster) if cluster else None,
        "identities": dict(roles),
    }
