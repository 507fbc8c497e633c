"""What the clouds refuse although every input is well formed: taken names, dependents, protections, ranges that overlap."""

import ipaddress
from collections.abc import Mapping
from typing import Any

from rackwright_pulumi.simulator.clusters import api_server, controllers
from rackwright_pulumi.simulator.computed import ResourceRequest
from rackwright_pulumi.simulator.limits.machines import template_of
from rackwright_pulumi.simulator.limits.reservations import refuse_purchase
from rackwright_pulumi.simulator.limits.shortage import FAILED, shortage
from rackwright_pulumi.simulator.provider.values import opened
from rackwright_pulumi.simulator.schema.names import place
from rackwright_pulumi.simulator.schema.references import EKS, GKE, NODES, SUBNET, VPC, holders, missing
from rackwright_pulumi.simulator.store import Record, Store

RESERVED = frozenset({"gcp:kms/keyRing:KeyRing", "gcp:kms/cryptoKey:CryptoKey"})
"""Names that stay taken for ever: Cloud KMS deletes neither key rings nor keys."""


def refuse_create(store: Store, asked: ResourceRequest, where: str) -> str | None:
    """The cloud's refusal to make a resource, None when it agrees. ``where`` is its place. Machines are asked about apart."""
    if asked.token.startswith("kubernetes:"):
        return api_server.refuse_object(store, asked, where)
    gone = missing(store, asked.token, dict(asked.inputs))
    if gone:
        path, parent, value = gone
        return f"{_short(parent)} {value!r}, named by {path}, does not exist: InvalidParameter, NotFound"
    if asked.token == SUBNET:
        return _subnet_range(store, asked)
    return refuse_purchase(asked.inputs, template_of(store, asked.inputs)) if asked.token == NODES else None


def refuse_update(store: Store, old: Record, asked: ResourceRequest) -> str | None:
    """The cloud's refusal to change a resource. A node group that failed takes tags and nothing else."""
    if opened(old.state).get("status") == FAILED:
        changed = {key for key in {*old.inputs, *asked.inputs} if opened(old.inputs.get(key)) != asked.inputs.get(key)}
        if changed - {"tags", "__defaults"}:
            return f"ResourceInUseException: Nodegroup {old.id} cannot be updated as it is currently not in Active State"
        return None
    return refuse_machines(store, asked)


def refuse_machines(store: Store, asked: ResourceRequest) -> str | None:
    """Stock and quota, for a new resource as for one that grows."""
    return shortage(store, asked.token, asked.urn, asked.inputs, place(asked, "region"), asked.context.project)


def refuse_delete(store: Store, record: Record) -> str | None:
    """The cloud's refusal to delete a resource, None when it agrees."""
    if record.type.startswith("kubernetes:"):
        return controllers.refuse_delete(store, record) or None
    inputs = opened(record.inputs)
    protected = PROTECTED.get(record.type)
    if protected and inputs.get(protected[0], protected[1]):
        return f"{_short(record.type)} {record.id} has {protected[0]} set; update it to false before deleting"
    if inputs.get("deletionPolicy") == "PREVENT":
        return f"{_short(record.type)} {record.id} has deletionPolicy PREVENT; set it to DELETE before deleting"
    if record.type.endswith("s3/bucket:Bucket") or record.type == "gcp:storage/bucket:Bucket":
        return _not_empty(store, record, inputs)
    held = next(holders(store, record), None)
    code = "resourceInUseByAnotherResource" if record.type.startswith("gcp:") else "DependencyViolation"
    code = "ResourceInUseException" if record.type == EKS else "DeleteConflict" if ":iam/" in record.type else code
    if held and not inputs.get("forceDetachPolicies"):
        return f"{code}: {_short(record.type)} {record.id} is in use by {_short(held.type)} {held.id} and cannot be deleted"
    return None


FAILS_LATE = {NODES: {"status": FAILED}}
"""What is made all the same when its machines are missing, and stays broken: EKS makes the group, waits for its machines and gives up."""

