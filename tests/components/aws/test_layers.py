"""Each layer of an AWS stack alone, with the outputs of its upstream stack: together they equal the single stack."""

from collections import Counter
from dataclasses import replace

import pulumi
import pytest
from rackwright_pulumi import declare
from rackwright_pulumi.testing import Graph, UnknownStack, record
from rackwright_pulumi.unsupported import Unsupported

from tests import own_plans, plans

SPLITS = {
    "training": [("base",), ("cluster",), ("operators", "workloads")],
    "training in four": [("base",), ("cluster",), ("operators",), ("workloads",)],
    "training in two": [("base", "cluster"), ("operators", "workloads")],
    "box": [("base",), ("workloads",)],
    "fleet of Karpenter": [("base",), ("cluster",), ("operators",), ("workloads",)],
    "fleet of groups": [("base", "cluster"), ("operators", "workloads")],
}
CASES = {
    "training": plans.training_case,
    "box": plans.box_case,
    "fleet of Karpenter": plans.eks_fleet_case,
    "fleet of groups": plans.managed_fleet_case,
}
NOT_SPLIT = ("pulumi:providers:", "pulumi:pulumi:StackReference")


def graph_of(plan, stack_outputs=None, preview=False) -> Graph:
    def program():
        for key, value in declare(plan).stack_outputs().items():
            pulumi.export(key, value)

    return record(program, stack_outputs=stack_outputs or {}, preview=preview)


def resources(graph: Graph) -> Counter:
    return Counter(n.type for n in graph.nodes.values() if n.custom and not n.type.startswith(NOT_SPLIT))


def stacked(plan, split) -> list[Graph]:
    """One graph per stack, each with the outputs of its upstream stacks."""
    graphs, outputs, below = [], {}, ""
    for layers in split:
        graphs.append(graph_of(replace(plan, layers=layers, below=below), outputs))
        below = f"organization/ml/{'-'.join(layers)}"
        outputs[below] = graphs[-1].outputs
    return graphs


@pytest.mark.parametrize("case", SPLITS)
def test_all_layers_together_equal_the_single_stack(case):
    plan = plans.compiled(CASES[case.partition(" in ")[0]]())
    parts = [resources(graph) for graph in stacked(plan, SPLITS[case])]
    assert sum(parts, Counter()) == resources(graph_of(plan))
    assert all(parts)


def test_every_layer_exports_the_values_of_its_upstream_stack():
    graphs = stacked(plans.training_plan(), SPLITS["training"])
    base, cluster, top = (graph.outputs["parts"] for graph in graphs)
    assert base["layers"] == ["base"]
    assert top["layers"] == ["base", "cluster", "operators", "workloads"]
    assert base["key"] == cluster["key"] == top["key"]
    assert set(base["network"]["subnets"]) == {"public", "control-1", "control-2", "nodes"}
    assert cluster["cluster"] == top["cluster"]
    assert cluster["cluster"]["nodeRoleArn"].startswith("arn:aws:iam::")
    assert set(top["identities"]) == {"trainer"}


def test_machines_of_another_stack_use_the_subnets_and_the_fabric_group_of_the_base():
    base, cluster, _ = stacked(plans.training_plan(), SPLITS["training"])
    gpu = next(n for n in cluster.by_type("aws:eks/nodeGroup:NodeGroup") if "gpu" in n.name)
    assert gpu.inputs["subnetIds"] == [base.outputs["parts"]["network"]["subnets"]["nodes"]]
    nics = cluster.one("aws:ec2/launchTemplate:LaunchTemplate", "llama-70b-sft-pool-gpu-template").inputs["networkInterfaces"]
    assert all(base.outputs["parts"]["network"]["fabricGroupId"] in nic["securityGroups"] for nic in nics)


def test_a_base_stack_has_no_cluster_outputs():
    graph = graph_of(replace(plans.training_plan(), layers=("base",)))
    assert graph.outputs.get("clusterName") is None
    assert not [node for node in graph.nodes.values() if "eks" in node.type or node.type.startswith("kubernetes:")]


def test_a_missing_upstream_stack_is_named():
    plan = replace(plans.training_plan(), layers=("cluster",), below="organization/ml/base")
    with pytest.raises(UnknownStack, match="organization/ml/base"):
        graph_of(plan)


@pytest.mark.parametrize("preview", [False, True])
@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ({}, r"stack organization/ml/base has no output parts.*deploy the stack"),
        ({"parts": {"layers": ["base"]}}, r"lacks the layers cluster \(its output parts\.layers is base\): deploy them first"),
        ({"parts": {"layers": ["base", "cluster"]}}, r"stack organization/ml/base has no output parts\."),
    ],
)
def test_a_missing_output_is_named_with_its_stack(outputs, words, preview):
    plan = replace(plans.training_plan(), layers=("operators", "workloads"), below="organization/ml/base")
    with pytest.raises(pulumi.RunError, match=words):
        graph_of(plan, {"organization/ml/base": outputs}, preview)


def test_layers_without_an_upstream_stack_are_refused_by_the_component():
    with pytest.raises(Unsupported, match="operators without an upstream stack"):
        graph_of(replace(plans.training_plan(), layers=("operators",)))


def test_own_servers_build_all_layers_in_one_stack():
    with pytest.raises(Unsupported, match="alone on kubernetes"):
        graph_of(replace(own_plans.OWN["own-fleet"](), layers=("base",)))


def test_disabled_protection_protects_no_resource_and_queues_stay_open():
    plan = replace(plans.training_plan(), protected=False)
    graph = graph_of(plan)
    assert not [node.label for node in graph.nodes.values() if node.protect]
    queues = [node for node in graph.nodes.values() if node.type.endswith(":ClusterQueue")]
    assert queues
    assert not any("stopPolicy" in queue.inputs["spec"] for queue in queues)


def test_the_default_storage_class_is_in_the_stack_of_the_operators_that_claim_disks():
    _, operators, workloads = stacked(plans.training_plan(), (("base", "cluster"), ("operators",), ("workloads",)))
    assert len(operators.by_type("kubernetes:storage.k8s.io/v1:StorageClass")) == 1
    assert not workloads.by_type("kubernetes:storage.k8s.io/v1:StorageClass")
