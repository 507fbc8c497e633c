"""Box and TrainingCluster as whole programs with a plan."""

from dataclasses import replace
from functools import cache

import pulumi
import pytest
from pulumi.provider.experimental.analyzer import Analyzer
from pulumi_aws import Provider
from rackwright.stackplan import CapacityPlan, StackPlan
from rackwright_pulumi.aws.addons import AwsAddons
from rackwright_pulumi.aws.box.box import AwsBox
from rackwright_pulumi.aws.cluster.cluster import AwsCluster
from rackwright_pulumi.aws.cost_alerts import AwsGuard
from rackwright_pulumi.aws.identity.identity import AwsIdentity
from rackwright_pulumi.aws.key import AwsKey
from rackwright_pulumi.aws.network.network import AwsNetwork
from rackwright_pulumi.aws.pool.pool import AwsPool
from rackwright_pulumi.aws.storage.storage import AwsStorage
from rackwright_pulumi.blueprints.box import Box
from rackwright_pulumi.blueprints.training_cluster import TrainingCluster
from rackwright_pulumi.testing import Graph, record
from rackwright_pulumi.testing.diff import compare
from rackwright_pulumi.unsupported import Unsupported

from tests import plans
from tests.components.sdk import misfits, untagged
from tests.components.waits import all_before, longest_path

BLUEPRINTS = {"box": (Box, plans.box_plan), "training": (TrainingCluster, plans.training_plan)}
ADDON, NODE_GROUP, CLUSTER = "aws:eks/addon:Addon", "aws:eks/nodeGroup:NodeGroup", "aws:eks/cluster:Cluster"
COMPONENTS = {
    f"rackwright:index:{kind.__name__}": kind
    for kind in (AwsAddons, AwsBox, AwsCluster, AwsGuard, AwsIdentity, AwsKey, AwsNetwork, AwsPool, AwsStorage, Box, TrainingCluster)
}
PATH_LIMIT = 25
"""Steps of the longest way through the dependencies: network, cluster, add-on, pool, add-on, namespace, releases, queue objects; a chain
would grow with what the plan wants."""
BUCKET = "aws:s3/bucket:Bucket"


def graph_of(blueprint: str, plan: StackPlan | str | None = None, preview: bool = False, **args) -> Graph:
    kind, default = BLUEPRINTS[blueprint]

    def program():
        provider = Provider("aws", region="us-east-1")
        made = kind(default().name, {"plan": plan or default(), **args}, pulumi.ResourceOptions(providers=[provider]))
        for key, value in made.stack_outputs().items():
            pulumi.export(key, value)

    return record(program, preview=preview)


@cache
def standard(blueprint: str) -> Graph:
    return graph_of(blueprint)


@pytest.fixture(params=BLUEPRINTS)
def graph(request) -> Graph:
    return standard(request.param)


def test_every_component_registers_outputs(graph):
    assert not graph.unregistered()


def test_every_declared_output_is_registered(graph):
    """Outputs equal the schema of the component package, which the engine passes to other languages."""
    for node in (n for n in graph.nodes.values() if n.type in COMPONENTS):
        declared = Analyzer("rackwright").analyze([COMPONENTS[node.type]])["component_definitions"]
        required = {key for key, output in declared[node.type.rpartition(":")[2]].outputs.items() if not output.optional}
        assert required <= set(node.outputs), node.label


def test_every_resource_is_below_the_blueprint(graph):
    tops = [node for node in graph.nodes.values() if not node.parent]
    assert sorted(node.type.rpartition(":")[2] for node in tops)[1:] == ["aws"]


def test_every_cloud_resource_uses_the_provider_of_the_component(graph):
    cloud = [node for node in graph.nodes.values() if node.type.startswith("aws:")]
    assert all("pulumi:providers:aws::aws::" in node.provider for node in cloud)


def test_the_sdk_declares_every_input(graph):
    assert not misfits(graph)


