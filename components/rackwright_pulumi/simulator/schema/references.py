"""References between resources: what blocks a deletion, what is deleted with its parent, and which references are missing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rackwright_pulumi.simulator.provider.values import unwrap_secrets, values_at
from rackwright_pulumi.simulator.schema.facts import table
from rackwright_pulumi.simulator.store import Record, Store

VPC, SUBNET, GROUP = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:ec2/securityGroup:SecurityGroup"
EKS, NODES, ROLE = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup", "aws:iam/role:Role"
GKE, TEMPLATE, PLACEMENT = "gcp:container/cluster:Cluster", "aws:ec2/launchTemplate:LaunchTemplate", "aws:ec2/placementGroup:PlacementGroup"


@dataclass(frozen=True)
class Reference:
    """``child`` refers to ``parent`` at ``path``. blocks: the child blocks the parent's deletion, else it is deleted with it."""

    child: str
    path: str
    parent: str
    blocks: bool


REFERENCES = tuple(
    Reference(row["child"], row["path"], row["parent"], row["on_parent_deletion"] == "blocks") for row in table("references.csv")
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
    if parent.type not in (GROUP, PLACEMENT):
        return
    names = identifiers(parent)
    for nodes in store.all(NODES):  # node groups whose launch template refers to the security group or placement group
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
            if not isinstance(value, str) or not store.was_deleted(reference.parent, value):
                continue
            if not any(value in identifiers(record) for record in store.all(reference.parent)):
                return reference.path, reference.parent, value
    return None
