"""EKS clusters: access entries, node groups, custom resources, routes."""

import re
from collections import Counter
from collections.abc import Iterator

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.naming import chart_name
from rackwright_pulumi.policies.graph_view import (
    ACCESS_ENTRY,
    ADDON,
    CLUSTER,
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

ACCESS_ENTRIES = "https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html"
ASSOCIATION = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
ADMIN_POLICY = re.compile(r"/AmazonEKS(Cluster)?AdminPolicy$")
FARGATE = "aws:eks/fargateProfile:FargateProfile"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
ROUTE_TABLE_ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
CHARTS = {
    "kueue.x-k8s.io": "kueue",
    "jobset.x-k8s.io": "jobset",
    "leaderworkerset.x-k8s.io": "lws",
    "keda.sh": "keda",
    "karpenter.sh": "karpenter-crd",
    "karpenter.k8s.aws": "karpenter-crd",
    "monitoring.coreos.com": "kube-prometheus-stack",
}
"""API group of a custom resource to the chart that installs its definition."""


@rule("F2", Level.ERROR, "https://github.com/pulumi/pulumi-eks/issues/1819")
def coredns_waits_for_nodes(view: GraphView) -> Iterator[Violation]:
    """The CoreDNS add-on must depend on a node group; without nodes it is degraded for 20 minutes and then fails."""
    hosts = [*view.of(NODE_GROUP), *view.of(FARGATE)]
    for node in view.of(ADDON):
        inputs = view.inputs(node)
        cluster = view.find(CLUSTER, inputs.get("clusterName"))
        if inputs.get("addonName") != "coredns" or cluster is None:
            continue
        is_auto_mode = (view.inputs(cluster).get("computeConfig") or {}).get("enabled")
        own_hosts = (host for host in hosts if view.inputs(host).get("clusterName") == inputs["clusterName"])
        if not is_auto_mode and not any(host.urn in view.dependencies(node) for host in own_hosts):
            message = f"The coredns add-on of {inputs['clusterName']} does not depend on a node group"
            yield violation(node, (), f"{message}, so it is degraded for 20 minutes and then fails", "add depends_on with a node group")


@rule("F4", Level.ERROR, ACCESS_ENTRIES)
def one_access_entry_per_role(view: GraphView) -> Iterator[Violation]:
    """A role has one access entry per cluster, and EKS creates that of a managed node group's role; a second one fails with HTTP 409."""
    managed = {(view.inputs(group).get("clusterName"), view.inputs(group).get("nodeRoleArn")) for group in view.of(NODE_GROUP)}
    entries = [(node, (view.inputs(node).get("clusterName"), view.inputs(node).get("principalArn"))) for node in view.of(ACCESS_ENTRY)]
    counts = Counter(pair for _, pair in entries)
    for node, pair in entries:
        if None in pair:
            continue
        if pair in managed:
            yield violation(node, (), f"{pair[1]} is a managed node group's role, whose entry EKS creates", "remove this access entry")
        elif counts[pair] > 1:
            yield violation(node, ("principalArn",), f"{pair[1]} has {counts[pair]} access entries in {pair[0]}", "keep one of them")


@rule("V-134", Level.ERROR, ACCESS_ENTRIES)
def cluster_has_an_administrator(view: GraphView) -> Iterator[Violation]:
    """If EKS makes no access entry for the creator of a cluster, another entry must have an administrator's policy; otherwise no
    principal has access."""
    associations = [view.inputs(node) for node in view.of(ASSOCIATION)]
    admitted = {inputs.get("clusterName") for inputs in associations if ADMIN_POLICY.search(str(inputs.get("policyArn")))}
    for cluster in view.of(CLUSTER):
        access = view.inputs(cluster).get("accessConfig") or {}
        bare = access.get("authenticationMode") == "API" and access.get("bootstrapClusterCreatorAdminPermissions") is False
        if bare and not admitted & {cluster.id, view.inputs(cluster).get("name")}:
            message = f"Cluster {cluster.name} has no administrator: EKS makes no entry for its creator, and the program none for others"
            yield violation(cluster, ("accessConfig",), message, "add an AccessEntry and an AccessPolicyAssociation of a role")


@rule("F5", Level.ERROR, "https://karpenter.sh/docs/getting-started/migrating-from-cas/")
def karpenter_role_has_access_entry(view: GraphView) -> Iterator[Violation]:
    """The role of Karpenter's nodes needs an access entry of type EC2_LINUX, or must be a managed node group's role."""
    admitted = {view.inputs(group).get("nodeRoleArn") for group in view.of(NODE_GROUP)}
    admitted |= {view.inputs(node).get("principalArn") for node in view.of(ACCESS_ENTRY) if view.inputs(node).get("type") == "EC2_LINUX"}
    for node in view.of(NODE_CLASS):
        spec = view.inputs(node).get("spec") or {}
        profile = view.find(PROFILE, spec.get("instanceProfile"))
        role = view.find(ROLE, spec.get("role") or (view.inputs(profile).get("role") if profile else None))
        if role and role.state.get("arn", role.id) not in admitted:
            message = f"Role {role.name} has no access entry of type EC2_LINUX, so nodes of Karpenter cannot join the cluster"
            yield violation(node, ("spec", "role"), message, f"add an AccessEntry of type EC2_LINUX for {role.name}")


@rule("F6", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html")
def fabric_node_group_is_in_one_zone(view: GraphView) -> Iterator[Violation]:
    """A node group with EFA or in a cluster placement group must have subnets of one zone."""
    for group, template in view.pools():
        inputs, zones = view.inputs(template), view.zones(view.inputs(group).get("subnetIds"))
        has_fabric, is_placed = any(map(is_fabric, interfaces(inputs))), (inputs.get("placement") or {}).get("groupName")
        if (has_fabric or is_placed) and len(zones) > 1:
            message = f"{'A node group with EFA' if has_fabric else 'A node group in a placement group'} has subnets in {len(zones)} zones"
            yield violation(group, ("subnetIds",), f"{message}: {', '.join(sorted(zones))}", f"keep the subnet in {min(zones)}")


@rule("F17", Level.ERROR, "https://github.com/pulumi/pulumi-kubernetes/issues/1712")
def custom_resources_wait_for_their_chart(view: GraphView) -> Iterator[Violation]:
    """A custom resource must depend on the release that installs its definition in the same cluster."""
    releases: dict[tuple[str, str], list[Node]] = {}
    for node in view.of(RELEASE):
        chart = chart_name(view.inputs(node).get("chart"))
        releases.setdefault((view.kubernetes_cluster(node), chart), []).append(node)
    for node in view.graph.nodes.values():
        if not node.type.startswith("kubernetes:"):
            continue
        _, group_version, kind = node.type.split(":")
        found = releases.get((view.kubernetes_cluster(node), CHARTS.get(group_version.split("/")[0], "")), [])
        if found and not any(release.urn in view.dependencies(node) for release in found):
            message = f"{kind} does not depend on release {found[0].name}, which installs its definition"
            yield violation(node, (), message, f"add depends_on with release {found[0].name}")


@rule("F26", Level.WARNING, "https://docs.aws.amazon.com/vpc/latest/userguide/delete-vpc.html")
def machines_wait_for_routes(view: GraphView) -> Iterator[Violation]:
    """Machines must depend on the routes of their subnets, so that they can reach AWS while they are deleted."""
    routes = {view.inputs(node).get("subnetId"): node for node in view.of(ROUTE_TABLE_ASSOCIATION)}
    for node in view.of(NODE_GROUP, INSTANCE):
        inputs = view.inputs(node)
        for subnet in inputs.get("subnetIds") or [inputs.get("subnetId")]:
            route = routes.get(subnet)
            if route and view.find(SUBNET, subnet) and route.urn not in view.dependencies(node):
                message = f"Dependency on {route.name}, the routes of {subnet}, is missing: deletion may leave network interfaces behind"
                yield violation(node, (), message, f"add depends_on with {route.name}")