def test_every_taggable_resource_has_owner_name_and_expiry(graph):
    assert not untagged(graph, "test")
    assert {n.inputs["tags"]["expires-on"] for n in graph.nodes.values() if "tags" in n.inputs} <= {"2026-11-28", "2026-12-05"}


def test_dependencies_are_direct_and_few(graph):
    assert longest_path(graph) <= PATH_LIMIT
    assert max(len(node.depends_on) for node in graph.nodes.values()) < 40


def test_a_preview_declares_the_same_resources_with_the_same_inputs(graph):
    blueprint = next(key for key, (kind, _) in BLUEPRINTS.items() if graph.by_type(f"rackwright:index:{kind.__name__}"))
    foreseen = graph_of(blueprint, preview=True)
    assert foreseen.nodes.keys() == graph.nodes.keys()
    missing = {urn: graph.nodes[urn].inputs.keys() - node.inputs.keys() for urn, node in foreseen.nodes.items()}
    assert not [urn for urn, keys in missing.items() if keys]


def test_exactly_the_resources_with_state_are_protected():
    kinds = {key: sorted(n.type.rpartition(":")[2] for n in standard(key).nodes.values() if n.protect) for key in BLUEPRINTS}
    assert kinds == {
        "box": ["Bucket", "Key", "Volume", "Vpc"],
        "training": ["Cluster", "Key", "LustreFileSystem", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "Vpc"],
    }


@pytest.mark.parametrize("blueprint", BLUEPRINTS)
def test_a_teardown_removes_every_protection(blueprint):
    plan = BLUEPRINTS[blueprint][1]()
    lifted = graph_of(blueprint, replace(plan, buckets=tuple(replace(b, existing_name="") for b in plan.buckets)), teardown=True)
    assert not [node.label for node in lifted.nodes.values() if node.protect]
    flags = {
        flag: {n.inputs[flag] for n in lifted.nodes.values() if flag in n.inputs}
        for flag in ("deletionProtection", "disableApiTermination")
    }
    assert True not in flags["deletionProtection"] | flags["disableApiTermination"]
    assert {n.inputs["forceDestroy"] for n in lifted.by_type(BUCKET)} == {True}


@pytest.mark.parametrize("blueprint", BLUEPRINTS)
def test_a_teardown_keeps_every_resource(blueprint):
    """`teardown: true` with `up` replaces and removes no resource; only `destroy` does."""
    assert graph_of(blueprint, teardown=True).nodes.keys() == standard(blueprint).nodes.keys()


@pytest.mark.parametrize("blueprint", BLUEPRINTS)
def test_the_plan_as_json_builds_the_same_resources(blueprint):
    assert graph_of(blueprint, BLUEPRINTS[blueprint][1]().to_json()).as_json() == standard(blueprint).as_json()


@pytest.mark.parametrize("blueprint", BLUEPRINTS)
def test_a_stack_exports_what_the_component_registers(blueprint):
    graph = standard(blueprint)
    assert graph.outputs == graph.one(f"rackwright:index:{BLUEPRINTS[blueprint][0].__name__}").outputs


def test_512_nodes_are_as_many_resources_as_two():
    few, many = (graph_of("training", plans.compiled(plans.training_case(nodes))) for nodes in (2, 512))
    assert few.nodes.keys() == many.nodes.keys()


def test_u2_adding_an_administrator_replaces_nothing():
    """pulumi-eks 877, 980 and 1086: a new administrator replaced node groups, and every update rewrote the mapping."""
    one, two = (["arn:aws:iam::123456789012:role/a"], ["arn:aws:iam::123456789012:role/a", "arn:aws:iam::123456789012:role/b"])
    before, after = (graph_of("training", admin_arns=arns).as_json() for arns in (one, two))
    assert {(c.operation, c.type) for c in compare(before, after)} == {
        ("create", "aws:eks/accessEntry:AccessEntry"),
        ("create", "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"),
    }
    assert compare(before, graph_of("training", admin_arns=one).as_json()) == []


