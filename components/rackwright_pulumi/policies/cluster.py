"""The cluster: who may join, what waits for nodes, what waits for a chart, what must outlive what."""

from collections import Counter
from collections.abc import Iterator

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import (
    ADDON,
    CLUSTER,
    ENTRY,
    INSTANCE,
    NODE_GROUP,
    RELEASE,
    ROLE,
    SUBNET,
    GraphView,
    interfaces,
    is_fabric,
)
from rackwright_pulumi.policies.registry import rule, violation
from rackwright_pulumi.resource_graph import Node

ENTRIES = "https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html"
FARGATE = "aws:eks/fargateProfile:FargateProfile"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
ROUTED = "aws:ec2/routeTableAssociation:RouteTableAssociation"
NEED_NODES = ("coredns",)
CHARTS = {
    "kueue.x-k8s.io": "kueue",
    "jobset.x-k8s.io": "jobset",
    "leaderworkerset.x-k8s.io": "lws",
    "keda.sh": "keda",
    "karpenter.sh": "karpenter-crd",
    "karpenter.k8s.aws": "karpenter-crd",
    "monitoring.coreos.com": "kube-prometheus-stack",
}
"""API group of a custom resource to the chart that brings its definition (recipes section 0)."""


@rule("F2", Level.ERROR, "https://github.com/pulumi/pulumi-eks/issues/1819")
def dns_waits_for_nodes(view: GraphView) -> Iterator[Violation]:
    """CoreDNS is degraded for 20 minutes and then fails where no node group exists before it."""
    hosts = [*view.of(NODE_GROUP), *view.of(FARGATE)]
    for node in view.of(ADDON):
        inputs = view.inputs(node)
        cluster = view.find(CLUSTER, inputs.get("clusterName"))
        if inputs.get("addonName") not in NEED_NODES or cluster is None or _auto(view, cluster):
            continue
        if not any(host.urn in view.waits(node) for host in hosts if view.inputs(host).get("clusterName") == inputs["clusterName"]):
            yield violation(node, (), "let it depend on a node group", str(inputs["addonName"]))


def _auto(view: GraphView, cluster: Node) -> bool:
    return bool((view.inputs(cluster).get("computeConfig") or {}).get("enabled"))


@rule("F4", Level.ERROR, ENTRIES)
def eks_lets_its_own_nodes_in(view: GraphView) -> Iterator[Violation]:
    """EKS makes the access entry of a managed node group's role itself, and a role has one entry: another is a 409."""
    managed = {(view.inputs(group).get("clusterName"), view.inputs(group).get("nodeRoleArn")) for group in view.of(NODE_GROUP)}
    entries = [(node, (view.inputs(node).get("clusterName"), view.inputs(node).get("principalArn"))) for node in view.of(ENTRY)]
    counts = Counter(pair for _, pair in entries)
    for node, pair in entries:
        if None in pair:
            continue
        if pair in managed:
            yield violation(node, (), "leave it out", "its role is a managed node group's")
        elif counts[pair] > 1:
            yield violation(node, ("principalArn",), "keep one entry for the role", f"{counts[pair]} entries have it")


@rule("F5", Level.ERROR, "https://karpenter.sh/docs/getting-started/migrating-from-cas/")
def karpenters_nodes_are_let_in(view: GraphView) -> Iterator[Violation]:
    """Machines that Karpenter starts join only when their role has an access entry of type EC2_LINUX, or a managed node group's."""
    known = {view.inputs(group).get("nodeRoleArn") for group in view.of(NODE_GROUP)}
    known |= {view.inputs(node).get("principalArn") for node in view.of(ENTRY) if view.inputs(node).get("type") == "EC2_LINUX"}
    for node in view.of(NODE_CLASS):
        spec = view.inputs(node).get("spec") or {}
        profile = view.find(PROFILE, spec.get("instanceProfile"))
        role = view.find(ROLE, spec.get("role") or (view.inputs(profile).get("role") if profile else None))
        if role and role.state.get("arn", role.id) not in known:
            yield violation(node, ("spec", "role"), "add an AccessEntry of type EC2_LINUX for it", f"{role.name} has none")


@rule("F6", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html")
def machines_that_belong_together_share_a_zone(view: GraphView) -> Iterator[Violation]:
    """A node group on EFA or in a cluster placement group has subnets of one zone, or it asks zones that do not have the machine."""
    for group, template in view.pools():
        asked, zones = view.inputs(template), view.zones(view.inputs(group).get("subnetIds"))
        together = any(map(is_fabric, interfaces(asked))) or (asked.get("placement") or {}).get("groupName")
        if together and len(zones) > 1:
            yield violation(group, ("subnetIds",), f"name a subnet of {min(zones)} alone", f"they are in {', '.join(sorted(zones))}")


@rule("F17", Level.ERROR, "https://github.com/pulumi/pulumi-kubernetes/issues/1712")
def objects_wait_for_the_chart_that_defines_them(view: GraphView) -> Iterator[Violation]:
    """A custom resource waits for the release that brings its definition, or the cluster knows no such kind."""
    releases = {str(view.inputs(node).get("chart")).rsplit("/", 1)[-1]: node for node in view.of(RELEASE)}
    for node in view.graph.nodes.values():
        if not node.type.startswith("kubernetes:"):
            continue
        group = node.type.split(":")[1].split("/")[0]
        release = releases.get(CHARTS.get(group, ""))
        if release and release.urn not in view.waits(node):
            yield violation(node, (), f"let it depend on the release {release.name}")


@rule("F26", Level.WARNING, "https://docs.aws.amazon.com/vpc/latest/userguide/delete-vpc.html")
def routes_outlive_machines(view: GraphView) -> Iterator[Violation]:
    """Machines wait for the routes of their subnets, so that they still reach AWS while they are deleted and give back their interfaces."""
    routes = {view.inputs(node).get("subnetId"): node for node in view.of(ROUTED)}
    for node in view.of(NODE_GROUP, INSTANCE):
        inputs = view.inputs(node)
        for subnet in inputs.get("subnetIds") or [inputs.get("subnetId")]:
            route = routes.get(subnet)
            if route and view.find(SUBNET, subnet) and route.urn not in view.waits(node):
                yield violation(node, (), f"let it depend on {route.name}", f"it does not wait for the routes of {subnet}")
