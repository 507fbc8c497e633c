"""What every blueprint on AWS starts from: key, network, storage, identities."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.stackplan import IdentityPlan, StackPlan, layers_below

from rackwright_pulumi.aws import CLOUD
from rackwright_pulumi.aws.cost_alerts import AwsGuard
from rackwright_pulumi.aws.exports import Cluster, ExportedKey, ExportedNetwork, ExportedStorage, Karpenter, Key, Network, Storage, parts
from rackwright_pulumi.aws.identity.account import account_id
from rackwright_pulumi.aws.identity.identity import AwsIdentity, AwsIdentityArgs
from rackwright_pulumi.aws.key import AwsKey
from rackwright_pulumi.aws.network.network import AwsNetwork
from rackwright_pulumi.aws.storage.lustre import admit
from rackwright_pulumi.aws.storage.storage import AwsStorage, AwsStorageArgs
from rackwright_pulumi.aws.tags import ChildContext, stack_tags
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported
from rackwright_pulumi.upstream import Upstream


class AwsStack:
    """Builds the layers of one plan that are this stack's, below `parent`, each part a component; the others are read from the stack below.

    Raises Unsupported for another cloud.
    """

    def __init__(self, parent: pulumi.ComponentResource, name: str, plan: StackPlan, teardown: bool):
        if plan.place.cloud != CLOUD:
            raise Unsupported(f"{plan.kind} on {plan.place.cloud}", "place.cloud", CLOUD)
        self.name, self.plan, self.parent = name, plan, parent
        self.teardown = teardown or not plan.protected
        self.draining = teardown
        self.region, self.tags, self.below = plan.place.region, stack_tags(plan), ResourceOptions(parent=parent)
        self.boundary_arn = plan.place.boundary_arn or None
        self.account = account_id(plan.place, parent)
        self.lower = Upstream(parent, name, plan.below, layers_below(plan)) if plan.below else None
        self.key = self._key()
        self.network = self._network()

    def builds(self, *layers: str) -> bool:
        """Whether any of the layers is this stack's."""
        return bool({*layers} & {*self.plan.layers})

    @property
    def lower_layers(self) -> Upstream:
        """Raises Unsupported where a part is neither built here nor named as another stack's."""
        if self.lower is None:
            raise Unsupported(
                f"layers {', '.join(self.plan.layers)} on nothing", "below", "the name of the stack that has the layers below"
            )
        return self.lower

    def _key(self) -> Key:
        if not self.builds("base"):
            return ExportedKey.read(self.lower_layers)
        return AwsKey(
            child(self.name, "key"),
            {"key": self.plan.key, "account": self.account, "region": self.region, "tags": self.tags, "teardown": self.teardown},
            self.below,
        )

    def _network(self) -> Network:
        if not self.builds("base"):
            return ExportedNetwork.read(self.lower_layers, self.plan.network)
        return AwsNetwork(
            child(self.name, "network"),
            {
                "network": self.plan.network,
                "region": self.region,
                "kms_key_arn": self.key.key_arn,
                "tags": self.tags,
                "teardown": self.teardown,
                "boundary_arn": self.boundary_arn,
            },
            self.below,
        )

    def storage(self, client_group_ids: Sequence[Input[str]] = ()) -> Storage:
        """Buckets and, where the plan has one, the file system in its zone. One of the layers below lets the clients of this stack in."""
        lustre = self.plan.lustre
        if not self.builds("base"):
            known = ExportedStorage.read(self.lower_layers, self.plan.buckets, lustre is not None)
            if known.lustre and self.builds("cluster"):
                admit(ChildContext(self.parent, child(self.name, "storage"), self.tags), known.lustre.group_id, client_group_ids)
            return known
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
            "delete_data": self.draining,
        }
        return AwsStorage(child(self.name, "storage"), args, self.below)

    def identity(
        self,
        plan: IdentityPlan,
        storage: Storage,
        cluster: Cluster | None = None,
        secrets: Mapping[str, Input[str]] = MappingProxyType({}),
    ) -> AwsIdentity:
        """Of the pods of a cluster, or of a machine that may read `secrets`."""
        args: AwsIdentityArgs = {
            "identity": plan,
            "region": self.region,
            "account": self.account,
            "kms_key_arn": self.key.key_arn,
            "bucket_arns": {key: place.arn for key, place in storage.buckets.items()},
            "prefixes": {key: place.prefix for key, place in storage.buckets.items()},
            "secrets": secrets,
            "secrets_path": f"/{self.name}",
            "tags": self.tags,
            "boundary_arn": self.boundary_arn,
        }
        if cluster:
            args |= {"cluster_name": cluster.cluster_name, "cluster_arn": cluster.cluster_arn}
        return AwsIdentity(child(self.name, "identity", plan.key), args, self.below)

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
                "boundary_arn": self.boundary_arn,
            },
            self.below,
        )

    def _machine_network(self) -> dict[str, Input[Any]]:
        """Where the accelerators' machines are, for whoever makes them from inside the cluster."""
        zones = [zone for plan in self.plan.pools if plan.role == "accelerator" for zone in plan.zones]
        known: dict[str, Input[Any]] = {"network.machine_subnet_id": self.network.machine_subnets(zones)[0]} if zones else {}
        return known | ({"network.fabric_group_id": self.network.fabric_group_id} if self.network.fabric_group_id else {})

    def parts(
        self,
        storage: Storage,
        cluster: Cluster | None = None,
        roles: Mapping[str, Input[str]] = MappingProxyType({}),
        karpenter: Karpenter | None = None,
    ) -> dict[str, Any]:
        """What the stack exports for the layers above it."""
        own = list(self.plan.layers)
        layers = self.lower.value("layers").apply(lambda there: [*there, *own]) if self.lower else own
        return parts(layers, self.key, self.network, storage, cluster, roles, karpenter)

    def refs(
        self,
        storage: Storage,
        cluster: Cluster,
        roles: Mapping[str, Input[str]],
        secrets: Mapping[str, Input[str]],
        karpenter: Karpenter | None = None,
    ) -> dict[str, Input[Any]]:
        """Every name a plan may refer to (rackwright.stackplan), and `secret.<name>`."""
        known: dict[str, Input[Any]] = {
            "cluster.name": cluster.cluster_name,
            "cluster.endpoint": cluster.endpoint,
            "cluster.oidc_issuer": cluster.oidc_issuer,
            "cluster.security_group_id": cluster.security_group_id,
            "network.id": self.network.vpc_id,
            "network.subnet_ids": self.network.subnet_ids,
            "key.id": self.key.key_id,
            "key.arn": self.key.key_arn,
            "place.account": self.account,
            "place.project": self.account,
            "place.region": self.region,
        }
        for key, place in storage.buckets.items():
            known |= {f"bucket.{key}.name": place.name, f"bucket.{key}.url": place.url}
        if storage.lustre:
            lustre = storage.lustre
            known |= {"lustre.id": lustre.id, "lustre.dns_name": lustre.dns_name, "lustre.mount_name": lustre.mount_name}
        if karpenter:
            known |= {"karpenter.queue_name": karpenter.queue_name, "karpenter.node_role_name": karpenter.node_role_name}
        known |= self._machine_network() | {f"identity.{key}.principal": arn for key, arn in roles.items()}
        return known | {f"secret.{key}": Output.secret(value) for key, value in secrets.items()}
