"""A pool of machines: a managed node group of EKS and the template of its machines."""

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

from rackwright_pulumi.args import PartInput, part
from rackwright_pulumi.aws.pool.block_hours import block_hours
from rackwright_pulumi.aws.pool.launch_template import launch_template
from rackwright_pulumi.aws.pool.node_bootstrap import Joining
from rackwright_pulumi.aws.tags import ChildContext, fitting, waits
from rackwright_pulumi.unsupported import Unsupported

NAME_LIMIT = 63
CAPACITY_TYPES = {"on-demand": "ON_DEMAND", "reservation": "ON_DEMAND", "spot": "SPOT", "capacity-block": "CAPACITY_BLOCK"}
"""Capacity mode to the node group's."""
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
HALF_MADE = "#initerror"
"""What the engine calls a resource that was made and did not come up (pulumi: pkg/resource/deploy/step_generator.go)."""
WAIT = CustomTimeouts(create="40m", update="60m", delete="40m")
"""Where capacity is missing a node group waits for it; this is how long before that is said."""


class AwsPoolArgs(TypedDict):
    """pool: PoolPlan. subnet_ids: one for accelerators. release_version: of the image, else the newest at creation.

    cluster_version: left out: the version that the cluster has when the pool is made. cluster_endpoint, cluster_certificate (base64) and
    service_cidr: what machines on an image of one's own are told.
    """

    pool: PartInput
    cluster_name: Input[str]
    cluster_version: NotRequired[str | None]
    cluster_group_id: Input[str]
    node_role_arn: Input[str]
    subnet_ids: Sequence[Input[str]]
    kms_key_arn: Input[str]
    tags: Mapping[str, str]
    fabric_group_id: NotRequired[Input[str] | None]
    release_version: NotRequired[str | None]
    cluster_endpoint: NotRequired[Input[str]]
    cluster_certificate: NotRequired[Input[str]]
    service_cidr: NotRequired[Input[str]]


class AwsPool(pulumi.ComponentResource):
    """Placement group, launch template and node group: as many resources for two nodes as for five hundred.

    The node group waits for what `depends_on` names. Raises Unsupported for capacity, images and fabrics EKS does not have.
    """

    node_group_name: Output[str]
    scaling_group_name: Output[str]

    def __init__(self, name: str, args: AwsPoolArgs, opts: ResourceOptions | None = None):
        super().__init__("rackwright:index:AwsPool", name, None, opts)
        plan, child = part(PoolPlan, args["pool"]), ChildContext(self, name, args["tags"])
        _refuse(plan, args)
        template = launch_template(child, plan, _groups(args), args["kms_key_arn"], _joining(args) if plan.image_id else None)
        self.node_group = _node_group(child, plan, args, template, opts)
        if plan.capacity.mode == "capacity-block":
            block_hours(child, plan, self.node_group)
        self.node_group_name = self.node_group.node_group_name
        self.scaling_group_name = self.node_group.resources[0].autoscaling_groups[0].name
        self.register_outputs({"nodeGroupName": self.node_group_name, "scalingGroupName": self.scaling_group_name})


def _refuse(plan: PoolPlan, args: AwsPoolArgs) -> None:
    at = f"pools[{plan.name}]"
    if plan.capacity.mode not in CAPACITY_TYPES:
        raise Unsupported(plan.capacity.mode, f"{at}.capacity.mode", ", ".join(CAPACITY_TYPES))
    if not plan.image_id and (plan.image, plan.cpu_arch) not in AMI_TYPES:
        raise Unsupported(f"{plan.image} on {plan.cpu_arch}", f"{at}.image", ", ".join(" on ".join(pair) for pair in AMI_TYPES))
    if plan.nics and not args.get("fabric_group_id"):
        raise Unsupported("a fabric whose members cannot reach one another", f"{at}.nics", "a network with self_reachable: true")


def _groups(args: AwsPoolArgs) -> list[Input[str]]:
    fabric = args.get("fabric_group_id")
    return [*([fabric] if fabric is not None else []), args["cluster_group_id"]]


def _joining(args: AwsPoolArgs) -> Output[Joining] | None:
    """The cluster as its nodes see it; None where it is not described."""
    endpoint, certificate, cidr = args.get("cluster_endpoint"), args.get("cluster_certificate"), args.get("service_cidr")
    if endpoint is None or certificate is None or cidr is None:
        return None
    return Output.all(args["cluster_name"], endpoint, certificate, cidr).apply(lambda known: Joining(*known))


def _node_group(
    child: ChildContext, plan: PoolPlan, args: AwsPoolArgs, template: LaunchTemplate, opts: ResourceOptions | None
) -> NodeGroup:
    """The machine type is the template's: EKS wants it in one place only. The autoscaler owns the desired size where it may vary.

    With an image of one's own in the template EKS refuses to be told a type, a release or a version of Kubernetes.

    A group whose machines never came stays CREATE_FAILED for ever, and the update that follows would call it done: the engine is told to
    make it anew. Of accelerators there is one set: what is replaced lets go of them first.
    """
    own = bool(plan.image_id)
    autoscaled = plan.nodes_min < plan.nodes_max
    return NodeGroup(
        child.name("nodes"),
        cluster_name=args["cluster_name"],
        version=None if own else args.get("cluster_version"),
        ami_type=None if own else AMI_TYPES[plan.image, plan.cpu_arch],
        release_version=None if own else args.get("release_version"),
        capacity_type=CAPACITY_TYPES[plan.capacity.mode],
        node_role_arn=args["node_role_arn"],
        subnet_ids=args["subnet_ids"],
        launch_template=NodeGroupLaunchTemplateArgs(id=template.id, version=template.latest_version.apply(str)),
        scaling_config=NodeGroupScalingConfigArgs(min_size=plan.nodes_min, max_size=plan.nodes_max, desired_size=plan.nodes_start),
        update_config=NodeGroupUpdateConfigArgs(max_unavailable=1),
        node_repair_config=NodeGroupNodeRepairConfigArgs(enabled=True),
        labels=dict(plan.labels),
        taints=[NodeGroupTaintArgs(key=t.key, value=t.value, effect=EFFECTS[t.effect]) for t in plan.taints],
        tags=child.tagged("nodes"),
        opts=child.opts(
            depends_on=waits(opts),
            custom_timeouts=WAIT,
            ignore_changes=["scalingConfig.desiredSize"] if autoscaled else None,
            replace_on_changes=[HALF_MADE],
            delete_before_replace=True if plan.role == "accelerator" else None,
        ),
        **fitting("node_group_name", child.name("nodes"), NAME_LIMIT),
    )
