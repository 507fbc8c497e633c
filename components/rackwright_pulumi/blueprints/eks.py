"""Parts of every blueprint on EKS: cluster, pools, add-ons, pod identities, and Kubernetes objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NotRequired

import pulumi
from pulumi import Input, Output, Resource, ResourceOptions
from pulumi_kubernetes import Provider
from rackwright.stackplan import AddonPlan, PoolPlan, StackPlan
from rackwright.stackplan.operators import CLUSTER_AUTOSCALER

from rackwright_pulumi.aws.addons import AwsAddons
from rackwright_pulumi.aws.cluster.cluster import AwsCluster
from rackwright_pulumi.aws.existing_cluster import AwsExistingCluster
from rackwright_pulumi.aws.exports import Cluster, ExportedCluster, ExportedKarpenter, Storage
from rackwright_pulumi.aws.inputs import AwsInputs
from rackwright_pulumi.aws.pool.pool import AwsPool
from rackwright_pulumi.blueprints.aws import AwsStack
from rackwright_pulumi.kubernetes.workloads import KubernetesLayer
from rackwright_pulumi.naming import child
from rackwright_pulumi.refs import RefValues
from rackwright_pulumi.unsupported import Unsupported


@dataclass(frozen=True)
class EksParts:
    """Components of one stack on EKS, and exported values of upstream stacks."""

    storage: Storage
    cluster: Cluster | None
    pools: Mapping[str, AwsPool]
    layer: KubernetesLayer | None
    kubeconfig_command: Output[str] | None
    parts: Mapping[str, Any]

    @property
    def outputs(self) -> dict[str, Any]:
        """Outputs of every blueprint on EKS. Cluster outputs are None without a cluster layer."""
        return {
            "clusterName": self.cluster.cluster_name if self.cluster else None,
            "endpoint": self.cluster.endpoint if self.cluster else None,
            "kubeconfig": self.cluster.kubeconfig if self.cluster else None,
            "kubeconfigCommand": self.kubeconfig_command,
            "bucketNames": self.storage.bucket_names,
            "lustre": self.storage.lustre.outputs if self.storage.lustre else None,
            "parts": self.parts,
        }


class EksInputs(AwsInputs):
    """Inputs of every blueprint on EKS, as its arguments describe them."""

    teardown: NotRequired[bool]
    secrets: NotRequired[Mapping[str, Input[str]]]
    admin_arns: NotRequired[Sequence[Input[str]]]


def eks_parts(parent: pulumi.ComponentResource, name: str, plan: StackPlan, args: EksInputs) -> EksParts:
    """Build the plan's parts of this stack as children of `parent`. Raises Unsupported for parts that EKS does not support.

    Explicit dependencies: machines on the pod network, add-ons with Deployments on system machines, Kubernetes objects on add-ons and on
    access entries.
    """
    stack = AwsStack(parent, name, plan, args.get("teardown", False), args)
    if not stack.builds("cluster", "operators", "workloads"):
        storage = stack.storage()
        return EksParts(storage, None, {}, None, None, stack.parts(storage))
    cluster = _cluster(stack, args.get("admin_arns", ()))
    storage = stack.storage([cluster.security_group_id])
    karpenter, karpenter_ready = _karpenter(stack, cluster)
    pools, ready, roles = _machines(stack, cluster, storage)
    refs = stack.refs(storage, cluster, roles, args.get("secrets", {}), karpenter)
    layer = _kubernetes_layer(stack, cluster, [*cluster.admins, *karpenter_ready, *ready], refs)
    role = f" --role-arn {plan.place.role_arn}" if plan.place.role_arn else ""
    command = Output.format("aws eks update-kubeconfig --name {0} --region {1}{2}", cluster.cluster_name, stack.region, role)
    return EksParts(storage, cluster, pools, layer, command, stack.parts(storage, cluster, roles, karpenter))


def _machines(
    stack: AwsStack, cluster: Cluster, storage: Storage
) -> tuple[Mapping[str, AwsPool], Sequence[Resource], Mapping[str, Input[str]]]:
    """(node groups by pool, dependencies of Kubernetes objects, pod roles), of this stack or its upstream stack.

    Karpenter's pools are Kubernetes objects. Pods get credentials only if the association of their account exists before them
    (https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html).
    """
    plan = stack.plan
    managed = [pool for pool in plan.pools if pool.provisioner == "managed"]
    if not stack.builds("cluster"):
        return {}, (), {each.key: stack.required_upstream.value("identities", each.key) for each in plan.identities}
    base = _addons(stack, cluster, "base", [addon for addon in plan.addons if not addon.needs_nodes], ())
    before = [*cluster.node_rights, *base.addons]
    pools = {pool.name: _pool(stack, cluster, pool, before) for pool in managed}
    system = [pools[pool.name].node_group for pool in managed if pool.role == "system"]
    late = _addons(stack, cluster, "late", [addon for addon in plan.addons if addon.needs_nodes], system)
    identities = {each.key: stack.identity(each, storage, cluster) for each in plan.identities}
    roles = {key: identity.role_arn for key, identity in identities.items()}
    stack.cost_alerts({pool.name: pools[pool.name].scaling_group_name for pool in managed if pool.role == "accelerator"})
    ready = (*identities.values(), *_autoscaler(stack, cluster, pools), *_pod_logs(stack, cluster))
    return pools, [*(late.addons or system), *ready], roles


def _karpenter(stack: AwsStack, cluster: Cluster) -> tuple[ExportedKarpenter | None, Sequence[Resource]]:
    """AWS resources of Karpenter, and those that Kubernetes objects depend on."""
    if stack.plan.karpenter is None:
        return None, ()
    if not stack.builds("cluster"):
        return ExportedKarpenter.from_upstream(stack.required_upstream), ()
    from rackwright_pulumi.aws.karpenter import AwsKarpenter  # most stacks do not need its part of the SDK

    karpenter = AwsKarpenter(
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
        stack.child_opts,
    )
    return ExportedKarpenter(karpenter.queue_name, karpenter.node_role_name), karpenter.ready


def _autoscaler(stack: AwsStack, cluster: Cluster, pools: Mapping[str, AwsPool]) -> Sequence[Resource]:
    """The autoscaler's role and tags. An existing cluster uses its own autoscaler, because EKS rejects a second pod identity."""
    autoscaled = tuple(plan for plan in stack.plan.pools if plan.autoscaled and plan.name in pools)
    installed = any(release.name == CLUSTER_AUTOSCALER for release in stack.plan.releases)
    if not (autoscaled or installed) or isinstance(cluster, AwsExistingCluster):
        return ()
    from rackwright_pulumi.aws.autoscaling import AwsAutoscaler  # most stacks do not need its part of the SDK

    autoscaler = AwsAutoscaler(
        child(stack.name, "autoscaler"),
        {
            "pools": autoscaled,
            "group_names": {plan.name: pools[plan.name].scaling_group_name for plan in autoscaled},
            "cluster_name": cluster.cluster_name,
            "cluster_arn": cluster.cluster_arn,
            "account": stack.account,
            "region": stack.region,
            "tags": stack.tags,
            "boundary_arn": stack.boundary_arn,
        },
        stack.child_opts,
    )
    return autoscaler.ready


