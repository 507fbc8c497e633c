"""File systems, and the key that encrypts machines' disks."""

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
CREATES_GRANTS = ("kms:CreateGrant", "kms:*", "*")


@rule("V-52", Level.ERROR, "https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html")
def the_file_system_is_beside_the_machines(view: GraphView) -> Iterator[Violation]:
    """A Lustre file system has one subnet, in the zone of the machines on the fabric."""
    machines: set[str] = set()
    for group, template in view.pools():
        if any(map(is_fabric, interfaces(view.inputs(template)))):
            machines |= view.zones(view.inputs(group).get("subnetIds"))
    for node in view.of(LUSTRE):
        subnet = view.inputs(node).get("subnetIds")
        if not isinstance(subnet, str):
            yield violation(node, ("subnetIds",), "give one id, as text", f"it is {'a list' if subnet else 'left out'}")
        elif machines and (zones := view.zones(subnet)) and not zones <= machines:
            yield violation(node, ("subnetIds",), f"name a subnet of {min(machines)}", f"it is in {min(zones)}")


@rule("V-53", Level.ERROR, "https://docs.aws.amazon.com/fsx/latest/LustreGuide/create-dra-linked-data-repo.html")
def new_file_systems_link_buckets_by_associations(view: GraphView) -> Iterator[Violation]:
    """A PERSISTENT_2 file system takes no import_path and no export_path: a DataRepositoryAssociation links it to a bucket."""
    for node in view.of(LUSTRE):
        for key in ("importPath", "exportPath"):
            if view.inputs(node).get("deploymentType") == "PERSISTENT_2" and view.inputs(node).get(key):
                yield violation(node, (key,), "leave it out, and add a DataRepositoryAssociation")


@rule("V-42", Level.WARNING, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html")
def node_groups_may_use_the_disks_key(view: GraphView) -> Iterator[Violation]:
    """A key of one's own on the disks of a node group lets AWSServiceRoleForAutoScaling use it and make grants, or its machines end as
    they start."""
    for _, template in view.pools():
        for index, mapping in enumerate(view.inputs(template).get("blockDeviceMappings") or ()):
            key = view.find(KEY, (mapping.get("ebs") or {}).get("kmsKeyId"))
            if key and not _granted(view, key):
                fix = f"let {SCALING_ROLE} use it and call kms:CreateGrant in the policy of {key.name}"
                yield violation(template, ("blockDeviceMappings", index, "ebs", "kmsKeyId"), fix)


def _granted(view: GraphView, key: Node) -> bool:
    names = (key.id, key.state.get("arn"))
    grants = (view.inputs(node) for node in view.of(GRANT))
    if any(SCALING_ROLE in str(grant.get("granteePrincipal")) for grant in grants if grant.get("keyId") in names):
        return True
    return any(_may_grant(statement) for statement in _statements(view.inputs(key).get("policy")))


def _may_grant(statement: dict[str, Any]) -> bool:
    """Written as a principal, or as a condition on who asks."""
    actions = statement.get("Action")
    who = json.dumps([statement.get("Principal"), statement.get("Condition")])
    allowed = statement.get("Effect") == "Allow" and SCALING_ROLE in who
    return allowed and any(action in CREATES_GRANTS for action in ([actions] if isinstance(actions, str) else actions or ()))


def _statements(policy: Any) -> list[dict[str, Any]]:
    try:
        found = json.loads(policy)["Statement"] if isinstance(policy, str) else []
    except (ValueError, KeyError, TypeError):
        return []
    return [found] if isinstance(found, dict) else found
