"""What every blueprint on EKS is made of: cluster, pools, add-ons, identities of pods, and the layer inside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pulumi
from pulumi import Input, Output, Resource, ResourceOptions
from pulumi_kubernetes import Provider
from rackwright.stackplan import AddonPlan, PoolPlan, StackPlan

from rackwright_pulumi.aws.addons import AwsAddons
from rackwright_pulumi.aws.autoscaling import AwsAutoscaler
from rackwright_pulumi.aws.cluster.cluster import AwsCluster
from rackwright_pulumi.aws.existing_cluster import AwsExistingCluster
from rackwright_pulumi.aws.exports import Cluster, ExportedCluster, ExportedKarpenter, Karpenter, Storage
from rackwright_pulumi.aws.karpenter import AwsKarpenter
from rackwright_pulumi.aws.pool.pool import AwsPool
from rackwright_pulumi.blueprints.aws import AwsStack
from rackwright_pulumi.kubernetes.workloads import KubernetesLayer
from rackwright_pulumi.naming import child
from rackwright_pulumi.refs import Known
from rackwright_pulumi.unsupported import Unsupported


@dataclass(frozen=True)
class EksParts:
    """The parts of one stack on EKS, each a component below the blueprint; those of other stacks as far as they are known."""

    storage: Storage
    cluster: Cluster | None
    pools: Mapping[str, AwsPool]
    layer: KubernetesLayer | None
    kubeconfig_command: Output[str] | None
    parts: Mapping[str, Any]

    @property
    def outputs(self) -> dict[str, Any]:
        """What every blueprint on EKS registers. Without the cluster's layer nothing is known of a cluster."""
        return {
            "clusterName": self.cluster.cluster_name if self.cluster else None,
            "endpoint": self.cluster.endpoint if self.cluster else None,
            "kubeconfig": self.cluster.kubeconfig if self.cluster else None,
            "kubeconfigCommand": self.kubeconfig_command,
            "bucketNames": self.storage.bucket_names,
            "lustre": self.storage.lustre.outputs if self.storage.lustre else None,
            "parts": self.parts,
        }


def eks_parts(
    parent: pulumi.ComponentResource,
    name: str,
    plan: StackPlan,
    teardown: bool,
    secrets: Mapping[str, Input[str]],
    admin_arns: Sequence[Input[str]],
) -> EksParts:
    """Builds all parts of `plan` that are this stack's below `parent`. Raises Unsupported for what EKS cannot be given here.

    Order by data and by four waits the cloud needs: machines after the pod network, add-ons with pods after system machines, everything
    inside after add-ons and access; so is the reverse on destroy.
    """
    stack = AwsStack(parent, name, plan, teardown)
    if not stack.builds("cluster", "operators", "workloads"):
        storage = stack.storage()
        return EksParts(storage, None, {}, None, None, stack.parts(storage))
    cluster = _cluster(stack, admin_arns)
    storage = stack.storage([cluster.security_group_id])
    karpenter, news = _karpenter(stack, cluster)
    pools, ready, roles = _machines(stack, cluster, storage)
    layer = _inside(stack, cluster, [*cluster.admins, *news, *ready], stack.refs(storage, cluster, roles, secrets, karpenter))
    assuming = f" --role-arn {plan.place.role_arn}" if plan.place.role_arn else ""
    command = Output.format("aws eks update-kubeconfig --name {0} --region {1}{2}", cluster.cluster_name, stack.region, assuming)
    return EksParts(storage, cluster, pools, layer, command, stack.parts(storage, cluster, roles, karpenter))


def _machines(
    stack: AwsStack, cluster: Cluster, storage: Storage
) -> tuple[Mapping[str, AwsPool], Sequence[Resource], Mapping[str, Input[str]]]:
    """(node groups by pool, what must be ready before anything is put inside, roles of the pods), of this stack or of the one below.

    Pools of Karpenter's are objects inside the cluster.
    """
    plan = stack.plan
    groups = [want for want in plan.pools if want.provisioner == "managed"]
    if not stack.builds("cluster"):
        return {}, (), {want.key: stack.lower_layers.value("identities", want.key) for want in plan.identities}
    base = _addons(stack, cluster, "base", [want for want in plan.addons if not want.needs_nodes], ())
    before = [*cluster.node_rights, *base.addons]
    pools = {want.name: _pool(stack, cluster, want, before) for want in groups}
    system = [pools[want.name].node_group for want in groups if want.role == "system"]
    late = _addons(stack, cluster, "late", [want for want in plan.addons if want.needs_nodes], system)
    roles = {want.key: stack.identity(want, storage, cluster).role_arn for want in plan.identities}
    stack.guard({want.name: pools[want.name].scaling_group_name for want in groups if want.role == "accelerator"})
    return pools, [*system, *late.addons, *_autoscaler(stack, cluster, pools)], roles


def _karpenter(stack: AwsStack, cluster: Cluster) -> tuple[Karpenter | None, Sequence[Resource]]:
    """What Karpenter needs outside the cluster, and what of it must be ready before Karpenter and gone after its machines."""
    if stack.plan.karpenter is None:
        return None, ()
    if not stack.builds("cluster"):
        return ExportedKarpenter.read(stack.lower_layers), ()
    made = AwsKarpenter(
        child(stack.name, "karpenter"),
        {
            "karpenter": stack.plan.karpenter,
            "cluster_name": cluster.cluster_name,
            "cluster_arn": cluster.cluster_arn,
            "account": stack.account,
            "region": stack.region,
            "kms_key_arn": stack.key.key_arn,
            "tags": stack.tags,
            "boundary_arn": stack.boundary_arn,
        },
        stack.below,
    )
    return made, made.ready


