"""InferenceFleet on EKS as a whole program: resources, and the order of their deletion."""

import json
from dataclasses import replace

import pytest
from pulumi.provider.experimental.analyzer import Analyzer
from rackwright_pulumi.aws.autoscaling import AwsAutoscaler
from rackwright_pulumi.aws.karpenter import AwsKarpenter
from rackwright_pulumi.blueprints.inference_fleet import InferenceFleet
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.testing import Graph, record

from tests import plans
from tests.components.sdk import misfits, untagged
from tests.components.waits import all_before
from tests.graphs import graph_of, recorded

RELEASE, POOL, CLASS = (
    "kubernetes:helm.sh/v3:Release",
    "kubernetes:karpenter.sh/v1:NodePool",
    "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass",
)
ENTRY, QUEUE, ROLE_POLICY = "aws:eks/accessEntry:AccessEntry", "aws:sqs/queue:Queue", "aws:iam/rolePolicy:RolePolicy"
TAG, GROUP = "aws:autoscaling/tag:Tag", "aws:eks/nodeGroup:NodeGroup"
COMPONENTS = {f"rackwright:index:{kind.__name__}": kind for kind in (AwsAutoscaler, AwsKarpenter, InferenceFleet)}
INLINE_POLICY_LIMIT = 10_240
"""Characters of a role's inline policies (docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html)."""


@pytest.fixture(params=plans.FLEETS)
def graph(request) -> Graph:
    return graph_of(request.param)


def labels(graph: Graph, urns: set[str]) -> set[str]:
    return {graph.nodes[urn].label for urn in urns}


def policy_of(graph: Graph, name: str) -> dict:
    return json.loads(graph.one(ROLE_POLICY, name).inputs["policy"])


def test_the_sdk_declares_every_input(graph):
    assert not misfits(graph)


def test_every_taggable_resource_is_tagged(graph):
    assert not untagged(graph, "test")


def test_a_preview_declares_the_same_resources(graph):
    name = next(key for key in plans.FLEETS if graph_of(key) is graph)
    assert graph_of(name, preview=True).nodes.keys() == graph.nodes.keys()


def test_every_required_output_is_registered(graph):
    for node in (n for n in graph.nodes.values() if n.type in COMPONENTS):
        declared = Analyzer("rackwright").analyze([COMPONENTS[node.type]])["component_definitions"]
        required = {key for key, output in declared[node.type.rpartition(":")[2]].outputs.items() if not output.optional}
        assert required <= set(node.outputs), node.label


def test_the_plan_as_json_builds_the_same_resources(graph):
    name = next(key for key in plans.FLEETS if graph_of(key) is graph)
    plan = type(plans.FLEETS[name]()).from_json(plans.FLEETS[name]().to_json())
    assert record(lambda: declare(plan) and None).as_json() == graph.as_json()


def test_karpenter_pools_create_no_node_groups():
    assert [node.name for node in graph_of("fleet-fallback").by_type(GROUP)] == ["chat-eks-pool-system-nodes"]
    assert len(graph_of("fleet-fallback").by_type(POOL)) == 3


def test_f5_karpenter_nodes_have_an_access_entry():
    """Without it, nodes stay NotRegistered (ai-on-eks#111). EKS creates the entries of node groups, and a second one is a conflict."""
    graph = graph_of("fleet-eks")
    entries = [node for node in graph.by_type(ENTRY) if node.inputs["type"] == "EC2_LINUX"]
    assert [node.name for node in entries] == ["chat-eks-karpenter-entry"]
    assert entries[0].inputs["principalArn"] == graph.one("aws:iam/role:Role", "chat-eks-karpenter-nodes").state["arn"]
    assert not [n for n in graph_of("fleet-managed").by_type(ENTRY) if n.inputs["type"] == "EC2_LINUX"]


def test_the_node_class_references_the_role_subnet_and_groups_of_the_stack():
    graph = graph_of("fleet-wide")
    spec = graph.one(CLASS).inputs["spec"]
    assert spec["role"] == graph.one("aws:iam/role:Role", "chat-eks-karpenter-nodes").state["name"]
    subnet = graph.one("aws:ec2/subnet:Subnet", "chat-eks-network-subnet-nodes")
    assert spec["subnetSelectorTerms"] == [{"id": subnet.id}]
    groups = [term["id"] for term in spec["securityGroupSelectorTerms"]]
    fabric = graph.one("aws:ec2/securityGroup:SecurityGroup", "chat-eks-network-fabric").id
    assert groups == [graph.one("aws:eks/cluster:Cluster").state["vpcConfig"]["clusterSecurityGroupId"], fabric]
    assert spec["placementGroupSelector"]["name"] == graph.one("aws:ec2/placementGroup:PlacementGroup").inputs["name"]


