"""What every blueprint on EKS is made of: cluster, pools, add-ons, identities of pods, and the layer inside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import Input, Output, Resource, ResourceOptions
from pulumi_kubernetes import Provider
from rackwright.compile.wants import AddonWant, PoolWant, StackPlan

from rackwright_pulumi.aws.addons import AwsAddons
from rackwright_pulumi.aws.cluster import AwsCluster
from rackwright_pulumi.aws.pool import AwsPool
from rackwright_pulumi.aws.storage import AwsStorage
from rackwright_pulumi.blueprints.aws import AwsStack
from rackwright_pulumi.kubernetes.workloads import KubernetesLayer
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported


@dataclass(frozen=True)
class EksParts:
    """The parts of one stack on EKS, each a component below the blueprint."""

    storage: AwsStorage
    cluster: AwsCluster
    pools: Mapping[str, AwsPool]
    layer: KubernetesLayer
    kubeconfig_command: Output[str]

    @property
    def outputs(self) -> dict[str, Any]:
        """What every blueprint on EKS registers."""
        return {
            "clusterName": self.cluster.cluster_name,
            "endpoint": self.cluster.endpoint,
            "kubeconfig": self.cluster.kubeconfig,
            "kubeconfigCommand": self.kubeconfig_command,
            "bucketNames": self.storage.bucket_names,
            "lustre": self.storage.lustre.outputs if self.storage.lustre else None,
        }


def eks_parts(
    parent: pulumi.Resource,
    name: str,
    plan: StackPlan,
    teardown: bool,
    secrets: Mapping[str, Input[str]],
    admin_arns: Sequence[Input[str]],
) -> EksParts:
    """Builds all parts of `plan` below `parent`. Raises Unsupported for what EKS cannot be given here.

    Order by data and by four waits the cloud needs: machines after the pod network, add-ons with pods after system machines, everything
    inside after add-ons and access; so is the reverse on destroy.
    """
    stack = AwsStack(parent, name, plan, teardown)
    cluster = _cluster(stack, admin_arns)
    storage = stack.storage([cluster.security_group_id])
    base = _addons(stack, cluster, "base", [want for want in plan.addons if not want.needs_nodes], ())
    before = [*cluster.node_rights, *base.addons]
    pools = {want.name: _pool(stack, cluster, want, before) for want in plan.pools}
    system = [pools[want.name].node_group for want in plan.pools if want.role == "system"]
    late = _addons(stack, cluster, "late", [want for want in plan.addons if want.needs_nodes], system)
    roles = {want.key: stack.identity(want, storage, cluster).role_arn for want in plan.identities}
    layer = KubernetesLayer(
        child(name, "layer"),
        {
            "namespaces": plan.namespaces,
            "releases": plan.releases,
            "manifests": plan.manifests,
            "refs": stack.refs(storage, cluster, roles, secrets),
            "protect": not teardown,
        },
        ResourceOptions(parent=parent, provider=_provider(stack, cluster, [*cluster.admins, *system, *late.addons])),
    )
    stack.guard({want.name: pools[want.name].scaling_group_name for want in plan.pools if want.role == "accelerator"})
    command = Output.format("aws eks update-kubeconfig --name {0} --region {1}", cluster.cluster_name, stack.region)
    return EksParts(storage, cluster, pools, layer, command)


def _cluster(stack: AwsStack, admin_arns: Sequence[Input[str]]) -> AwsCluster:
    if stack.plan.cluster is None:
        raise Unsupported(f"{stack.plan.kind} without a cluster", "cluster", "a plan with a cluster")
    return AwsCluster(
        child(stack.name, "cluster"),
        {
            "cluster": stack.plan.cluster,
            "region": stack.region,
            "subnet_ids": stack.network.control_subnets(),
            "kms_key_arn": stack.key.key_arn,
            "tags": stack.tags,
            "teardown": stack.teardown,
            "admin_arns": admin_arns,
        },
        stack.below,
    )


def _pool(stack: AwsStack, cluster: AwsCluster, want: PoolWant, before: Sequence[Resource]) -> AwsPool:
    network = stack.network
    subnets = network.control_subnets(want.zones) if want.role == "system" else network.machine_subnets(want.zones)
    return AwsPool(
        child(stack.name, "pool", want.name),
        {
            "pool": want,
            "cluster_name": cluster.cluster_name,
            "cluster_version": cluster.version,
            "cluster_group_id": cluster.security_group_id,
            "fabric_group_id": network.fabric_group_id,
            "node_role_arn": cluster.node_role_arn,
            "subnet_ids": subnets,
            "kms_key_arn": stack.key.key_arn,
            "tags": stack.tags,
            "release_version": dict(stack.plan.pins.images).get(want.image),
        },
        ResourceOptions(parent=stack.parent, depends_on=list(before)),
    )


def _addons(stack: AwsStack, cluster: AwsCluster, key: str, wants: Sequence[AddonWant], after: Sequence[Resource]) -> AwsAddons:
    return AwsAddons(
        child(stack.name, "addons", key),
        {
            "addons": tuple(wants),
            "cluster_name": cluster.cluster_name,
            "cluster_arn": cluster.cluster_arn,
            "account": stack.account,
            "kms_key_arn": stack.key.key_arn,
            "tags": stack.tags,
        },
        ResourceOptions(parent=stack.parent, depends_on=list(after)),
    )


def _provider(stack: AwsStack, cluster: AwsCluster, after: Sequence[Resource]) -> Provider:
    """The gate: whatever is inside the cluster comes after access, machines and add-ons, and goes before them."""
    return Provider(
        child(stack.name, "k8s"),
        kubeconfig=cluster.kubeconfig,
        cluster_identifier=cluster.cluster_id,
        enable_server_side_apply=True,
        opts=ResourceOptions(parent=stack.parent, depends_on=list(after)),
    )