PROTECTED = {
    EKS: ("deletionProtection", False),
    GKE: ("deletionProtection", True),
    "aws:ec2/instance:Instance": ("disableApiTermination", False),
    "gcp:compute/instance:Instance": ("deletionProtection", False),
}
"""Inputs that forbid deletion, with the provider's default."""


def taken(token: str, name: str) -> str:
    """The cloud's words for a name that another resource has."""
    if token.startswith("kubernetes:"):
        return f'{token.rpartition(":")[2].lower()}s "{name}" already exists'
    if token.startswith("gcp:"):
        return f"Error 409: The resource '{name}' already exists, alreadyExists"
    return f"{TAKEN.get(token, 'ResourceInUseException')}: {_short(token)} with name {name} already exists"


TAKEN = {
    "aws:cloudwatch/logGroup:LogGroup": "ResourceAlreadyExistsException",
    "aws:ec2/launchTemplate:LaunchTemplate": "InvalidLaunchTemplateName.AlreadyExistsException",
    "aws:ec2/natGateway:NatGateway": "Resource.AlreadyAssociated",
    "aws:ec2/placementGroup:PlacementGroup": "InvalidPlacementGroup.Duplicate",
    "aws:ec2/route:Route": "RouteAlreadyExists",
    "aws:ec2/routeTableAssociation:RouteTableAssociation": "Resource.AlreadyAssociated",
    "aws:ec2/securityGroup:SecurityGroup": "InvalidGroup.Duplicate",
    "aws:ec2/volumeAttachment:VolumeAttachment": "VolumeInUse",
    "aws:iam/instanceProfile:InstanceProfile": "EntityAlreadyExists",
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": "EntityAlreadyExists",
    "aws:iam/policy:Policy": "EntityAlreadyExists",
    "aws:iam/role:Role": "EntityAlreadyExists",
    "aws:iam/serviceLinkedRole:ServiceLinkedRole": "InvalidInput: Service role name has been taken in this account",
    "aws:kms/alias:Alias": "AlreadyExistsException",
    "aws:lb/loadBalancer:LoadBalancer": "DuplicateLoadBalancerName",
    "aws:resourcegroups/group:Group": "BadRequestException",
    "aws:s3/bucket:Bucket": "BucketAlreadyExists",
    "aws:scheduler/schedule:Schedule": "ConflictException",
    "aws:scheduler/scheduleGroup:ScheduleGroup": "ConflictException",
    "aws:sqs/queue:Queue": "QueueAlreadyExists",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "InvalidPermission.Duplicate",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "InvalidPermission.Duplicate",
}


def _short(token: str) -> str:
    return token.rpartition(":")[2]


def _not_empty(store: Store, bucket: Record, inputs: Mapping[str, Any]) -> str | None:
    if inputs.get("forceDestroy") or bucket.id not in store.knob("filled", []):
        return None
    return f"BucketNotEmpty: the bucket {bucket.id} holds objects; empty it, or set forceDestroy"


def _subnet_range(store: Store, asked: ResourceRequest) -> str | None:
    own, vpc = _range(asked.inputs), store.find(VPC, str(asked.inputs.get("vpcId")))
    if own is None or vpc is None:
        return None
    whole = _range(opened(vpc.inputs))
    if whole is not None and not own.subnet_of(whole):
        return f"InvalidSubnet.Range: {own} is not inside the VPC's {whole}"
    for other in store.all(SUBNET):
        theirs = _range(opened(other.inputs))
        if other.inputs.get("vpcId") == vpc.id and theirs is not None and own.overlaps(theirs):
            return f"InvalidSubnet.Conflict: {own} overlaps {theirs} of {other.id}"
    return None


def _range(inputs: Mapping[str, Any]) -> ipaddress.IPv4Network | None:
    try:
        return ipaddress.IPv4Network(inputs.get("cidrBlock") or "")
    except ValueError:
        return None