def _autoscaler(stack: AwsStack, cluster: Cluster, pools: Mapping[str, AwsPool]) -> Sequence[Resource]:
    """Of a cluster that exists its own autoscaler moves the pool: EKS tags the group, and would refuse its pods a second identity."""
    moved = tuple(plan for plan in stack.plan.pools if plan.autoscaled and plan.name in pools)
    if not moved or isinstance(cluster, AwsExistingCluster):
        return ()
    made = AwsAutoscaler(
        child(stack.name, "autoscaler"),
        {
            "pools": moved,
            "group_names": {plan.name: pools[plan.name].scaling_group_name for plan in moved},
            "cluster_name": cluster.cluster_name,
            "cluster_arn": cluster.cluster_arn,
            "account": stack.account,
            "region": stack.region,
            "tags": stack.tags,
            "boundary_arn": stack.boundary_arn,
        },
        stack.below,
    )
    return made.ready


def _inside(stack: AwsStack, cluster: Cluster, after: Sequence[Resource], refs: Known) -> KubernetesLayer | None:
    """What this stack puts into the cluster. Names in `after` that another stack has put there are not waited for here."""
    if not stack.builds("operators", "workloads"):
        return None
    plan = stack.plan
    operators = {want.namespace for want in plan.releases}
    releases = plan.releases if stack.builds("operators") else ()
    manifests = plan.manifests if stack.builds("workloads") else ()
    here = {*(want.name for want in releases), *(want.key for want in manifests)}
    return KubernetesLayer(
        child(stack.name, "layer"),
        {
            "namespaces": tuple(row for row in plan.namespaces if stack.builds("operators" if row[0] in operators else "workloads")),
            "releases": releases,
            "manifests": tuple(replace(want, after=tuple(key for key in want.after if key in here)) for want in manifests),
            "refs": refs,
            "protect": not stack.teardown,
            "draining": stack.draining,
        },
        ResourceOptions(parent=stack.parent, provider=_provider(stack, cluster, after)),
    )


def _cluster(stack: AwsStack, admin_arns: Sequence[Input[str]]) -> Cluster:
    """Made here, found by name, or of the stack below."""
    plan, place = stack.plan.cluster, stack.plan.place
    if plan is None:
        raise Unsupported(f"{stack.plan.kind} without a cluster", "cluster", "a plan with a cluster")
    if not stack.builds("cluster"):
        return ExportedCluster.read(stack.lower_layers, place)
    if plan.existing:
        return AwsExistingCluster(
            child(stack.name, "cluster"),
            {
                "cluster": plan,
                "region": stack.region,
                "tags": stack.tags,
                "boundary_arn": stack.boundary_arn,
                "builder_arn": place.role_arn,
            },
            stack.below,
        )
    return AwsCluster(
        child(stack.name, "cluster"),
        {
            "cluster": plan,
            "region": stack.region,
            "subnet_ids": stack.network.control_subnets(),
            "kms_key_arn": stack.key.key_arn,
            "tags": stack.tags,
            "teardown": stack.teardown,
            "admin_arns": admin_arns,
            "boundary_arn": stack.boundary_arn,
            "builder_arn": place.role_arn,
        },
        stack.below,
    )


def _pool(stack: AwsStack, cluster: Cluster, plan: PoolPlan, before: Sequence[Resource]) -> AwsPool:
    network = stack.network
    subnets = network.control_subnets(plan.zones) if plan.role == "system" else network.machine_subnets(plan.zones)
    return AwsPool(
        child(stack.name, "pool", plan.name),
        {
            "pool": plan,
            "cluster_name": cluster.cluster_name,
            "cluster_version": cluster.version,
            "cluster_group_id": cluster.security_group_id,
            "fabric_group_id": network.fabric_group_id,
            "node_role_arn": cluster.node_role_arn,
            "subnet_ids": subnets,
            "kms_key_arn": stack.key.key_arn,
            "tags": stack.tags,
            "release_version": dict(stack.plan.pins.images).get(plan.image) if cluster.version else None,
            "cluster_endpoint": cluster.endpoint,
            "cluster_certificate": cluster.certificate_authority,
            "service_cidr": cluster.service_cidr,
        },
        ResourceOptions(parent=stack.parent, depends_on=list(before)),
    )


def _addons(stack: AwsStack, cluster: Cluster, key: str, wants: Sequence[AddonPlan], after: Sequence[Resource]) -> AwsAddons:
    return AwsAddons(
        child(stack.name, "addons", key),
        {
            "addons": tuple(wants),
            "cluster_name": cluster.cluster_name,
            "cluster_arn": cluster.cluster_arn,
            "account": stack.account,
            "kms_key_arn": stack.key.key_arn,
            "tags": stack.tags,
            "boundary_arn": stack.boundary_arn,
        },
        ResourceOptions(parent=stack.parent, depends_on=list(after)),
    )


def _provider(stack: AwsStack, cluster: Cluster, after: Sequence[Resource]) -> Provider:
    """The gate: whatever is inside the cluster comes after access, machines and add-ons, and goes before them."""
    return Provider(
        child(stack.name, "k8s"),
        kubeconfig=cluster.kubeconfig,
        cluster_identifier=cluster.cluster_id,
        enable_server_side_apply=True,
        opts=ResourceOptions(parent=stack.parent, depends_on=list(after)),
    )
