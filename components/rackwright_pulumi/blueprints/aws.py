"""Parts of every blueprint on AWS: key, network, storage, identities, cost alerts."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pulumi
from pulumi import Input, InvokeOutputOptions, Output, ResourceOptions
from rackwright.stackplan import IdentityPlan, StackPlan, upstream_layers

from rackwright_pulumi.aws import CLOUD
from rackwright_pulumi.aws.cost_alerts import AwsGuard
from rackwright_pulumi.aws.exports import (
    Cluster,
    ExportedKarpenter,
    ExportedKey,
    ExportedNetwork,
    ExportedStorage,
    Key,
    Network,
    Storage,
    exported_parts,
)
from rackwright_pulumi.aws.identity.identity import AwsIdentity, AwsIdentityArgs
from rackwright_pulumi.aws.inputs import AwsInputs
from rackwright_pulumi.aws.key import AwsKey, AwsKeyArgs
from rackwright_pulumi.aws.network.network import AwsNetwork, AwsNetworkArgs
from rackwright_pulumi.aws.storage.lustre import allow_clients
from rackwright_pulumi.aws.storage.storage import AwsStorage, AwsStorageArgs
from rackwright_pulumi.aws.tags import ChildContext, stack_tags
from rackwright_pulumi.naming import child
from rackwright_pulumi.refs import RefValue
from rackwright_pulumi.unsupported import Unsupported
from rackwright_pulumi.upstream import Upstream


class AwsStack:
    """Builds the plan's layers of this stack as child components of `parent`; reads other layers from the upstream stack.

    Raises Unsupported for another cloud.
    """

    def __init__(self, parent: pulumi.ComponentResource, name: str, plan: StackPlan, teardown: bool, inputs: AwsInputs):
        if plan.place.cloud != CLOUD:
            raise Unsupported(f"{plan.kind} on {plan.place.cloud}", "place.cloud", CLOUD)
        self.name, self.plan, self.parent = name, plan, parent
        self.teardown = teardown or not plan.protected
        self.draining = teardown
        self.region, self.child_opts, self.inputs = plan.place.region, ResourceOptions(parent=parent), inputs
        self.tags: Mapping[str, Input[str]] = {**inputs.get("tags", {}), **stack_tags(plan)}
        self._check_inputs()
        self.boundary_arn = plan.place.boundary_arn or None
        self.account = self._account()
        self.upstream = Upstream(parent, name, plan.below, upstream_layers(plan)) if plan.below else None
        self.key = self._key()
        self.network = self._network()

    def builds(self, *layers: str) -> bool:
        """Whether this stack builds any of the layers."""
        return bool({*layers} & {*self.plan.layers})

    @property
    def required_upstream(self) -> Upstream:
        """The upstream stack. Raises Unsupported without one."""
        if self.upstream is None:
            raise Unsupported(
                f"layers {', '.join(self.plan.layers)} without an upstream stack",
                "below",
                "set rackwright:below to the stack with the earlier layers",
            )
        return self.upstream

    def _account(self) -> Output[str]:
        """The plan's account, or the account of the credentials of the parent's provider."""
        if self.plan.place.account:
            return Output.from_input(self.plan.place.account)
        from pulumi_aws.get_caller_identity import get_caller_identity_output

        return get_caller_identity_output(opts=InvokeOutputOptions(parent=self.parent)).account_id

    def _check_inputs(self) -> None:
        """Raises Unsupported for a part of a network, and for a network or key of a stack that reads them from its upstream stack."""
        inputs = self.inputs
        given = sorted(inputs.keys() & {"vpc_id", "subnet_ids", "kms_key_arn"})
        if given and not self.builds("base"):
            raise Unsupported(f"{', '.join(given)} without the base layer", "layers", "pass them to the stack with the base layer")
        if ("vpc_id" in inputs) != ("subnet_ids" in inputs):
            raise Unsupported(f"{' or '.join(given)} alone", "network", "pass both vpc_id and subnet_ids")
        expected, found = len(self.plan.network.subnets), len(inputs.get("subnet_ids", ()))
        if "subnet_ids" in inputs and expected and found != expected:
            names = ", ".join(subnet.name for subnet in self.plan.network.subnets)
            raise Unsupported(f"{found} subnet_ids", "network.subnets", f"pass {expected}, in the order {names}")

    def _key(self) -> Key:
        if not self.builds("base"):
            return ExportedKey.from_upstream(self.required_upstream)
        args: AwsKeyArgs = {
            "key": self.plan.key,
            "account": self.account,
            "region": self.region,
            "tags": self.tags,
            "teardown": self.teardown,
        }
        if "kms_key_arn" in self.inputs:
            args["key_arn"] = self.inputs["kms_key_arn"]
        return AwsKey(child(self.name, "key"), args, self.child_opts)

    def _network(self) -> Network:
        if not self.builds("base"):
            return ExportedNetwork.from_upstream(self.required_upstream, self.plan.network)
        args: AwsNetworkArgs = {
            "network": self.plan.network,
            "region": self.region,
            "account": self.account,
            "kms_key_arn": self.key.key_arn,
            "tags": self.tags,
            "teardown": self.teardown,
            "boundary_arn": self.boundary_arn,
        }
        if "vpc_id" in self.inputs and "subnet_ids" in self.inputs:
            args["vpc_id"], args["subnet_ids"] = self.inputs["vpc_id"], self.inputs["subnet_ids"]
        return AwsNetwork(child(self.name, "network"), args, self.child_opts)

    def storage(self, client_group_ids: Sequence[Input[str]] = ()) -> Storage:
        """Buckets and the plan's file system. An upstream file system gets rules for the clients of this stack."""
        lustre = self.plan.lustre
        if not self.builds("base"):
            exported = ExportedStorage.from_upstream(self.required_upstream, self.plan.buckets, lustre is not None)
            if exported.lustre and self.builds("cluster"):
                allow_clients(ChildContext(self.parent, child(self.name, "storage"), self.tags), exported.lustre.group_id, client_group_ids)
            return exported
        args: AwsStorageArgs = {
            "buckets": self.plan.buckets,
            "lustre": lustre,
            "network_cidr": "" if self.plan.network.existing_id else self.plan.network.cidr,  # of an existing network it may be unknown
            "vpc_id": self.network.vpc_id,
            "subnet_ids": self.network.machine_subnets([lustre.zone]) if lustre else [],
            "fabric_group_id": self.network.fabric_group_id,
            "client_group_ids": client_group_ids,
            "kms_key_arn": self.key.key_arn,
            "tags": self.tags,
            "teardown": self.teardown,
            "delete_data": self.draining,
        }
        return AwsStorage(child(self.name, "storage"), args, self.child_opts)

    def identity(
        self,
        plan: IdentityPlan,
        storage: Storage,
        cluster: Cluster | None = None,
        secrets: Mapping[str, Input[str]] = MappingProxyType({}),
    ) -> AwsIdentity:
        """Identity of the pods of a cluster, or of a machine that may read `secrets`."""
        args: AwsIdentityArgs = {
            "identity": plan,
            "region": self.region,
            "account": self.account,
            "kms_key_arn": self.key.key_arn,
            "bucket_arns": {key: bucket.arn for key, bucket in storage.buckets.items()},
            "prefixes": {key: bucket.prefix for key, bucket in storage.buckets.items()},
            "secrets": secrets,
            "secrets_path": f"/{self.name}",
            "tags": self.tags,
            "boundary_arn": self.boundary_arn,
        }
        if cluster:
            args |= {"cluster_name": cluster.cluster_name, "cluster_arn": cluster.cluster_arn}
        return AwsIdentity(child(self.name, "identity", plan.key), args, self.child_opts)

    def cost_alerts(self, groups: Mapping[str, Input[str]] = MappingProxyType({})) -> AwsGuard | None:
        """The plan's cost alerts. groups: Auto Scaling group by pool, for idle alarms."""
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
            self.child_opts,
        )

    def parts(
        self,
        storage: Storage,
        cluster: Cluster | None = None,
        roles: Mapping[str, Input[str]] = MappingProxyType({}),
        karpenter: ExportedKarpenter | None = None,
    ) -> dict[str, Any]:
        """Values that the stack exports for downstream stacks."""
        own = list(self.plan.layers)
        layers = self.upstream.value("layers").apply(lambda layers: [*layers, *own]) if self.upstream else own
        return exported_parts(layers, self.key, self.network, storage, cluster, roles, karpenter)

    def refs(
        self,
        storage: Storage,
        cluster: Cluster,
        roles: Mapping[str, Input[str]],
        secrets: Mapping[str, Input[str]],
        karpenter: ExportedKarpenter | None = None,
    ) -> dict[str, RefValue]:
        """Values of all Refs of a plan (rackwright.stackplan), and of `secret.<name>`."""
        values: dict[str, RefValue] = {
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
        for key, bucket in storage.buckets.items():
            values |= {f"bucket.{key}.name": bucket.name, f"bucket.{key}.url": bucket.url}
        if storage.lustre:
            lustre = storage.lustre
            values |= {"lustre.id": lustre.id, "lustre.dns_name": lustre.dns_name, "lustre.mount_name": lustre.mount_name}
        if karpenter:
            values |= {"karpenter.queue_name": karpenter.queue_name, "karpenter.node_role_name": karpenter.node_role_name}
        # Network of machines and load balancers that are created from within the cluster.
        for number, zone in enumerate(self._zones("accelerator"), 1):
            name = f"network.machine_subnet_id.{number}" if number > 1 else "network.machine_subnet_id"
            values[name] = self.network.machine_subnets([zone])[0]
        for number, zone in enumerate(self._zones("system"), 1):
            name = f"network.control_subnet_id.{number}" if number > 1 else "network.control_subnet_id"
            values[name] = self.network.control_subnets([zone])[0]
        values |= {"network.fabric_group_id": self.network.fabric_group_id} if self.network.fabric_group_id else {}
        values |= {f"identity.{key}.principal": arn for key, arn in roles.items()}
        return values | {f"secret.{key}": Output.secret(value) for key, value in secrets.items()}

    def _zones(self, role: str) -> list[str]:
        """Zones of the pools with a role, once each."""
        return list(dict.fromkeys(zone for plan in self.plan.pools if plan.role == role for zone in plan.zones))
