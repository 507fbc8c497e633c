"""Graphs of the components violate no rule, and graphs with a deliberate fault do."""

from copy import deepcopy
from dataclasses import replace

import pytest
from pulumi import ResourceOptions
from pulumi_kubernetes import Provider
from rackwright.stackplan import ManifestPlan, ReleasePlan
from rackwright_pulumi.kubernetes.workloads import KubernetesLayer
from rackwright_pulumi.policies import broken
from rackwright_pulumi.policies.graph_view import NODE_GROUP, TEMPLATE
from rackwright_pulumi.testing import record

from tests import graphs, plans
from tests.graphs import PLANS, graph_of

pytest_plugins = ["rackwright_pulumi.testing.fixtures"]
BLOCK = {
    "id": "cr-0123456789abcdef0",
    "instance": "p5.48xlarge",
    "count": 4,
    "zone": "us-east-1a",
    "start": "2026-12-01T11:30:00Z",
    "end": "2026-12-08T11:30:00Z",
}
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"


def recorded(plan):
    """A graph that the test may change."""
    return deepcopy(graphs.recorded(plan, stack=plan.name))


def block_plan():
    place = plans.AWS | {"capacity": {"ordered": [{"capacity_block": BLOCK}]}}
    return plans.compiled(plans.training_case(place=place, capacity="capacity-block", capacity_id=BLOCK["id"]))


def on(machine, **nodes):
    blueprint = {"ttl": "14d", "api_access": {"cidrs": ["203.0.113.0/24"]}} | ({"nodes": nodes} if nodes else {})
    return plans.compiled(plans.training_case(machine=machine, blueprint=blueprint))


def codes(graph):
    return sorted({problem.code for problem in broken(graph)})


@pytest.fixture
def training():
    return recorded(plans.training_plan())


@pytest.mark.parametrize("name", PLANS)
def test_every_blueprint_satisfies_every_rule(name):
    assert list(map(str, broken(graph_of(name)))) == []


@pytest.mark.parametrize(
    "machine", ["p4d.24xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge", "g6e.48xlarge", "g6.48xlarge"]
)
def test_every_interface_layout_satisfies_every_rule(machine):
    assert list(map(str, broken(recorded(on(machine))))) == []


@pytest.mark.parametrize("machine", ["p4d.24xlarge", "p5.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge"])
def test_the_most_bandwidth_layout_satisfies_every_rule(machine):
    graph = recorded(on(machine, interfaces="most-bandwidth"))
    template = graph.one(TEMPLATE, "llama-70b-sft-pool-gpu-template")
    assert sum(nic["interfaceType"] == "interface" for nic in template.inputs["networkInterfaces"]) > 1
    assert list(map(str, broken(graph))) == []


def test_a_capacity_block_satisfies_every_rule():
    assert list(map(str, broken(recorded(block_plan())))) == []


def test_a_reservation_is_used_without_a_placement_group():
    """https://github.com/eksctl-io/eksctl/issues/7949: of 16 reserved machines, 11 were obtained."""
    graph = recorded(block_plan())
    assert not graph.by_type("aws:ec2/placementGroup:PlacementGroup")
    assert all("placement" not in template.inputs for template in graph.by_type(TEMPLATE))


def test_every_fabric_interface_is_used(training):
    """https://github.com/skypilot-org/skypilot/issues/8391: one interface of four was used, without an error."""
    nics = training.one(TEMPLATE, "llama-70b-sft-pool-gpu-template").inputs["networkInterfaces"]
    assert sum(nic["interfaceType"] == "efa-only" for nic in nics) == 32
    assert len({nic["networkCardIndex"] for nic in nics if nic["interfaceType"] == "efa-only"}) == 32


@pytest.mark.parametrize("direction", [EGRESS, INGRESS])
def test_a_missing_rule_of_the_fabric_group_is_reported(training, direction):
    """https://github.com/aws-samples/awsome-distributed-ai/pull/259: the group allowed one direction only."""
    for urn, node in list(training.nodes.items()):
        if (
            node.type == direction
            and node.inputs.get("referencedSecurityGroupId") == node.inputs["securityGroupId"]
            and "fabric" in node.name
        ):
            del training.nodes[urn]
    assert codes(training) == ["V-21"]


