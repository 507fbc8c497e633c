"""Security groups: EFA traffic within a group, and the ports of Lustre."""

from collections.abc import Iterator, Mapping
from typing import Any

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import (
    EGRESS,
    INGRESS,
    LUSTRE,
    SECURITY_GROUP,
    SECURITY_GROUP_RULE,
    TEMPLATE,
    GraphView,
    interfaces,
    is_fabric,
)
from rackwright_pulumi.policies.registry import rule, violation
from rackwright_pulumi.resource_graph import Node

LUSTRE_PORTS = (988, 1018, 1023)
"""LNET's port, and the first and last source port: https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html"""
ALL = ("-1", "all")
GroupRule = dict[str, Any]


@rule("V-21", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html")
def efa_group_allows_itself(view: GraphView) -> Iterator[Violation]:
    """The security group of EFA interfaces must allow all traffic to and from itself, by group id; CIDR rules do not count."""
    for template in view.of(TEMPLATE):
        efa = filter(is_fabric, interfaces(view.inputs(template)))
        attached = [[group for id_ in nic.get("securityGroups") or () if (group := view.find(SECURITY_GROUP, id_))] for nic in efa]
        incomplete = [groups for groups in attached if groups and all(_missing_directions(view, group) for group in groups)]
        for group in {node.urn: node for groups in incomplete for node in groups}.values():
            missing = " and ".join(_missing_directions(view, group))
            message = f"The group of EFA interfaces of {template.name} does not allow all {missing} traffic from and to itself"
            fix = f"add rules ({missing}) with ip_protocol -1 and the group's id as referenced_security_group_id"
            yield violation(group, (), message, fix)


@rule("F10", Level.ERROR, "https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html")
def lustre_ports_are_open(view: GraphView) -> Iterator[Violation]:
    """FSx creates a Lustre file system only if its security groups allow TCP 988 and 1018 to 1023 from the group itself or its clients."""
    for node in view.of(LUSTRE):
        groups = [view.find(SECURITY_GROUP, id_) for id_ in view.inputs(node).get("securityGroupIds") or ()]
        declared = [group for group in groups if group]
        if len(declared) < len(groups) or not declared:
            continue
        rules = [rule for group in declared for rule in _rules(view, group, "ingress")]
        closed = [port for port in LUSTRE_PORTS if not any(_opens(rule, port) for rule in rules)]
        if closed:
            message = f"The security groups do not allow TCP {', '.join(map(str, closed))}, which Lustre needs"
            yield violation(node, ("securityGroupIds",), message, "add ingress of tcp 988 and tcp 1018-1023 from the group itself")


def _missing_directions(view: GraphView, group: Node) -> list[str]:
    """Directions in which the group does not allow all traffic with itself."""

    def allows_itself(direction: str) -> bool:
        return any(rule["protocol"] in ALL and group.id in rule["groups"] for rule in _rules(view, group, direction))

    return [direction for direction in ("ingress", "egress") if not allows_itself(direction)]


def _opens(rule: GroupRule, port: int) -> bool:
    if rule["protocol"] in ALL:
        return True
    return rule["protocol"] in ("tcp", "6") and rule["first"] is not None and rule["first"] <= port <= rule["last"]


def _rules(view: GraphView, group: Node, direction: str) -> Iterator[GroupRule]:
    """Rules of a group, from all three forms: a rule resource per direction, SecurityGroupRule, and inline in the group."""
    for node in view.of(INGRESS if direction == "ingress" else EGRESS):
        inputs = view.inputs(node)
        if inputs.get("securityGroupId") == group.id:
            yield _rule(inputs, "ipProtocol", [inputs.get("referencedSecurityGroupId")])
    for node in view.of(SECURITY_GROUP_RULE):
        inputs = view.inputs(node)
        if inputs.get("securityGroupId") == group.id and inputs.get("type") == direction:
            yield _rule(inputs, "protocol", [group.id if inputs.get("self") else inputs.get("sourceSecurityGroupId")])
    for inputs in view.inputs(group).get(direction) or ():
        yield _rule(inputs, "protocol", [group.id if inputs.get("self") else None, *(inputs.get("securityGroups") or ())])


def _rule(inputs: Mapping[str, Any], protocol: str, groups: list[str | None]) -> GroupRule:
    return {"protocol": str(inputs.get(protocol)), "groups": groups, "first": inputs.get("fromPort"), "last": inputs.get("toPort")}
