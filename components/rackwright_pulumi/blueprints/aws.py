"""What every blueprint on AWS starts from: key, network, storage, identities."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.compile.wants import IdentityWant, StackPlan

from rackwright_pulumi.aws.account import account_id
from rackwright_pulumi.aws.cluster import AwsCluster
from rackwright_pulumi.aws.guard import AwsGuard
from rackwright_pulumi.aws.identity import AwsIdentity, AwsIdentityArgs
from rackwright_pulumi.aws.key import AwsKey
from rackwright_pulumi.aws.network import AwsNetwork
from rackwright_pulumi.aws.storage import AwsStorage, AwsStorageArgs
from rackwright_pulumi.aws.tags import stack_tags
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported


class AwsStack:
    """Builds the parts of one plan below `parent`, each a component. Raises Unsupported for another cloud."""

    def __init__(self, parent: pulumi.Resource, name: str, plan: StackPlan, teardown: bool):
        if plan.place.cloud != "aws":
            raise Unsupported(f"{plan.kind} on {plan.place.cloud}", "place.cloud", "aws")
        self.name, self.plan, self.teardown, self.parent = name, plan, teardown, parent
        self.region, self.tags, self.below = plan.place.region, stack_tags(plan), ResourceOptions(parent=parent)
        self.account = account_id(plan.place, parent)
        self.key = AwsKey(
            child(name, "key"),
            {"key": plan.key, "account": self.account, "region": self.region, "tags": self.tags, "teardown": teardown},
            self.below,
        )
        self.network = AwsNetwork(
            child(name, "network"),
            {
                "network": plan.network,
                "region": self.region,
                "kms_key_arn": self.key.key_arn,
                "tags": self.tags,
                "teardown": teardown,
            },
            self.below,
        )

    def storage(self, client_group_ids: Sequence[Input[str]] = ()) -> AwsStorage:
        """Buckets and, where the plan has one, the file system in its zone."""
        lustre = self.plan.lustre
        args: AwsStorageArgs = {
            "buckets": self.plan.buckets,
            "lustre": lustre,
            "vpc_id": self.network.vpc_id,
            "subnet_ids": self.network.machine_subnets([lustre.zone]) if lustre else [],
            "fabric_group_id": self.network.fabric_group_id,
            "client_group_ids": client_group_ids,
            "kms_key_arn": self.key.key_arn,
            "tags": self.tags,
            "teardown": self.teardown,
        }
        return AwsStorage(child(self.name, "storage"), args, self.below)

    def identity(
        self,
        want: IdentityWant,
        storage: AwsStorage,
        cluster: AwsCluster | None = None,
        secrets: Mapping[str, Input[str]] = MappingProxyType({}),
    ) -> AwsIdentity:
        """Of the pods of a cluster, or of a machine that may read `secrets`."""
        args: AwsIdentityArgs = {
            "identity": want,
            "region": self.region,
            "account": self.account,
            "kms_key_arn": self.key.key_arn,
            "bucket_arns": {key: place.arn for key, place in storage.buckets.items()},
            "prefixes": {key: place.prefix for key, place in storage.buckets.items()},
            "secrets": secrets,
            "secrets_path": f"/{self.name}",
            "tags": self.tags,
        }
        if cluster:
            args |= {"cluster_name": cluster.cluster_name, "cluster_arn": cluster.cluster_arn}
        return AwsIdentity(child(self.name, "identity", want.key), args, self.below)

    def guard(self, groups: Mapping[str, Input[str]] = MappingProxyType({})) -> AwsGuard | None:
        """The plan's budget, idle alarm and reminders. groups: Auto Scaling group of each pool whose machines should not idle."""
        if self.plan.guard is None:
            return None
        return AwsGuard(
            child(self.name, "guard"),
            {
                "guard": self.plan.guard,
                "stack": self.plan.name,
                "account": self.account,
                "region": self.region,
                "kms_key_arn": self.key.key_arn,
                "groups": groups,
                "tags": self.tags,
            },
            self.below,
        )

    def refs(
        self,
        storage: AwsStorage,
        cluster: AwsCluster,
        roles: Mapping[str, Output[str]],
        secrets: Mapping[str, Input[str]],
    ) -> dict[str, Input[Any]]:
        """Every name a plan may refer to (rackwright.compile.wants), and `secret.<name>`."""
        known: dict[str, Input[Any]] = {
            "cluster.name": cluster.cluster_name,
            "cluster.endpoint": cluster.endpoint,
            "cluster.oidc_issuer": cluster.oidc_issuer,
            "network.id": self.network.vpc_id,
            "network.subnet_ids": self.network.subnet_ids,
            "key.id": self.key.key_id,
            "place.account": self.account,
            "place.project": self.account,
            "place.region": self.region,
        }
        for key, place in storage.buckets.items():
            known |= {f"bucket.{key}.name": place.name, f"bucket.{key}.url": place.url}
        if storage.lustre:
            lustre = storage.lustre
            known |= {"lustre.id": lustre.id, "lustre.dns_name": lustre.dns_name, "lustre.mount_name": lustre.mount_name}
        known |= {f"identity.{key}.principal": arn for key, arn in roles.items()}
        return known | {f"secret.{key}": Output.secret(value) for key, value in secrets.items()}