def _pod_logs(stack: AwsStack, cluster: Cluster) -> Sequence[Resource]:
    """The log group of pods and the role that writes to it, where the plan sends pod logs to CloudWatch."""
    if not (stack.plan.cluster and stack.plan.cluster.pod_logs):
        return ()
    from rackwright_pulumi.aws.pod_logs import AwsPodLogs  # most stacks do not need it

    logs = AwsPodLogs(
        child(stack.name, "pod-logs"),
        {
            "cluster": stack.plan.cluster,
            "cluster_name": cluster.cluster_name,
            "cluster_arn": cluster.cluster_arn,
            "account": stack.account,
            "kms_key_arn": stack.key.key_arn,
            "tags": stack.tags,
            "boundary_arn": stack.boundary_arn,
        },
        stack.child_opts,
    )
    return logs.ready


def _kubernetes_layer(stack: AwsStack, cluster: Cluster, after: Sequence[Resource], refs: RefValues) -> KubernetesLayer | None:
    """Kubernetes objects of this stack. Names in `after` of objects of other stacks are removed.

    Through the layer, their parent, objects depend on access entries, machines and add-ons.
    """
    if not stack.builds("operators", "workloads"):
        return None
    plan = stack.plan
    operators = {release.namespace for release in plan.releases}
    releases = plan.releases if stack.builds("operators") else ()
    manifests = tuple(manifest for manifest in plan.manifests if stack.builds(manifest.layer))
    own = {*(release.name for release in releases), *(manifest.key for manifest in manifests)}
    provider = Provider(
        child(stack.name, "k8s"),
        kubeconfig=cluster.kubeconfig,
        cluster_identifier=cluster.cluster_id,
        enable_server_side_apply=True,
        opts=ResourceOptions(parent=stack.parent),
    )
    return KubernetesLayer(
        child(stack.name, "layer"),
        {
            "namespaces": tuple(row for row in plan.namespaces if stack.builds("operators" if row[0] in operators else "workloads")),
            "releases": releases,
            "manifests": tuple(replace(manifest, after=tuple(key for key in manifest.after if key in own)) for manifest in manifests),
            "refs": refs,
            "protect": not stack.teardown,
            "draining": stack.draining,
        },
        ResourceOptions(parent=stack.parent, provider=provider, depends_on=list(after)),
    )


def _cluster(stack: AwsStack, admin_arns: Sequence[Input[str]]) -> Cluster:
    """A new cluster, an existing one, or the upstream stack's."""
    plan, place = stack.plan.cluster, stack.plan.place
    if plan is None:
        raise Unsupported(f"{stack.plan.kind} without a cluster", "cluster", "a plan with a cluster")
    if not stack.builds("cluster"):
        return ExportedCluster.from_upstream(stack.required_upstream, place)
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
            stack.child_opts,
        )
    return AwsCluster(
        child(stack.name, "cluster"),
        {
            "cluster": plan,
            "region": stack.region,
            "account": stack.account,
            "subnet_ids": stack.network.control_subnets(),
            "kms_key_arn": stack.key.key_arn,
            "tags": stack.tags,
            "teardown": stack.teardown,
            "admin_arns": admin_arns,
            "boundary_arn": stack.boundary_arn,
            "builder_arn": place.role_arn,
        },
        stack.child_opts,
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


def _addons(stack: AwsStack, cluster: Cluster, key: str, plans: Sequence[AddonPlan], after: Sequence[Resource]) -> AwsAddons:
    return AwsAddons(
        child(stack.name, "addons", key),
        {
            "addons": tuple(plans),
            "cluster_name": cluster.cluster_name,
            "cluster_arn": cluster.cluster_arn,
            "account": stack.account,
            "kms_key_arn": stack.key.key_arn,
            "tags": stack.tags,
            "boundary_arn": stack.boundary_arn,
        },
        ResourceOptions(parent=stack.parent, depends_on=list(after)),
    )
