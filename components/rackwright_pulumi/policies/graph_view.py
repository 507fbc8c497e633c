"""Queries the rules run on a recorded graph: resources by type, by id, ARN or name, and their dependencies."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from pulumi.output import Unknown

from rackwright_pulumi.resource_graph import Graph, Node, unwrap_secrets

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
CLUSTER = "aws:eks/cluster:Cluster"
INSTANCE = "aws:ec2/instance:Instance"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
SECURITY_GROUP_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
SUBNET = "aws:ec2/subnet:Subnet"
VPC = "aws:ec2/vpc:Vpc"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
ROLE = "aws:iam/role:Role"
KEY = "aws:kms/key:Key"
ACCESS_ENTRY = "aws:eks/accessEntry:AccessEntry"
ADDON = "aws:eks/addon:Addon"
RELEASE = "kubernetes:helm.sh/v3:Release"


class GraphView:
    """Inputs are returned with secrets decrypted, because rules check them; values unknown in a preview are None."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self._inputs: dict[str, dict[str, Any]] = {}
        self._dependencies: dict[str, frozenset[str]] = {}

    def of(self, *tokens: str) -> Iterator[Node]:
        """Resources of these types."""
        for token in tokens:
            yield from self._by_type.get(token, ())

    def inputs(self, node: Node) -> dict[str, Any]:
        if node.urn not in self._inputs:
            self._inputs[node.urn] = _without_unknowns(unwrap_secrets(node.inputs))
        return self._inputs[node.urn]

    def find(self, token: str, reference: Any) -> Node | None:
        """The resource of a type by id, ARN or name; None if the program does not declare it."""
        return self._by_reference.get((token, reference)) if isinstance(reference, str) else None

    def dependencies(self, node: Node) -> frozenset[str]:
        """URNs of all direct and indirect dependencies: they are created before the node and deleted after it.

        A resource waits for its parent and its provider, and therefore for their dependencies.
        """
        if node.urn not in self._dependencies:
            found: set[str] = set()
            todo = self.graph.direct_dependencies(node)
            while todo:
                urn = todo.pop()
                if urn not in found:
                    found.add(urn)
                    todo += self.graph.direct_dependencies(self.graph.nodes[urn])
            self._dependencies[node.urn] = frozenset(found)
        return self._dependencies[node.urn]

    def kubernetes_cluster(self, node: Node) -> str:
        """What identifies the cluster of a Kubernetes object: its provider's cluster, kubeconfig and context; else the provider's URN."""
        provider = self.graph.nodes.get(node.provider.rpartition("::")[0])
        inputs = self.inputs(provider) if provider else {}
        known = [str(inputs[key]) for key in ("clusterIdentifier", "kubeconfig", "context", "cluster") if inputs.get(key)]
        return " ".join(known) or node.provider.rpartition("::")[0]

    def template(self, group: Node) -> Node | None:
        """The launch template of a node group."""
        reference = self.inputs(group).get("launchTemplate") or {}
        return self.find(TEMPLATE, reference.get("id")) or self.find(TEMPLATE, reference.get("name"))

    def pools(self) -> Iterator[tuple[Node, Node]]:
        """Managed node groups with their launch templates."""
        yield from ((group, template) for group in self.of(NODE_GROUP) if (template := self.template(group)))

    def zones(self, subnet_ids: Any) -> set[str]:
        """Zones of those subnets that the program declares."""
        ids = [subnet_ids] if isinstance(subnet_ids, str) else subnet_ids or ()
        nodes = (self.find(SUBNET, subnet_id) for subnet_id in ids)
        places = (self.inputs(node) for node in nodes if node)
        return {str(inputs.get("availabilityZoneId") or inputs.get("availabilityZone")) for inputs in places}

    @cached_property
    def _by_type(self) -> Mapping[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for node in self.graph.nodes.values():
            found.setdefault(node.type, []).append(node)
        return found

    @cached_property
    def _by_reference(self) -> Mapping[tuple[str, str], Node]:
        found: dict[tuple[str, str], Node] = {}
        for node in self.graph.nodes.values():
            state = {**node.state, **node.inputs}
            for reference in (node.id, state.get("arn"), state.get("name"), state.get("bucket")):
                if isinstance(reference, str) and reference:
                    found.setdefault((node.type, reference), node)
        return found


def _without_unknowns(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_unknowns(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_unknowns(item) for item in value]
    return None if isinstance(value, Unknown) else value


def interfaces(template: dict[str, Any]) -> list[dict[str, Any]]:
    """Network interfaces of a launch template's inputs."""
    return template.get("networkInterfaces") or []


def is_fabric(interface: Mapping[str, Any]) -> bool:
    """True for interfaces with EFA."""
    return interface.get("interfaceType") in ("efa", "efa-only")


def card_and_device(interface: Mapping[str, Any]) -> tuple[int, int]:
    """(networkCardIndex, deviceIndex); EC2 takes 0 for an index that is not set."""
    return int(interface.get("networkCardIndex") or 0), int(interface.get("deviceIndex") or 0)


def is_true(value: Any) -> bool:
    """True for `True` and for the text "true", which launch templates use for booleans."""
    return str(value).lower() == "true"
