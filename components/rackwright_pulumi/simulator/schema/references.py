"""References between resources: what blocks a deletion, what is deleted with its parent, and which references are missing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rackwright_pulumi.simulator.provider.values import unwrap_secrets, values_at
from rackwright_pulumi.simulator.store import Record, Store

VPC, SUBNET, GROUP = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:ec2/securityGroup:SecurityGroup"
EKS, NODES, ROLE = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup", "aws:iam/role:Role"
NETWORK, SUBNETWORK, GKE = "gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork", "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
TEMPLATE, PLACEMENT = "aws:ec2/launchTemplate:LaunchTemplate", "aws:ec2/placementGroup:PlacementGroup"


@dataclass(frozen=True)
class Reference:
    """``child`` refers to ``parent`` at ``path``. blocks: the child blocks the parent's deletion, else it is deleted with it."""

    child: str
    path: str
    parent: str
    blocks: bool


def _rows(blocks: bool, parent: str, *children: str) -> list[Reference]:
    """Rows of one parent. children: ``type token@path``."""
    return [Reference(child.partition("@")[0], child.partition("@")[2], parent, blocks) for child in children]


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
and Compute Engine's resourceInUseByAnotherResource."""

FURTHER_IDENTIFIERS = {
    NODES: ("resources.autoscalingGroups.name",),
    "aws:kms/key:Key": ("keyId",),
    "gcp:servicenetworking/connection:Connection": ("network",),
}
"""Further outputs by which other resources refer to a type."""


def identifiers(record: Record) -> frozenset[str]:
    """Values by which other resources refer to this one: id, ARN, name, self link."""
    keys = ("arn", "name", "selfLink", "allocationId", *FURTHER_IDENTIFIERS.get(record.type, ()))
    found = [record.id, *(value for key in keys for value in values_at(unwrap_secrets(record.state), key))]
    return frozenset(value for value in found if isinstance(value, str))


def dependents(store: Store, parent: Record) -> Iterator[Record]:
    """Resources that block the deletion of ``parent``."""
    yield from _children(store, parent, blocks=True)
    if parent.type in (GROUP, PLACEMENT):
        yield from _users_of_template_groups(store, parent)


def _users_of_template_groups(store: Store, parent: Record) -> Iterator[Record]:
    """Node groups whose launch template refers to the security group or placement group."""
    names = identifiers(parent)
    for nodes in store.all(NODES):
        template = store.find(TEMPLATE, str((unwrap_secrets(nodes.inputs).get("launchTemplate") or {}).get("id")))
        paths = ("networkInterfaces.securityGroups", "vpcSecurityGroupIds", "placement.groupName", "placement.groupId")
        if template and names.intersection(v for path in paths for v in values_at(unwrap_secrets(template.inputs), path)):
            yield nodes


def deleted_with(store: Store, parent: Record) -> Iterator[Record]:
    """Resources that the cloud deletes with ``parent``, including the objects in a cluster."""
    yield from _children(store, parent, blocks=False)
    if parent.type in (EKS, GKE):
        yield from store.in_place(cluster_place(parent))


def cluster_place(cluster: Record) -> str:
    """The place of objects in a simulated cluster."""
    return f"cluster {cluster.place} {cluster.id}"


def _children(store: Store, parent: Record, blocks: bool) -> Iterator[Record]:
    names = identifiers(parent)
    for reference in REFERENCES:
        if reference.parent != parent.type or reference.blocks != blocks:
            continue
        for child in store.all(reference.child):
            if (blocks and _is_self_rule(child, names)) or child.place.split("/")[0] != parent.place.split("/")[0]:
                continue
            if names.intersection(v for v in values_at(unwrap_secrets(child.inputs), reference.path) if isinstance(v, str)):
                yield child


def _is_self_rule(child: Record, names: frozenset[str]) -> bool:
    """Whether a security group rule refers to its own group: it is deleted with the group and does not block it."""
    return "SecurityGroup" in child.type and child.inputs.get("securityGroupId") in names and "referencedSecurityGroupId" in child.inputs


def missing_reference(store: Store, token: str, inputs: dict[str, Any]) -> tuple[str, str, str] | None:
    """The first reference to a deleted resource: path, parent's type, value. Other unknown ids may exist outside of the simulator."""
    for reference in REFERENCES:
        if reference.child != token:
            continue
        for value in values_at(unwrap_secrets(inputs), reference.path):
            if isinstance(value, str) and store.was_deleted(reference.parent, value) and not _is_alive(store, reference.parent, value):
                return reference.path, reference.parent, value
    return None


def _is_alive(store: Store, parent: str, value: str) -> bool:
    return any(value in identifiers(record) for record in store.all(parent))