def test_f2_the_pod_network_precedes_the_system_machines_and_add_ons_with_pods_follow_them():
    graph = standard("training")
    system = graph.one(NODE_GROUP, "llama-70b-sft-pool-system-nodes")
    named = {node.inputs["addonName"]: node for node in graph.by_type(ADDON)}
    for name in ("coredns", "aws-ebs-csi-driver", "aws-fsx-csi-driver", "metrics-server", "eks-node-monitoring-agent"):
        assert system.urn in all_before(graph, named[name].urn)
    for name in ("vpc-cni", "kube-proxy", "eks-pod-identity-agent"):
        assert all(named[name].urn in all_before(graph, node.urn) for node in graph.by_type(NODE_GROUP))


def test_pools_do_not_depend_on_each_other():
    graph = standard("training")
    pools = {node.urn for node in graph.by_type(NODE_GROUP)}
    assert not [urn for urn in pools if pools & all_before(graph, urn)]


def test_the_file_system_does_not_wait_for_the_cluster():
    graph = standard("training")
    lustre = graph.one("aws:fsx/lustreFileSystem:LustreFileSystem")
    assert graph.one(CLUSTER).urn not in all_before(graph, lustre.urn)


def test_accelerators_are_in_one_subnet_and_system_machines_in_two_zones():
    graph = standard("training")
    subnets = ((node.id, node.inputs) for node in graph.by_type("aws:ec2/subnet:Subnet"))
    zones = {key: inputs.get("availabilityZone") or inputs["availabilityZoneId"] for key, inputs in subnets}
    placed = {node.name.split("-")[-2]: [zones[s] for s in node.inputs["subnetIds"]] for node in graph.by_type(NODE_GROUP)}
    assert placed == {"gpu": ["us-east-1a"], "system": ["use1-az1", "use1-az2"]}
    assert sorted(zones[s] for s in graph.one(CLUSTER).inputs["vpcConfig"]["subnetIds"]) == ["use1-az1", "use1-az2"]


def test_interfaces_are_members_of_the_fabric_and_of_the_cluster():
    graph = standard("training")
    fabric = graph.one("aws:ec2/securityGroup:SecurityGroup", "llama-70b-sft-network-fabric")
    cluster = graph.one(CLUSTER)
    nics = graph.one("aws:ec2/launchTemplate:LaunchTemplate", "llama-70b-sft-pool-gpu-template").inputs["networkInterfaces"]
    assert {tuple(n["securityGroups"]) for n in nics} == {(fabric.id, cluster.state["vpcConfig"]["clusterSecurityGroupId"])}


def test_f26_kubernetes_objects_are_deleted_before_access_machines_add_ons_and_routes():
    graph = standard("training")
    release = graph.one("kubernetes:helm.sh/v3:Release", "llama-70b-sft-layer-kueue")
    types = {graph.nodes[urn].type.rpartition(":")[2] for urn in all_before(graph, release.urn)}
    assert types >= {"Addon", "NodeGroup", "Cluster", "RouteTableAssociation", "NatGateway"}
    assert "aws:ec2/natGateway:NatGateway" in {graph.nodes[urn].type for urn in all_before(graph, graph.by_type(NODE_GROUP)[0].urn)}


def test_kubernetes_objects_depend_on_access_entries():
    graph = graph_of("training", admin_arns=["arn:aws:iam::123456789012:role/Ci"])
    entries = {node.urn for node in graph.by_type("aws:eks/accessPolicyAssociation:AccessPolicyAssociation")}
    inside = [urn for urn, node in graph.nodes.items() if node.type.startswith("kubernetes:")]
    assert inside
    assert len(entries) == 2, "the deployer, and the one that is known only at deployment"
    assert all(entries <= set(all_before(graph, urn)) for urn in inside)


def test_the_kubeconfig_is_secret_in_every_output():
    graph = standard("training")
    assert repr(graph.outputs["kubeconfig"]) == "[secret]"
    (provider,) = graph.by_type("pulumi:providers:kubernetes")
    assert "kubeconfig" in provider.secret_inputs
    assert provider.inputs["clusterIdentifier"] == "llama-70b-sft"
    assert graph.outputs["kubeconfigCommand"] == "aws eks update-kubeconfig --name llama-70b-sft --region us-east-1"


