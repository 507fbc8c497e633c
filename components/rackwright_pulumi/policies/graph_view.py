"""A recorded graph as the laws read it: resources by type, by what they are called elsewhere, and what waits for what."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from pulumi.output import Unknown

from rackwright_pulumi.resource_graph import Graph, Node, revealed

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
CLUSTER = "aws:eks/cluster:Cluster"
INSTANCE = "aws:ec2/instance:Instance"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
OLD_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
SUBNET = "aws:ec2/subnet:Subnet"
VPC = "aws:ec2/vpc:Vpc"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
ROLE = "aws:iam/role:Role"
KEY = "aws:kms/key:Key"
ENTRY = "aws:eks/accessEntry:AccessEntry"
ADDON = "aws:eks/addon:Addon"
RELEASE = "kubernetes:helm.sh/v3:Release"


class GraphView:
    """inputs: with secrets opened, for they are looked at and never printed; what a preview does not know yet is None."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self._inputs: dict[str, dict[str, Any]] = {}
        self._waits: dict[str, frozenset[str]] = {}

    def of(self, *tokens: str) -> Iterator[Node]:
        for token in tokens:
            yield from self._by_type.get(token, ())

    def inputs(self, node: Node) -> dict[str, Any]:
        if node.urn not in self._inputs:
            self._inputs[node.urn] = _known(revealed(node.inputs))
        return self._inputs[node.urn]

    def find(self, token: str, called: Any) -> Node | None:
        """The resource of a type by id, ARN or name; None where the program does not make it."""
        return self._by_name.get((token, called)) if isinstance(called, str) else None

    def waits(self, node: Node) -> frozenset[str]:
        """URNs of everything that exists before the node and is deleted after it."""
        if node.urn not in self._waits:
            found: set[str] = set()
            todo = [*node.depends_on]
            while todo:
                urn = todo.pop()
                if urn not in found and urn in self.graph.nodes:
                    found.add(urn)
                    todo += self.graph.nodes[urn].depends_on
            self._waits[node.urn] = frozenset(found)
        return self._waits[node.urn]

    def template(self, group: Node) -> Node | None:
        """The launch template of a node group."""
        named = self.inputs(group).get("launchTemplate") or {}
        return self.find(TEMPLATE, named.get("id")) or self.find(TEMPLATE, named.get("name"))

    def pools(self) -> Iterator[tuple[Node, Node]]:
        """Managed node groups with their launch templates."""
        yield from ((group, template) for group in self.of(NODE_GROUP) if (template := self.template(group)))

    def zones(self, subnet_ids: Any) -> set[str]:
        """Of the subnets the program makes."""
        ids = [subnet_ids] if isinstance(subnet_ids, str) else subnet_ids or ()
        nodes = (self.find(SUBNET, name) for name in ids)
        return {str(self.inputs(node).get("availabilityZone")) for node in nodes if node}

    @cached_property
    def _by_type(self) -> Mapping[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for node in self.graph.nodes.values():
            found.setdefault(node.type, []).append(node)
        return found

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], Node]:
        named = {}
        for node in self.graph.nodes.values():
            state = {**node.state, **node.inputs}
            for called in (node.id, state.get("arn"), state.get("name"), state.get("bucket")):
                if isinstance(called, str) and called:
                    named.setdefault((node.type, called), node)
        return named


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _known(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_known(item) for item in value]
    return None if isinstance(value, Unknown) else value


def interfaces(template: dict[str, Any]) -> list[dict[str, Any]]:
    """Network interfaces of a launch template's inputs."""
    return template.get("networkInterfaces") or []


def is_fabric(interface: Mapping[str, Any]) -> bool:
    return interface.get("interfaceType") in ("efa", "efa-only")


def place(interface: Mapping[str, Any]) -> tuple[int, int]:
    """(card, device); what is left out is 0."""
    return int(interface.get("networkCardIndex") or 0), int(interface.get("deviceIndex") or 0)


def yes(value: Any) -> bool:
    """Launch templates write booleans as text."""
    return str(value).lower() == "true"
