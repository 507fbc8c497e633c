"""Security groups: a fabric whose members reach one another, a file system its clients reach."""

from collections.abc import Iterator, Mapping
from typing import Any

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import EGRESS, GROUP, INGRESS, LUSTRE, OLD_RULE, TEMPLATE, GraphView, interfaces, is_fabric
from rackwright_pulumi.policies.registry import rule, violation
from rackwright_pulumi.resource_graph import Node

LUSTRE_PORTS = (988, 1018, 1023)
"""LNET's own port, and the first and last it answers from (docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups)."""
ALL = ("-1", "all")
Rule = dict[str, Any]


@rule("V-21", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html")
def efa_groups_reach_themselves(view: GraphView) -> Iterator[Violation]:
    """A group on EFA interfaces allows all traffic from itself and to itself, by its own id; a CIDR rule does not count."""
    for template in view.of(TEMPLATE):
        nics = interfaces(view.inputs(template))
        lists = [[found for name in nic.get("securityGroups") or () if (found := view.find(GROUP, name))] for nic in nics if is_fabric(nic)]
        lacking = [groups for groups in lists if groups and not any(_reaches_itself(view, group) for group in groups)]
        for group in {node.urn: node for groups in lacking for node in groups}.values():
            missing = " and ".join(way for way in ("ingress", "egress") if not _to_itself(view, group, way))
            yield violation(
                group, (), f"add a rule of {missing} with ip_protocol -1 and referenced_security_group_id its own", template.name
            )


@rule("F10", Level.ERROR, "https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html")
def lustre_ports_are_open(view: GraphView) -> Iterator[Violation]:
    """A Lustre file system's group lets itself or its clients in at TCP 988 and 1018 to 1023, and FSx refuses to make it otherwise."""
    for node in view.of(LUSTRE):
        groups = [view.find(GROUP, name) for name in view.inputs(node).get("securityGroupIds") or ()]
        known = [group for group in groups if group]
        if len(known) < len(groups) or not known:
            continue
        rules = [rule for group in known for rule in _rules(view, group, "ingress")]
        closed = [port for port in LUSTRE_PORTS if not any(_opens(rule, port) for rule in rules)]
        if closed:
            words = f"closed: {', '.join(map(str, closed))}"
            yield violation(node, ("securityGroupIds",), "add ingress of tcp 988 and tcp 1018-1023 from the group itself", words)


def _reaches_itself(view: GraphView, group: Node) -> bool:
    return _to_itself(view, group, "ingress") and _to_itself(view, group, "egress")


def _to_itself(view: GraphView, group: Node, way: str) -> bool:
    return any(rule["protocol"] in ALL and group.id in rule["groups"] for rule in _rules(view, group, way))


def _opens(rule: Rule, port: int) -> bool:
    if rule["protocol"] in ALL:
        return True
    return rule["protocol"] in ("tcp", "6") and rule["first"] is not None and rule["first"] <= port <= rule["last"]


def _rules(view: GraphView, group: Node, way: str) -> Iterator[Rule]:
    """Of all three ways to write one: a resource of its own, of the old kind, and inside the group."""
    for node in view.of(INGRESS if way == "ingress" else EGRESS):
        inputs = view.inputs(node)
        if inputs.get("securityGroupId") == group.id:
            yield _rule(inputs, "ipProtocol", [inputs.get("referencedSecurityGroupId")])
    for node in view.of(OLD_RULE):
        inputs = view.inputs(node)
        if inputs.get("securityGroupId") == group.id and inputs.get("type") == way:
            yield _rule(inputs, "protocol", [group.id if inputs.get("self") else inputs.get("sourceSecurityGroupId")])
    for inputs in view.inputs(group).get(way) or ():
        yield _rule(inputs, "protocol", [group.id if inputs.get("self") else None, *(inputs.get("securityGroups") or ())])


def _rule(inputs: Mapping[str, Any], protocol: str, groups: list[str | None]) -> Rule:
    return {"protocol": str(inputs.get(protocol)), "groups": groups, "first": inputs.get("fromPort"), "last": inputs.get("toPort")}