def test_a_training_cluster_outputs_the_expected_fabric():
    outputs = standard("training").outputs
    assert outputs["bucketNames"] == {"data": "team", "checkpoints": "team-ckpt"}
    assert outputs["lustre"]["dnsName"].endswith(".fsx.us-east-1.amazonaws.com")
    assert outputs["expectedFabric"]["interfacesPerNode"] == 32


def test_the_persistent_volume_references_the_file_system():
    graph = standard("training")
    volume = graph.one("kubernetes:core/v1:PersistentVolume")
    assert graph.one("aws:fsx/lustreFileSystem:LustreFileSystem").urn in volume.property_dependencies["spec"]


def test_c1_a_capacity_block_reaches_the_template():
    plan = plans.training_plan()
    block = CapacityPlan("capacity-block", "cr-0123456789abcdef0")
    pools = tuple(replace(p, capacity=block, nodes_min=0) if p.role == "accelerator" else p for p in plan.pools)
    graph = graph_of("training", replace(plan, pools=pools))
    assert not graph.by_type("aws:ec2/placementGroup:PlacementGroup")
    assert {n.inputs["capacityType"] for n in graph.by_type(NODE_GROUP)} == {"CAPACITY_BLOCK", "ON_DEMAND"}


def test_pinned_image_releases_reach_their_pools():
    plan = plans.training_plan()
    pinned = replace(plan, pins=replace(plan.pins, images=(("al2023-nvidia", "1.35.0-20261110"),)))
    found = {n.inputs["amiType"]: n.inputs.get("releaseVersion") for n in graph_of("training", pinned).by_type(NODE_GROUP)}
    assert found == {"AL2023_x86_64_NVIDIA": "1.35.0-20261110", "AL2023_x86_64_STANDARD": None}


def test_a_box_is_private_and_outputs_a_connect_command():
    graph = standard("box")
    machine = graph.one("aws:ec2/instance:Instance")
    subnet = next(n for n in graph.by_type("aws:ec2/subnet:Subnet") if n.id == machine.inputs["subnetId"])
    assert subnet.name == "mistral-7b-qlora-network-subnet-private"
    assert graph.outputs["connectCommand"] == f"aws ssm start-session --target {machine.id} --region us-east-1"
    assert set(graph.outputs["bucketNames"]) == {"data", "checkpoints"}


def test_f26_a_box_is_deleted_before_its_nat_gateway():
    graph = standard("box")
    assert graph.one("aws:ec2/natGateway:NatGateway").urn in all_before(graph, graph.one("aws:ec2/instance:Instance").urn)


def test_secrets_of_a_box_are_stored_under_the_stack_name():
    graph = graph_of("box", secrets={"hf-token": "hf_abc"})
    assert graph.one("aws:ssm/parameter:Parameter").inputs["name"] == "/mistral-7b-qlora/hf-token"


def test_a_plan_without_account_uses_that_of_the_credentials():
    plan = plans.box_plan()
    graph = graph_of("box", replace(plan, place=replace(plan.place, account="")))
    assert "aws:index/getCallerIdentity:getCallerIdentity" in {token for token, _ in graph.invokes}
    assert not [n for n in standard("box").invokes if "getCallerIdentity" in n[0]]


@pytest.mark.parametrize("blueprint", BLUEPRINTS)
def test_another_cloud_is_unsupported(blueprint):
    plan = BLUEPRINTS[blueprint][1]()
    with pytest.raises(Unsupported, match=r"place.cloud: .* on elsewhere is not supported .* instead: .*aws"):
        graph_of(blueprint, replace(plan, place=replace(plan.place, cloud="elsewhere")))


def test_the_wrong_kind_of_plan_is_refused():
    with pytest.raises(Unsupported, match="kind: a plan of kind training-cluster with the component for box"):
        graph_of("box", plans.training_plan())
    with pytest.raises(Unsupported, match="kind: a plan of kind box with the component for training-cluster"):
        graph_of("training", plans.box_plan())
