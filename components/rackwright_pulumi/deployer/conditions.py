"""Conditions of the deployer's statements: the tag of the stack, and the permissions boundary of its roles."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rackwright_pulumi.resource_graph import Node

STACK_TAG = "rackwright-stack"
OWNERS = {
    "ec2:elastic-ip": ("aws:ec2/eip:Eip",),
    "ec2:instance": ("aws:ec2/instance:Instance",),
    "ec2:internet-gateway": ("aws:ec2/internetGateway:InternetGateway",),
    "ec2:launch-template": ("aws:ec2/launchTemplate:LaunchTemplate",),
    "ec2:natgateway": ("aws:ec2/natGateway:NatGateway",),
    "ec2:placement-group": ("aws:ec2/placementGroup:PlacementGroup",),
    "ec2:route-table": ("aws:ec2/routeTable:RouteTable",),
    "ec2:security-group": ("aws:ec2/securityGroup:SecurityGroup", "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"),
    "ec2:security-group-rule": ("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",),
    "ec2:subnet": ("aws:ec2/subnet:Subnet",),
    "ec2:volume": ("aws:ebs/volume:Volume", "aws:ec2/instance:Instance"),
    "ec2:vpc": ("aws:ec2/vpc:Vpc",),
    "ec2:vpc-endpoint": ("aws:ec2/vpcEndpoint:VpcEndpoint",),
    "ec2:vpc-flow-log": ("aws:ec2/flowLog:FlowLog",),
    "fsx:association": ("aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation",),
    "fsx:backup": ("aws:fsx/lustreFileSystem:LustreFileSystem",),
    "fsx:file-system": ("aws:fsx/lustreFileSystem:LustreFileSystem",),
    "kms:key": ("aws:kms/key:Key",),
}
"""Resource kind whose ARNs do not contain the stack's name -> types that create it with the stack's tag. Network interfaces are missing:
EC2 creates them without it."""
GROUPS, GROUP_TAG = "autoscaling:autoScalingGroup", "eks:cluster-name"
"""EKS creates the groups of node groups with its own tags:
https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html"""
CLUSTER_GROUP_TAG = "aws:eks:cluster-name"
"""Tag of the security group that EKS creates for a cluster, which gets rules for a file system:
https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html"""
EC2_TAGGING = "ec2:CreateTags"
TAGGING = ("fsx:TagResource", "kms:TagResource")
UNTAGGING = ("ec2:DeleteTags", "fsx:UntagResource", "kms:UntagResource")
DEFAULT_GROUP = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
TAGS_AT_CREATION = ("Create", "Run", "Allocate", "Authorize")
BOUNDARY_KEY = "iam:PermissionsBoundary"
Statement = dict[str, Any]


class StackTag:
    """The tag of the stack, and which resource kinds carry it."""

    def __init__(self, nodes: Sequence[Node]):
        self.types = {node.type for node in nodes}
        self.stacks = sorted({str(tags[STACK_TAG]) for node in nodes if STACK_TAG in (tags := node.inputs.get("tags") or {})})
        named = {str(name) for node in nodes if (name := node.inputs.get("clusterName"))}
        self.clusters = sorted(named | {str(node.inputs["name"]) for node in nodes if node.type == "aws:eks/cluster:Cluster"})

    def on_resource(self, kind: str) -> list[Statement]:
        """Conditions on resources of a kind, one statement each; an empty condition for kinds that the stack does not create."""
        if kind == GROUPS and self.clusters:
            return [{"StringEquals": {f"aws:ResourceTag/{GROUP_TAG}": self.clusters}}]
        if self.stacks and self.types & set(OWNERS.get(kind, ())):
            own = {"StringEquals": {f"aws:ResourceTag/{STACK_TAG}": self.stacks}}
            of_cluster = {"StringEquals": {f"aws:ResourceTag/{CLUSTER_GROUP_TAG}": self.clusters}}
            return [own, of_cluster] if kind == "ec2:security-group" and self.clusters else [own]
        return [{}]

    def tags_only(self, action: str) -> bool:
        """Whether the action changes tags, so that it is allowed on resources with the tag, or while it creates them, only."""
        return bool(self.stacks) and action in (EC2_TAGGING, *TAGGING, *UNTAGGING)

    def while_creating(self, names: Iterable[str], action: str, kinds: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Statement]]:
        """(kinds, condition) of tagging resources that have no tag yet.

        EC2 states which call creates the resource (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/supported-iam-actions-tagging.html).
        FSx and KMS do not, and a default security group exists before its tags, so a resource without the tag of a stack gets this one.
        """
        if not self.stacks:
            return
        claim = {"StringEquals": {f"aws:RequestTag/{STACK_TAG}": self.stacks}, "Null": {f"aws:ResourceTag/{STACK_TAG}": "true"}}
        if action == EC2_TAGGING:
            calls = [name.removeprefix("ec2:") for name in names if name.startswith("ec2:") and name != EC2_TAGGING]
            creating = sorted(call for call in calls if call.startswith(TAGS_AT_CREATION))
            yield kinds, {"StringEquals": {"ec2:CreateAction": creating}}
            if DEFAULT_GROUP in self.types:
                yield ("ec2:security-group",), claim
        elif action in TAGGING:
            yield kinds, claim


def boundary_denials(boundaries: list[str], account: str) -> Iterator[Statement]:
    """Deny the deployer to remove the boundary from roles or to change its policy, also where other policies allow it.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html (delegating responsibility)
    """
    if not boundaries:
        return
    yield {"Effect": "Deny", "Action": ["iam:DeleteRolePermissionsBoundary"], "Resource": [f"arn:aws:iam::{account}:role/*"]}
    versions = ["iam:CreatePolicyVersion", "iam:DeletePolicy", "iam:DeletePolicyVersion", "iam:SetDefaultPolicyVersion"]
    yield {"Effect": "Deny", "Action": versions, "Resource": boundaries}
    yield {
        "Effect": "Deny",
        "Action": ["iam:CreateRole", "iam:PutRolePermissionsBoundary"],
        "Resource": [f"arn:aws:iam::{account}:role/*"],
        "Condition": {"StringNotEquals": {BOUNDARY_KEY: boundaries}},
    }
