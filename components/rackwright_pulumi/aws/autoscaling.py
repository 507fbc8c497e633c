"""AWS resources of the cluster autoscaler: its role, and node group tags that describe the machines of empty groups."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, Resource, ResourceOptions
from pulumi_aws.autoscaling.tag import Tag, TagTagArgs
from pulumi_aws.eks.pod_identity_association import PodIdentityAssociation
from pulumi_aws.iam.role_policy import RolePolicy
from rackwright.stackplan import PoolPlan
from rackwright.stackplan.labels import EFA_RESOURCE, HUGE_PAGES, HUGE_PAGES_MIB
from rackwright.stackplan.namespaces import SYSTEM_NAMESPACE
from rackwright.stackplan.operators import CLUSTER_AUTOSCALER

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.aws.identity.policy_documents import Statement, allow, document, pod_trust
from rackwright_pulumi.aws.identity.roles import granted_role
from rackwright_pulumi.aws.pool.labels import node_labels
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.check_args import check_args

READ_ACTIONS = (
    "autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeAutoScalingInstances", "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribeScalingActivities", "autoscaling:DescribeTags", "ec2:DescribeImages", "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions", "ec2:GetInstanceTypesFromInstanceRequirements",
)  # fmt: skip
"""Read actions without resource-level permissions (kubernetes/autoscaler@604ab45 cluster-autoscaler/cloudprovider/aws/README.md)."""
TEMPLATE = "k8s.io/cluster-autoscaler/node-template"


class AwsAutoscalerArgs(TypedDict):
    """pools: tuple of PoolPlan, with a variable size. group_names: their Auto Scaling groups, by pool."""

    pools: Part[Sequence[PoolPlan]]
    group_names: Mapping[str, Input[str]]
    cluster_name: Input[str]
    cluster_arn: Input[str]
    account: Input[str]
    region: str
    tags: Mapping[str, Input[str]]
    boundary_arn: NotRequired[str | None]


class AwsAutoscaler(pulumi.ComponentResource):
    """Permissions for the node groups of one cluster, and tags that describe the machines of empty groups.

    EKS sets the discovery tags of its groups, but no tags for accelerators, EFA interfaces, labels and taints.

        pool = PoolPlan("gpu", "g6e.xlarge", ("us-east-1a",), 0, 8, 0, resource="nvidia.com/gpu", accelerator_count=1)
        AwsAutoscaler(
            "fleet",
            {
                "pools": (pool,),
                "group_names": {"gpu": "eks-gpu-0123"},
                "cluster_name": "serving",
                "cluster_arn": "arn:aws:eks:us-east-1:123456789012:cluster/serving",
                "account": "123456789012",
                "region": "us-east-1",
                "tags": {"owner": "serving"},
            },
        )
    """

    role_arn: Output[str]

    def __init__(self, name: str, args: AwsAutoscalerArgs, opts: ResourceOptions | None = None):
        check_args(AwsAutoscalerArgs, args)
        super().__init__("rackwright:index:AwsAutoscaler", name, None, opts)
        child = ChildContext(self, name, args["tags"], args.get("boundary_arn"))
        role = granted_role(child, "role", pod_trust(args["cluster_arn"], args["account"]))
        policy = Output.from_input(args["cluster_name"]).apply(lambda cluster: document(*_rights(cluster, args)))
        rights = RolePolicy(child.name("role", "policy"), role=role.role.id, policy=policy, opts=child.opts())
        pods = PodIdentityAssociation(
            child.name("pods"),
            cluster_name=args["cluster_name"],
            namespace=SYSTEM_NAMESPACE,
            service_account=CLUSTER_AUTOSCALER,
            role_arn=role.arn,
            tags=child.tagged("pods"),
            opts=child.opts(),
        )
        plans = part(tuple[PoolPlan, ...], args["pools"])
        tags = [
            Tag(
                child.name("tag", plan.name, key.removeprefix(f"{TEMPLATE}/").replace("/", "-")),
                autoscaling_group_name=args["group_names"][plan.name],
                tag=TagTagArgs(key=key, value=value, propagate_at_launch=False),
                opts=child.opts(),
            )
            for plan in plans
            for key, value in template_tags(plan).items()
        ]
        self.ready: list[Resource] = [rights, pods, *tags]
        self.role_arn = role.arn
        self.register_outputs({"roleArn": self.role_arn})


def template_tags(plan: PoolPlan) -> dict[str, str]:
    """Tags with the resources, labels and taints of a pool's machines, which the autoscaler reads for empty groups."""
    resources = {plan.pod_resource: str(plan.pod_devices)} if plan.resource else {}
    if plan.fabric_interfaces:
        resources |= {EFA_RESOURCE: str(plan.fabric_interfaces), HUGE_PAGES: f"{HUGE_PAGES_MIB}Mi"}
    return {
        **{f"{TEMPLATE}/resources/{key}": value for key, value in resources.items()},
        **{f"{TEMPLATE}/label/{key}": value for key, value in node_labels(plan).items()},
        **{f"{TEMPLATE}/taint/{taint.key}": f"{taint.value}:{taint.effect}" for taint in plan.taints},
    }


def _rights(cluster: str, args: AwsAutoscalerArgs) -> list[Statement]:
    """Statements: scaling of groups with this cluster's tag; read access to all groups."""
    own = {"StringEquals": {f"aws:ResourceTag/k8s.io/cluster-autoscaler/{cluster}": "owned"}}
    group = Output.format("arn:aws:eks:{0}:{1}:nodegroup/{2}/*", args["region"], args["account"], cluster)
    scaling_groups = Output.format("arn:aws:autoscaling:{0}:{1}:autoScalingGroup:*", args["region"], args["account"])
    return [
        allow(READ_ACTIONS, Condition={"StringEquals": {"aws:RequestedRegion": args["region"]}}),
        allow(["eks:DescribeNodegroup"], group),
        allow(["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"], scaling_groups, Condition=own),
    ]