def test_l2_machines_are_deleted_before_karpenter_its_permissions_and_the_cluster():
    """karpenter-provider-aws#1382 and #5727: nodes survived their cluster. terraform-aws-eks#3005: the access entry was deleted first."""
    graph = graph_of("fleet-eks")
    later = labels(graph, all_before(graph, graph.one(POOL).urn))
    for name in ("chat-eks-layer-karpenter", "chat-eks-layer-karpenter-crd"):
        assert graph.one(RELEASE, name).label in later
    types = {
        "aws:eks/accessEntry:AccessEntry": "chat-eks-karpenter-entry",
        ROLE_POLICY: "chat-eks-karpenter-controller-policy",
        "aws:eks/podIdentityAssociation:PodIdentityAssociation": "chat-eks-karpenter-pods",
        QUEUE: "chat-eks-karpenter-news",
        "aws:sqs/queuePolicy:QueuePolicy": "chat-eks-karpenter-news",
        "aws:eks/cluster:Cluster": "chat-eks-cluster-eks",
        "aws:ec2/subnet:Subnet": "chat-eks-network-subnet-nodes",
        "aws:ec2/natGateway:NatGateway": "chat-eks-network-nat",
    }
    assert {graph.one(*item).label for item in types.items()} <= later
    assert all(f"chat-eks-karpenter-nodes-{policy}" in {graph.nodes[u].name for u in all_before(graph, graph.one(POOL).urn)}
               for policy in ("AmazonEKSWorkerNodePolicy", "policy"))  # fmt: skip
    assert graph.one(CLASS).label in later
    server = graph.one("kubernetes:apps/v1:Deployment")
    assert graph.one(POOL).urn in server.depends_on, "no new machine is asked for while they go"


def test_pods_cannot_get_the_credentials_of_karpenter_nodes():
    """With a hop limit of 1, pods cannot reach the metadata service. Karpenter reads the region from AWS_REGION instead."""
    for name in ("fleet-eks", "fleet-wide"):
        for node_class in graph_of(name).by_type(CLASS):
            assert node_class.inputs["spec"]["metadataOptions"]["httpPutResponseHopLimit"] == 1
        controller = graph_of(name).one(RELEASE, "chat-eks-layer-karpenter").inputs["values"]["controller"]
        assert controller["env"] == [{"name": "AWS_REGION", "value": "us-east-1"}]


def test_l2_a_placement_group_outlives_the_machines_in_it():
    graph = graph_of("fleet-wide")
    assert graph.one("aws:ec2/placementGroup:PlacementGroup").urn in all_before(graph, graph.one(POOL).urn)


def test_l1_the_load_balancer_is_deleted_before_its_subnet_and_the_cluster():
    """pulumi-eks#194, #382, #1226: a load balancer that is not deleted blocks the deletion of subnets, groups and network (recipes F26)."""
    for name in plans.FLEETS:
        graph = graph_of(name)
        entrance = graph.one("kubernetes:core/v1:Service", "chat-eks-layer-serving.entrance")
        later = {graph.nodes[urn].type.rpartition(":")[2] for urn in all_before(graph, entrance.urn)}
        assert {"Cluster", "Subnet", "RouteTableAssociation", "NodeGroup"} <= later
        note = "service.beta.kubernetes.io/aws-load-balancer-subnets"
        subnet = graph.one("aws:ec2/subnet:Subnet", "chat-eks-network-subnet-nodes")
        assert entrance.inputs["metadata"]["annotations"][note] == subnet.id


def test_u3_updates_ignore_the_size_that_the_autoscaler_sets():
    """pulumi-eks#321: an update reset the desired size and ended nodes with running pods."""
    groups = {node.name: node for node in graph_of("fleet-managed").by_type(GROUP)}
    assert "scalingConfig.desiredSize" in groups["chat-eks-pool-gpu-nodes"].options["ignoreChanges"]
    assert not [n for n in graph_of("fleet-managed").by_type("kubernetes:apps/v1:Deployment") if "replicas" in n.inputs["spec"]]
    assert not [n for n in graph_of("fleet-wide").nodes.values() if n.type.endswith("LeaderWorkerSet") and "replicas" in n.inputs["spec"]]


def test_an_empty_node_group_has_tags_that_describe_its_machines():
    plan = plans.compiled(plans.wide_fleet_case(blueprint={"nodes": {"provisioner": "managed"}}))
    graph = recorded(plan)
    told = {
        node.inputs["tag"]["key"].removeprefix("k8s.io/cluster-autoscaler/node-template/"): node.inputs["tag"]
        for node in graph.by_type(TAG)
    }
    assert {key: tag["value"] for key, tag in told.items()} == {
        "resources/nvidia.com/gpu": "8",
        "resources/vpc.amazonaws.com/efa": "32",
        "resources/hugepages-2Mi": "5120Mi",
        "label/rackwright/role": "accelerator",
        "label/k8s.amazonaws.com/accelerator": "nvidia-h100-80gb-sxm5",
        "taint/nvidia.com/gpu": "present:NoSchedule",
    }
    assert {tag["propagateAtLaunch"] for tag in told.values()} == {False}
    group = graph.one(GROUP, "chat-eks-pool-gpu-nodes").state["resources"][0]["autoscalingGroups"][0]["name"]
    assert {node.inputs["autoscalingGroupName"] for node in graph.by_type(TAG)} == {group}


