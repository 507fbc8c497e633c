"""Which resource points at which: what a deletion waits for, what goes with its parent, what is refused because it is gone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rackwright_pulumi.simulator.provider.values import at, opened
from rackwright_pulumi.simulator.store import Record, Store

VPC, SUBNET, GROUP = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:ec2/securityGroup:SecurityGroup"
EKS, NODES, ROLE = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup", "aws:iam/role:Role"
NETWORK, SUBNETWORK, GKE = "gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork", "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
TEMPLATE, PLACEMENT = "aws:ec2/launchTemplate:LaunchTemplate", "aws:ec2/placementGroup:PlacementGroup"


@dataclass(frozen=True)
class Reference:
    """``child`` names a ``parent`` at ``path``. holds: the parent cannot go while the child is there; else the child goes with it."""

    child: str
    path: str
    parent: str
    holds: bool


def _rows(holds: bool, parent: str, *children: str) -> list[Reference]:
    """Each child is written ``type token@path``."""
    return [Reference(child.partition("@")[0], child.partition("@")[2], parent, holds) for child in children]


REFERENCES = (
    *_rows(
        True,
        VPC,
        f"{SUBNET}@vpcId",
        f"{GROUP}@vpcId",
        "aws:ec2/internetGateway:InternetGateway@vpcId",
        "aws:ec2/routeTable:RouteTable@vpcId",
        "aws:ec2/vpcEndpoint:VpcEndpoint@vpcId",
    ),
    *_rows(
        True,
        SUBNET,
        "aws:ec2/natGateway:NatGateway@subnetId",
        "aws:ec2/networkInterface:NetworkInterface@subnetId",
        "aws:ec2/instance:Instance@subnetId",
        "aws:lb/loadBalancer:LoadBalancer@subnets",
        "aws:ec2/vpcEndpoint:VpcEndpoint@subnetIds",
        "aws:fsx/lustreFileSystem:LustreFileSystem@subnetIds",
        f"{EKS}@vpcConfig.subnetIds",
        f"{NODES}@subnetIds",
    ),
    *_rows(
        True,
        GROUP,
        "aws:ec2/instance:Instance@vpcSecurityGroupIds",
        "aws:ec2/networkInterface:NetworkInterface@securityGroups",
        "aws:lb/loadBalancer:LoadBalancer@securityGroups",
        "aws:ec2/vpcEndpoint:VpcEndpoint@securityGroupIds",
        "aws:fsx/lustreFileSystem:LustreFileSystem@securityGroupIds",
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule@referencedSecurityGroupId",
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule@referencedSecurityGroupId",
        f"{EKS}@vpcConfig.securityGroupIds",
    ),
    *_rows(True, "aws:ec2/eip:Eip", "aws:ec2/natGateway:NatGateway@allocationId"),
    *_rows(True, "aws:ec2/routeTable:RouteTable", "aws:ec2/routeTableAssociation:RouteTableAssociation@routeTableId"),
    *_rows(True, "aws:ebs/volume:Volume", "aws:ec2/volumeAttachment:VolumeAttachment@volumeId"),
    *_rows(True, PLACEMENT, "aws:ec2/instance:Instance@placementGroup"),
    *_rows(True, "aws:cloudwatch/eventRule:EventRule", "aws:cloudwatch/eventTarget:EventTarget@rule"),
    *_rows(False, NODES, "aws:autoscaling/tag:Tag@autoscalingGroupName", "aws:autoscaling/schedule:Schedule@autoscalingGroupName"),
    *_rows(False, "aws:kms/key:Key", "aws:kms/alias:Alias@targetKeyId", "aws:kms/grant:Grant@keyId"),
    *_rows(False, "aws:resourcegroups/group:Group", "aws:resourcegroups/resource:Resource@groupArn"),
    *_rows(False, "aws:scheduler/scheduleGroup:ScheduleGroup", "aws:scheduler/schedule:Schedule@groupName"),
    *_rows(False, "aws:sns/topic:Topic", "aws:sns/topicPolicy:TopicPolicy@arn", "aws:sns/topicSubscription:TopicSubscription@topic"),
    *_rows(False, "aws:sqs/queue:Queue", "aws:sqs/queuePolicy:QueuePolicy@queueUrl"),
    *_rows(True, "aws:iam/policy:Policy", "aws:iam/rolePolicyAttachment:RolePolicyAttachment@policyArn"),
    *_rows(
        True,
        ROLE,
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment@role",
        "aws:iam/rolePolicy:RolePolicy@role",
        "aws:iam/instanceProfile:InstanceProfile@role",
    ),
    *_rows(True, EKS, f"{NODES}@clusterName"),
    *_rows(
        False,
        EKS,
        "aws:eks/addon:Addon@clusterName",
        "aws:eks/accessEntry:AccessEntry@clusterName",
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation@clusterName",
        "aws:eks/podIdentityAssociation:PodIdentityAssociation@clusterName",
    ),
    *_rows(False, VPC, "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup@vpcId"),
    *_rows(
        False,
        GROUP,
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule@securityGroupId",
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule@securityGroupId",
    ),
    *_rows(False, "aws:ec2/routeTable:RouteTable", "aws:ec2/route:Route@routeTableId"),
    *_rows(False, "aws:fsx/lustreFileSystem:LustreFileSystem", "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation@fileSystemId"),
    *_rows(
        False,
        "aws:s3/bucket:Bucket",
        "aws:s3/bucketPolicy:BucketPolicy@bucket",
        "aws:s3/bucketLogging:BucketLogging@bucket",
        "aws:s3/bucketObjectv2:BucketObjectv2@bucket",
        "aws:s3/bucketVersioning:BucketVersioning@bucket",
        "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock@bucket",
        "aws:s3/bucketOwnershipControls:BucketOwnershipControls@bucket",
        "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration@bucket",
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration@bucket",
    ),
    *_rows(
        True,
        NETWORK,
        f"{SUBNETWORK}@network",
        "gcp:compute/firewall:Firewall@network",
        "gcp:compute/router:Router@network",
        "gcp:compute/globalAddress:GlobalAddress@network",
        "gcp:compute/instance:Instance@networkInterfaces.network",
        "gcp:servicenetworking/connection:Connection@network",
        "gcp:tpu/v2Vm:V2Vm@networkConfig.network",
        f"{GKE}@network",
        f"{POOL}@networkConfig.additionalNodeNetworkConfigs.network",
    ),
    *_rows(
        True,
        SUBNETWORK,
        "gcp:compute/instance:Instance@networkInterfaces.subnetwork",
        "gcp:tpu/v2Vm:V2Vm@networkConfig.subnetwork",
        f"{GKE}@subnetwork",
        f"{POOL}@networkConfig.additionalNodeNetworkConfigs.subnetwork",
    ),
    *_rows(True, "gcp:compute/globalAddress:GlobalAddress", "gcp:servicenetworking/connection:Connection@reservedPeeringRanges"),
    *_rows(True, "gcp:servicenetworking/connection:Connection", "gcp:lustre/instance:Instance@network"),
    *_rows(
        True,
        "gcp:compute/instanceTemplate:InstanceTemplate",
        "gcp:compute/instanceGroupManager:InstanceGroupManager@versions.instanceTemplate",
    ),
    *_rows(
        True,
        "gcp:compute/resourcePolicy:ResourcePolicy",
        f"{POOL}@placementPolicy.policyName",
        "gcp:compute/instance:Instance@resourcePolicies",
    ),
    *_rows(True, "gcp:compute/disk:Disk", "gcp:compute/attachedDisk:AttachedDisk@disk"),
    *_rows(False, GKE, f"{POOL}@cluster"),
    *_rows(False, "gcp:compute/router:Router", "gcp:compute/routerNat:RouterNat@router"),
    *_rows(False, "gcp:compute/instanceGroupManager:InstanceGroupManager", "gcp:compute/resizeRequest:ResizeRequest@instanceGroupManager"),
    *_rows(False, "gcp:storage/bucket:Bucket", "gcp:storage/anywhereCache:AnywhereCache@bucket"),
)
"""Sources: the DependencyViolation and DeleteConflict errors of the EC2 and IAM API references, EKS ResourceInUseException,
Compute Engine's resourceInUseByAnotherResource, and recipes F26."""