def test_an_existing_group_is_not_checked(training):
    """https://github.com/aws/aws-parallelcluster/issues/3590: a validator rejected a group whose rules it had not read."""
    template = training.one(TEMPLATE, "llama-70b-sft-pool-gpu-template")
    own = next(node.id for node in training.nodes.values() if node.name == "llama-70b-sft-network-fabric")
    for nic in template.inputs["networkInterfaces"]:
        nic["securityGroups"] = ["sg-that-exists" if group == own else group for group in nic["securityGroups"]]
    assert broken(training) == []


def test_machines_start_with_fabric_and_placement_group(training):
    """EFA and placement group are part of the launch template, so the first machine has both."""
    template = training.one(TEMPLATE, "llama-70b-sft-pool-gpu-template")
    group = training.one("aws:ec2/placementGroup:PlacementGroup")
    nodes = training.one(NODE_GROUP, "llama-70b-sft-pool-gpu-nodes")
    assert template.inputs["placement"]["groupName"] == group.id
    assert group.urn in template.depends_on
    assert template.urn in nodes.depends_on


def test_a_missing_access_entry_of_karpenter_is_reported():
    """Without the entry, machines start, cost money and never join."""
    graph = recorded(plans.FLEETS["fleet-eks"]())
    for entry in [node for node in graph.by_type("aws:eks/accessEntry:AccessEntry") if node.inputs.get("type") == "EC2_LINUX"]:
        del graph.nodes[entry.urn]
    assert set(codes(graph)) == {"F5"}


def test_coredns_without_a_node_group_is_reported(training):
    dns = next(node for node in training.by_type("aws:eks/addon:Addon") if node.inputs["addonName"] == "coredns")
    late = training.nodes[dns.parent]
    late.depends_on = [urn for urn in late.depends_on if "NodeGroup" not in urn]
    assert codes(training) == ["F2"]


def test_metadata_options_and_encryption_are_checked(training):
    template = training.one(TEMPLATE, "llama-70b-sft-pool-gpu-template")
    template.inputs["metadataOptions"]["httpTokens"] = "optional"
    template.inputs["blockDeviceMappings"][0]["ebs"]["encrypted"] = "false"
    assert codes(training) == ["V-40", "V-41"]


def test_only_warnings_can_be_acknowledged(training):
    for urn in [urn for urn, node in training.nodes.items() if node.type.endswith(":RouteTableAssociation")]:
        del training.nodes[urn]
    key = next(node for node in training.nodes.values() if node.type == "aws:kms/key:Key")
    key.inputs["policy"] = None
    template = training.one(TEMPLATE, "llama-70b-sft-pool-gpu-template")
    template.inputs["metadataOptions"]["httpTokens"] = "optional"
    assert [problem.code for problem in broken(training)] == ["V-40", "V-42", "V-42"]
    assert [problem.code for problem in broken(training, acknowledged=["V-40", "V-42"])] == ["V-40"]


def test_the_lawful_fixture_reports_violations(lawful, training):
    lawful(training)
    training.one(TEMPLATE, "llama-70b-sft-pool-gpu-template").inputs["metadataOptions"]["httpTokens"] = "optional"
    with pytest.raises(AssertionError, match="V-40"):
        lawful(training)


@pytest.mark.parametrize("name", PLANS)
def test_unknown_values_of_a_preview_violate_no_rule(name):
    assert broken(graph_of(name, preview=True)) == []


def test_1024_machines_violate_no_rule():
    """2 and 1,024 machines have the same resources."""
    plan = plans.training_plan()
    gpu = replace(plan.pool("gpu"), nodes_max=1024)
    many = replace(plan, pools=tuple(gpu if pool.name == "gpu" else pool for pool in plan.pools))
    assert broken(recorded(many)) == []


def test_f17_looks_at_the_releases_of_the_same_cluster():
    """Two clusters in one program: each has its operators, and a custom resource waits for those of its cluster."""

    def program():
        for name in ("one", "two"):
            provider = Provider(name, kubeconfig=f"name: {name}")
            releases = (ReleasePlan("kueue", "kueue-system", "oci://registry.k8s.io/kueue/charts/kueue", f"0.19.2@sha256:{0:064}"),)
            body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "gpu"}}
            manifests = (ManifestPlan("flavor", body, after=("kueue",)),)
            args = {"namespaces": (), "releases": releases, "manifests": manifests, "refs": {}, "protect": False}
            KubernetesLayer(f"{name}-layer", args, ResourceOptions(provider=provider))

    graph = record(program)
    assert codes(graph) == []
    next(node for node in graph.nodes.values() if node.name == "two-layer-flavor").depends_on.clear()
    assert [(p.code, "two-layer-kueue" in p.reason) for p in broken(graph)] == [("F17", True)]
