"""Node pool: an EKS managed node group and its launch template."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi
from pulumi import CustomTimeouts, Input, Output, ResourceOptions
from pulumi_aws.ec2.launch_template import LaunchTemplate
from pulumi_aws.eks.node_group import (
    NodeGroup,
    NodeGroupLaunchTemplateArgs,
    NodeGroupNodeRepairConfigArgs,
    NodeGroupScalingConfigArgs,
    NodeGroupTaintArgs,
    NodeGroupUpdateConfigArgs,
)
from rackwright.stackplan import PoolPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.aws.pool.labels import node_labels
from rackwright_pulumi.aws.pool.launch_template import launch_template
from rackwright_pulumi.aws.pool.node_bootstrap import ClusterJoinInfo
from rackwright_pulumi.aws.tags import ChildContext, name_or_prefix
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.unsupported import Unsupported

NAME_LIMIT = 63
CAPACITY_TYPES = {"on-demand": "ON_DEMAND", "reservation": "ON_DEMAND", "spot": "SPOT", "capacity-block": "CAPACITY_BLOCK"}
"""Capacity mode to the capacity type of a node group."""
AMI_TYPES = {
    ("al2023", "x86_64"): "AL2023_x86_64_STANDARD",
    ("al2023", "arm64"): "AL2023_ARM_64_STANDARD",
    ("al2023-nvidia", "x86_64"): "AL2023_x86_64_NVIDIA",
    ("al2023-nvidia", "arm64"): "AL2023_ARM_64_NVIDIA",
    ("al2023-neuron", "x86_64"): "AL2023_x86_64_NEURON",
    ("bottlerocket", "x86_64"): "BOTTLEROCKET_x86_64",
    ("bottlerocket", "arm64"): "BOTTLEROCKET_ARM_64",
    ("bottlerocket-nvidia", "x86_64"): "BOTTLEROCKET_x86_64_NVIDIA",
    ("bottlerocket-nvidia", "arm64"): "BOTTLEROCKET_ARM_64_NVIDIA",
    ("bottlerocket-neuron", "x86_64"): "BOTTLEROCKET_x86_64",
}
"""Image and processor: https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html. Bottlerocket's plain images have the Neuron
driver (docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami)."""
EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE", "PreferNoSchedule": "PREFER_NO_SCHEDULE"}
INITIALIZATION_FAILED = "#initerror"
"""Property path of the engine for a failed initialization (pulumi: pkg/resource/deploy/step_generator.go)."""
DEFAULT_UNAVAILABLE = 1
"""Machines that EKS replaces together by default: https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html"""


class AwsPoolArgs(TypedDict):
    """pool: PoolPlan. subnet_ids: one for accelerators. release_version: of the image; default: the newest at creation.

    cluster_version: default: the cluster's version at creation. cluster_endpoint, cluster_certificate (base64) and service_cidr: required
    for custom images.
    """

    pool: Part[PoolPlan]
    cluster_name: Input[str]
    cluster_version: NotRequired[str | None]
    cluster_group_id: Input[str]
    node_role_arn: Input[str]
    subnet_ids: Sequence[Input[str]]
    kms_key_arn: Input[str]
    tags: Mapping[str, Input[str]]
    fabric_group_id: NotRequired[Input[str] | None]
    release_version: NotRequired[str | None]
    cluster_endpoint: NotRequired[Input[str]]
    cluster_certificate: NotRequired[Input[str]]
    service_cidr: NotRequired[Input[str]]


class AwsPool(pulumi.ComponentResource):
    """Placement group, launch template and node group. The number of resources does not depend on the number of nodes.

    Its children wait for the component's `depends_on`. Raises Unsupported for capacity modes and images that EKS lacks.
    """

    node_group_name: Output[str]
    scaling_group_name: Output[str]

    def __init__(self, name: str, args: AwsPoolArgs, opts: ResourceOptions | None = None):
        check_args(AwsPoolArgs, args)
        super().__init__("rackwright:index:AwsPool", name, None, opts)
        plan, child = part(PoolPlan, args["pool"]), ChildContext(self, name, args["tags"])
        _check_supported(plan, args)
        fabric = args.get("fabric_group_id")
        groups = [*([fabric] if fabric is not None else []), args["cluster_group_id"]]
        template = launch_template(child, plan, groups, args["kms_key_arn"], _join_info(args) if plan.image_id else None)
        self.node_group = _node_group(child, plan, args, template)
        if plan.capacity.mode == "capacity-block":
            from rackwright_pulumi.aws.pool.block_hours import block_hours  # most pools do not need its part of the SDK

            block_hours(child, plan, self.node_group)
        self.node_group_name = self.node_group.node_group_name
        self.scaling_group_name = self.node_group.resources[0].autoscaling_groups[0].name
        self.register_outputs({"nodeGroupName": self.node_group_name, "scalingGroupName": self.scaling_group_name})


def _timeouts(plan: PoolPlan) -> CustomTimeouts:
    """A node group without capacity waits 40 minutes before it fails."""
    return CustomTimeouts(create="40m", update=f"{plan.update_minutes}m" if plan.update_minutes else None, delete="40m")


def _check_supported(plan: PoolPlan, args: AwsPoolArgs) -> None:
    at = f"pools[{plan.name}]"
    if plan.capacity.mode not in CAPACITY_TYPES:
        raise Unsupported(plan.capacity.mode, f"{at}.capacity.mode", ", ".join(CAPACITY_TYPES))
    if not plan.image_id and (plan.image, plan.cpu_arch) not in AMI_TYPES:
        raise Unsupported(f"{plan.image} on {plan.cpu_arch}", f"{at}.image", ", ".join(" on ".join(pair) for pair in AMI_TYPES))
    if plan.nics and not args.get("fabric_group_id"):
        raise Unsupported("a pool with EFA without fabric_group_id", f"{at}.nics", "a network with self_reachable: true")


def _join_info(args: AwsPoolArgs) -> Output[ClusterJoinInfo] | None:
    """Cluster data for user data; None if an argument is missing."""
    endpoint, certificate, cidr = args.get("cluster_endpoint"), args.get("cluster_certificate"), args.get("service_cidr")
    if endpoint is None or certificate is None or cidr is None:
        return None
    return Output.all(args["cluster_name"], endpoint, certificate, cidr).apply(lambda values: ClusterJoinInfo(*values))


def _node_group(child: ChildContext, plan: PoolPlan, args: AwsPoolArgs, template: LaunchTemplate) -> NodeGroup:
    """The instance type is in the template, because EKS accepts it in one place only. The autoscaler owns a variable desired size.

    With a custom image, EKS accepts no AMI type, release version or Kubernetes version on the node group.

    A node group without machines stays CREATE_FAILED, and a later update succeeds without effect; therefore the engine replaces it.
    Accelerator pools are deleted before their replacement is created, because the capacity exists once.
    """
    custom_image, unavailable = bool(plan.image_id), plan.max_unavailable or DEFAULT_UNAVAILABLE
    strategy = "MINIMAL" if plan.terminates_first else "DEFAULT"
    autoscaled = plan.nodes_min < plan.nodes_max
    return NodeGroup(
        child.name("nodes"),
        cluster_name=args["cluster_name"],
        version=None if custom_image else args.get("cluster_version"),
        ami_type=None if custom_image else AMI_TYPES[plan.image, plan.cpu_arch],
        release_version=None if custom_image else args.get("release_version"),
        capacity_type=CAPACITY_TYPES[plan.capacity.mode],
        node_role_arn=args["node_role_arn"],
        subnet_ids=args["subnet_ids"],
        launch_template=NodeGroupLaunchTemplateArgs(id=template.id, version=template.latest_version.apply(str)),
        scaling_config=NodeGroupScalingConfigArgs(min_size=plan.nodes_min, max_size=plan.nodes_max, desired_size=plan.nodes_start),
        update_config=NodeGroupUpdateConfigArgs(max_unavailable=unavailable, update_strategy=strategy),
        node_repair_config=NodeGroupNodeRepairConfigArgs(enabled=True),
        labels=node_labels(plan),
        taints=[NodeGroupTaintArgs(key=t.key, value=t.value, effect=EFFECTS[t.effect]) for t in plan.taints],
        tags=child.tagged("nodes"),
        opts=child.opts(
            custom_timeouts=_timeouts(plan),
            ignore_changes=["scalingConfig.desiredSize"] if autoscaled else None,
            replace_on_changes=[INITIALIZATION_FAILED],
            delete_before_replace=True if plan.role == "accelerator" else None,
        ),
        **name_or_prefix("node_group_name", child.name("nodes"), NAME_LIMIT),
    )