ALSO = {
    NODES: ("resources.autoscalingGroups.name",),
    "aws:kms/key:Key": ("keyId",),
    "gcp:servicenetworking/connection:Connection": ("network",),
}
"""Further state by which others name a type."""


def handles(record: Record) -> frozenset[str]:
    """Everything other resources may call this one: id, ARN, name, self link."""
    keys = ("arn", "name", "selfLink", "allocationId", *ALSO.get(record.type, ()))
    found = [record.id, *(value for key in keys for value in at(opened(record.state), key))]
    return frozenset(value for value in found if isinstance(value, str))


def holders(store: Store, parent: Record) -> Iterator[Record]:
    """What stands in the way of deleting ``parent``."""
    yield from _children(store, parent, holds=True)
    if parent.type in (GROUP, PLACEMENT):
        yield from _of_templates(store, parent)


def _of_templates(store: Store, parent: Record) -> Iterator[Record]:
    """Node groups whose machines are in the security or placement group that their template names."""
    names = handles(parent)
    for nodes in store.all(NODES):
        template = store.find(TEMPLATE, str((opened(nodes.inputs).get("launchTemplate") or {}).get("id")))
        paths = ("networkInterfaces.securityGroups", "vpcSecurityGroupIds", "placement.groupName", "placement.groupId")
        if template and names.intersection(v for path in paths for v in at(opened(template.inputs), path)):
            yield nodes


def followers(store: Store, parent: Record) -> Iterator[Record]:
    """What the cloud deletes together with ``parent``; the objects inside a cluster too."""
    yield from _children(store, parent, holds=False)
    if parent.type in (EKS, GKE):
        yield from store.inside(cluster_place(parent))


def cluster_place(cluster: Record) -> str:
    """The place of everything inside a simulated cluster."""
    return f"cluster {cluster.place} {cluster.id}"


def _children(store: Store, parent: Record, holds: bool) -> Iterator[Record]:
    names = handles(parent)
    for reference in REFERENCES:
        if reference.parent != parent.type or reference.holds != holds:
            continue
        for child in store.all(reference.child):
            if (holds and _own_rule(child, names)) or child.place.split("/")[0] != parent.place.split("/")[0]:
                continue
            if names.intersection(v for v in at(opened(child.inputs), reference.path) if isinstance(v, str)):
                yield child


def _own_rule(child: Record, names: frozenset[str]) -> bool:
    """A rule of a group that names the group itself goes with it and holds nothing."""
    return "SecurityGroup" in child.type and child.inputs.get("securityGroupId") in names and "referencedSecurityGroupId" in child.inputs


def missing(store: Store, token: str, inputs: dict[str, Any]) -> tuple[str, str, str] | None:
    """The first reference to something that was deleted: path, parent's type, the value. What was never known may exist outside."""
    for reference in REFERENCES:
        if reference.child != token:
            continue
        for value in at(opened(inputs), reference.path):
            if isinstance(value, str) and store.is_gone(reference.parent, value) and not _lives(store, reference.parent, value):
                return reference.path, reference.parent, value
    return None


def _lives(store: Store, parent: str, value: str) -> bool:
    return any(value in handles(record) for record in store.all(parent))