def test_karpenter_permissions_are_limited_to_its_cluster():
    graph = graph_of("fleet-eks")
    text = graph.one(ROLE_POLICY, "chat-eks-karpenter-controller-policy").inputs["policy"]
    assert len(text) < INLINE_POLICY_LIMIT
    free = [s for s in json.loads(text)["Statement"] if s["Resource"] == "*" and "Condition" not in s]
    assert {action for s in free for action in s["Action"]} == {"pricing:GetProducts", "iam:ListInstanceProfiles"}
    for statement in json.loads(text)["Statement"]:
        if {"ec2:TerminateInstances", "ec2:CreateTags", "iam:DeleteInstanceProfile"} & {*statement["Action"]}:
            assert "chat-eks" in json.dumps(statement["Condition"])
        if "iam:PassRole" in statement["Action"]:
            assert statement["Resource"] == graph.one("aws:iam/role:Role", "chat-eks-karpenter-nodes").state["arn"]
            assert statement["Condition"] == {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}


def test_autoscaler_permissions_are_limited_to_its_cluster():
    for statement in policy_of(graph_of("fleet-managed"), "chat-eks-autoscaler-role-policy")["Statement"]:
        if "autoscaling:SetDesiredCapacity" in statement["Action"]:
            assert statement["Condition"] == {"StringEquals": {"aws:ResourceTag/k8s.io/cluster-autoscaler/chat-eks": "owned"}}
        assert "Condition" in statement or statement["Resource"].endswith("nodegroup/chat-eks/*")


def test_the_event_queue_requires_tls_and_expires_messages():
    graph = graph_of("fleet-eks")
    queue = graph.one(QUEUE)
    assert (queue.inputs["messageRetentionSeconds"], queue.inputs["sqsManagedSseEnabled"]) == (300, True)
    allowed, denied = json.loads(graph.one("aws:sqs/queuePolicy:QueuePolicy").inputs["policy"])["Statement"]
    assert allowed["Principal"] == {"Service": "events.amazonaws.com"}
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    heard = {
        json.loads(n.inputs["eventPattern"])["detail-type"][0]
        for n in graph.by_type("aws:cloudwatch/eventRule:EventRule")
        if "karpenter" in n.name
    }
    assert {"EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation", "AWS Health Event"} <= heard
    assert "EC2 Instance State-change Notification" in heard
    settings = graph.one(RELEASE, "chat-eks-layer-karpenter").inputs["values"]["settings"]
    assert settings["interruptionQueue"] == queue.state["name"]


def test_every_role_has_the_permissions_boundary_of_the_plan():
    boundary = "arn:aws:iam::123456789012:policy/boundary"
    for name in ("fleet-eks", "fleet-managed"):
        plan = plans.FLEETS[name]()
        bounded = replace(plan, place=replace(plan.place, boundary_arn=boundary))
        roles = recorded(bounded).by_type("aws:iam/role:Role")
        assert {role.inputs.get("permissionsBoundary") for role in roles} == {boundary}


def test_a_teardown_keeps_every_resource_and_protects_none():
    plan = plans.FLEETS["fleet-eks"]()
    lifted = recorded(plan, teardown=True)
    assert lifted.nodes.keys() == graph_of("fleet-eks").nodes.keys()
    assert not [node.label for node in lifted.nodes.values() if node.protect]


def test_the_number_of_resources_does_not_depend_on_the_number_of_nodes():
    few, many = (plans.compiled(plans.eks_fleet_case(max_replicas=most)) for most in (8, 800))
    assert {*recorded(few).nodes} == {*recorded(many).nodes}


def test_an_upstream_stack_exports_karpenter():
    plan = plans.FLEETS["fleet-eks"]()
    below = recorded(replace(plan, layers=("base", "cluster")))
    handed = below.one("rackwright:index:InferenceFleet").outputs["parts"]["karpenter"]
    assert handed["queueName"] == below.one(QUEUE).state["name"]
    assert not below.by_type(RELEASE)


@pytest.mark.parametrize("name", ["fleet-eks", "fleet-wide"])
def test_pods_start_after_their_credentials(name):
    """A pod of an existing cluster can start at once, and gets credentials only if the association of its account exists before it."""
    graph = recorded(plans.FLEETS[name]())
    kinds = ("kubernetes:apps/v1:Deployment", "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet")
    (server,) = (node for kind in kinds for node in graph.by_type(kind))
    waits = all_before(graph, server.urn)
    account = next(n for n in graph.by_type("kubernetes:core/v1:ServiceAccount") if n.name.endswith("server"))
    identity = {n.urn for n in graph.nodes.values() if "identity-server" in n.name and n.custom}
    assert {graph.nodes[urn].type for urn in identity} >= {"aws:eks/podIdentityAssociation:PodIdentityAssociation", ROLE_POLICY}
    assert {account.urn} | identity <= waits
