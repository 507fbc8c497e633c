"""Lustre file systems, and the KMS key of node disks."""

import json
from collections.abc import Iterator
from typing import Any

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import KEY, LUSTRE, GraphView, interfaces, is_fabric
from rackwright_pulumi.policies.registry import rule, violation
from rackwright_pulumi.resource_graph import Node

GRANT = "aws:kms/grant:Grant"
SCALING_ROLE = "AWSServiceRoleForAutoScaling"
GRANT_ACTIONS = ("kms:CreateGrant", "kms:*", "*")


@rule("V-52", Level.ERROR, "https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html")
def lustre_is_in_the_zone_of_the_fabric(view: GraphView) -> Iterator[Violation]:
    """A Lustre file system has exactly one subnet, in the zone of the node groups with EFA."""
    fabric_zones: set[str] = set()
    for group, template in view.pools():
        if any(map(is_fabric, interfaces(view.inputs(template)))):
            fabric_zones |= view.zones(view.inputs(group).get("subnetIds"))
    for node in view.of(LUSTRE):
        subnet = view.inputs(node).get("subnetIds")
        if not isinstance(subnet, str):
            message = "subnet_ids is a list, and must be one id" if subnet else "No subnet is set"
            yield violation(node, ("subnetIds",), message, "set it to one subnet id, as text")
        elif fabric_zones and (zones := view.zones(subnet)) and not zones <= fabric_zones:
            message = f"The file system is in {min(zones)}, and the node groups with EFA are in {', '.join(sorted(fabric_zones))}"
            yield violation(node, ("subnetIds",), message, f"set it to a subnet in {min(fabric_zones)}")


@rule("V-53", Level.ERROR, "https://docs.aws.amazon.com/fsx/latest/LustreGuide/create-dra-linked-data-repo.html")
def persistent_2_links_buckets_by_association(view: GraphView) -> Iterator[Violation]:
    """A PERSISTENT_2 file system takes no import_path and no export_path; a DataRepositoryAssociation links it to a bucket."""
    for node in view.of(LUSTRE):
        for key in ("importPath", "exportPath"):
            if view.inputs(node).get("deploymentType") == "PERSISTENT_2" and view.inputs(node).get(key):
                message = f"{key} is set, which FSx does not accept on PERSISTENT_2"
                yield violation(node, (key,), message, "remove it, and add a DataRepositoryAssociation")


@rule("V-42", Level.WARNING, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html")
def autoscaling_may_use_the_disk_key(view: GraphView) -> Iterator[Violation]:
    """A customer-managed key of node disks must let AWSServiceRoleForAutoScaling use it and create grants, or instances stop at launch."""
    for _, template in view.pools():
        for index, mapping in enumerate(view.inputs(template).get("blockDeviceMappings") or ()):
            key = view.find(KEY, (mapping.get("ebs") or {}).get("kmsKeyId"))
            if key and not _is_granted(view, key):
                message = f"The policy of key {key.name} does not let {SCALING_ROLE} create grants, so instances stop at launch"
                fix = f"let {SCALING_ROLE} use the key and call kms:CreateGrant"
                yield violation(template, ("blockDeviceMappings", index, "ebs", "kmsKeyId"), message, fix)


def _is_granted(view: GraphView, key: Node) -> bool:
    grants = (view.inputs(node) for node in view.of(GRANT))
    if any(SCALING_ROLE in str(grant.get("granteePrincipal")) for grant in grants if grant.get("keyId") in (key.id, key.state.get("arn"))):
        return True
    return any(map(_allows_grants, _statements(view.inputs(key).get("policy"))))


def _allows_grants(statement: dict[str, Any]) -> bool:
    """Whether a statement allows the role, as its principal or in a condition."""
    actions = statement.get("Action")
    callers = json.dumps([statement.get("Principal"), statement.get("Condition")])
    allowed = statement.get("Effect") == "Allow" and SCALING_ROLE in callers
    return allowed and any(action in GRANT_ACTIONS for action in ([actions] if isinstance(actions, str) else actions or ()))


def _statements(policy: Any) -> list[dict[str, Any]]:
    try:
        found = json.loads(policy)["Statement"] if isinstance(policy, str) else []
    except (ValueError, KeyError, TypeError):
        return []
    return [found] if isinstance(found, dict) else found
