"""Errors for well-formed inputs: names in use, dependents, deletion protection, overlapping ranges."""

import ipaddress
from collections.abc import Mapping
from typing import Any

from rackwright_pulumi.simulator.clusters import api_server, controllers
from rackwright_pulumi.simulator.computed import ResourceRequest
from rackwright_pulumi.simulator.computed.arns import zone_name, zones
from rackwright_pulumi.simulator.computed.names import NAMES, place
from rackwright_pulumi.simulator.limits.machines import template_of
from rackwright_pulumi.simulator.limits.reservations import capacity_type_error
from rackwright_pulumi.simulator.limits.shortage import FAILED, shortage_error
from rackwright_pulumi.simulator.provider.values import unwrap_secrets
from rackwright_pulumi.simulator.schema.references import EKS, GKE, NODES, SUBNET, VPC, dependents, missing_reference
from rackwright_pulumi.simulator.store import Record, Store

PERMANENT_NAMES = frozenset({"gcp:kms/keyRing:KeyRing", "gcp:kms/cryptoKey:CryptoKey"})
"""Types whose names stay reserved after deletion: Cloud KMS deletes neither key rings nor keys."""

ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"


def create_error(store: Store, request: ResourceRequest, cluster: str) -> str | None:
    """The cloud's error when a resource is created, None without one; capacity and quota are not checked. cluster: an object's place."""
    if request.token.startswith("kubernetes:"):
        return api_server.object_error(store, request, cluster)
    missing = missing_reference(store, request.token, dict(request.inputs))
    if missing:
        path, parent, value = missing
        return f"{_short(parent)} {value!r} in {path} does not exist: InvalidParameter, NotFound"
    if request.token == SUBNET:
        return _subnet_zone(request) or _subnet_range(store, request)
    if request.token == ENDPOINT:
        return _endpoint_zones(store, request)
    return capacity_type_error(request.inputs, template_of(store, request.inputs)) if request.token == NODES else None


def update_error(store: Store, old: Record, request: ResourceRequest) -> str | None:
    """The cloud's error when a resource is updated, None without one. A failed node group accepts only tags."""
    if unwrap_secrets(old.state).get("status") == FAILED:
        changed = {key for key in {*old.inputs, *request.inputs} if unwrap_secrets(old.inputs.get(key)) != request.inputs.get(key)}
        if changed - {"tags", "__defaults"}:
            return f"ResourceInUseException: Nodegroup {old.id} cannot be updated as it is currently not in Active State"
        return None
    return machine_error(store, request)


def machine_error(store: Store, request: ResourceRequest) -> str | None:
    """Error of missing capacity or quota, for a new or growing resource."""
    return shortage_error(store, request.token, request.urn, request.inputs, place(request, "region"), request.context.project)


def delete_error(store: Store, record: Record) -> str | None:
    """The cloud's error when a resource is deleted, None without one."""
    if record.type.startswith("kubernetes:"):
        return controllers.delete_error(store, record) or None
    inputs = unwrap_secrets(record.inputs)
    protected = DELETION_PROTECTION.get(record.type)
    if protected and inputs.get(protected[0], protected[1]):
        return f"{_short(record.type)} {record.id} has {protected[0]} set; update it to false before deleting"
    if inputs.get("deletionPolicy") == "PREVENT":
        return f"{_short(record.type)} {record.id} has deletionPolicy PREVENT; set it to DELETE before deleting"
    if record.type.endswith("s3/bucket:Bucket") or record.type == "gcp:storage/bucket:Bucket":
        is_kept = record.id in store.setting("filled", []) and not inputs.get("forceDestroy")
        return f"BucketNotEmpty: the bucket {record.id} holds objects; empty it, or set forceDestroy" if is_kept else None
    dependent = next(dependents(store, record), None)
    code = "resourceInUseByAnotherResource" if record.type.startswith("gcp:") else "DependencyViolation"
    code = "ResourceInUseException" if record.type == EKS else "DeleteConflict" if ":iam/" in record.type else code
    if dependent and not inputs.get("forceDetachPolicies"):
        return f"{code}: {_short(record.type)} {record.id} is in use by {_short(dependent.type)} {dependent.id} and cannot be deleted"
    return None


CREATED_WITHOUT_MACHINES = {NODES: {"status": FAILED}}
"""Types that are created without their machines, and their state: EKS creates the group, waits for machines, and gives up."""

DELETION_PROTECTION = {
    EKS: ("deletionProtection", False),
    GKE: ("deletionProtection", True),
    "aws:ec2/instance:Instance": ("disableApiTermination", False),
    "gcp:compute/instance:Instance": ("deletionProtection", False),
}
"""Inputs that forbid deletion, with the provider's default."""


def name_taken_error(token: str, name: str) -> str:
    """The cloud's error for a name in use."""
    if token.startswith("kubernetes:"):
        return f'{token.rpartition(":")[2].lower()}s "{name}" already exists'
    if token.startswith("gcp:"):
        return f"Error 409: The resource '{name}' already exists, alreadyExists"
    code = NAMES[token].taken_error if token in NAMES else ""
    return f"{code or 'ResourceInUseException'}: {_short(token)} with name {name} already exists"


def _short(token: str) -> str:
    return token.rpartition(":")[2]


def _subnet_zone(request: ResourceRequest) -> str | None:
    """EC2's error for a zone ID of another region, and the provider's for a name beside an ID."""
    zone_id, region = request.inputs.get("availabilityZoneId"), place(request, "region")
    if zone_id and request.inputs.get("availabilityZone"):
        return '"availability_zone": conflicts with availability_zone_id'
    if zone_id and zone_name(str(zone_id), region) not in zones(region):
        return f"InvalidParameterValue: Value ({zone_id}) for parameter availabilityZoneId is invalid"
    return None


def _endpoint_zones(store: Store, request: ResourceRequest) -> str | None:
    """EC2's error for two subnets of an interface endpoint in one zone, however each names it."""
    subnets = [store.find(SUBNET, str(subnet)) for subnet in request.inputs.get("subnetIds") or ()]
    found = [unwrap_secrets(subnet.state).get("availabilityZone") for subnet in subnets if subnet]
    doubled = sorted({str(zone) for zone in found if zone and found.count(zone) > 1})
    return f"DuplicateSubnetsInSameZone: Found another VPC endpoint subnet in the availability zone of {doubled[0]}" if doubled else None


def _subnet_range(store: Store, request: ResourceRequest) -> str | None:
    own, vpc = _range(request.inputs), store.find(VPC, str(request.inputs.get("vpcId")))
    if own is None or vpc is None:
        return None
    vpc_range = _range(unwrap_secrets(vpc.inputs))
    if vpc_range is not None and not own.subnet_of(vpc_range):
        return f"InvalidSubnet.Range: {own} is not inside the VPC's {vpc_range}"
    for other in store.all(SUBNET):
        other_range = _range(unwrap_secrets(other.inputs))
        if other.inputs.get("vpcId") == vpc.id and other_range is not None and own.overlaps(other_range):
            return f"InvalidSubnet.Conflict: {own} overlaps {other_range} of {other.id}"
    return None


def _range(inputs: Mapping[str, Any]) -> ipaddress.IPv4Network | None:
    try:
        return ipaddress.IPv4Network(inputs.get("cidrBlock") or "")
    except ValueError:
        return None
