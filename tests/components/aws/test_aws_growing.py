"""AwsKarpenter and AwsAutoscaler alone, as a platform team uses them with its own cluster."""

import inspect
import json
import textwrap
from dataclasses import replace

import pytest
from rackwright.stackplan import KarpenterPlan, NicPlan, PoolPlan, TaintPlan
from rackwright_pulumi.aws.autoscaling import AwsAutoscaler, template_tags
from rackwright_pulumi.aws.karpenter import AwsKarpenter
from rackwright_pulumi.testing import record

from tests.components.sdk import misfits

ARGS = {
    "cluster_name": "serving",
    "cluster_arn": "arn:aws:eks:us-east-1:123456789012:cluster/serving",
    "account": "123456789012",
    "region": "us-east-1",
    "kms_key_arn": "arn:aws:kms:us-east-1:123456789012:key/k",
    "tags": {"owner": "test"},
}


def karpenter(want: KarpenterPlan | str):
    return record(lambda: AwsKarpenter("fleet", ARGS | {"karpenter": want}) and None)


def example(kind: type) -> str:
    """The indented part of a component's documentation."""
    text = inspect.cleandoc(kind.__doc__)
    return textwrap.dedent("\n".join(line for line in text.splitlines() if line.startswith("    ") or not line))


@pytest.mark.parametrize("kind", [AwsKarpenter, AwsAutoscaler])
def test_the_example_in_the_documentation_runs(kind):
    code = example(kind)
    assert len(code.strip().splitlines()) < 20
    graph = record(lambda: exec(code, {k.__name__: k for k in (AwsKarpenter, AwsAutoscaler, KarpenterPlan, PoolPlan)}))
    assert not misfits(graph)
    assert graph.by_type(f"rackwright:index:{kind.__name__}")


def test_names_do_not_change():
    names = {node.name for node in karpenter(KarpenterPlan()).nodes.values() if node.custom}
    assert {
        "fleet-nodes",
        "fleet-controller",
        "fleet-controller-policy",
        "fleet-entry",
        "fleet-pods",
        "fleet-news",
        "fleet-on-spot",
    } <= names


def test_without_interruption_events_there_is_no_queue():
    graph = karpenter(KarpenterPlan(interruptions=False))
    assert not graph.by_type("aws:sqs/queue:Queue")
    assert not graph.by_type("aws:cloudwatch/eventRule:EventRule")
    assert graph.one("rackwright:index:AwsKarpenter").outputs["queueName"] == ""
    assert "sqs:" not in graph.one("aws:iam/rolePolicy:RolePolicy", "fleet-controller-policy").inputs["policy"]


def test_the_plan_can_be_json():
    assert karpenter('{"interruptions": false}').nodes.keys() == karpenter(KarpenterPlan(interruptions=False)).nodes.keys()


def test_placement_groups_have_the_name_that_karpenter_looks_up():
    graph = karpenter(KarpenterPlan(adjacent=("wide-gpu",)))
    assert graph.one("aws:ec2/placementGroup:PlacementGroup").inputs["name"] == "wide-gpu"


def test_tags_of_an_empty_group_include_accelerators_and_efa():
    pool = PoolPlan("gpu", "g6e.xlarge", ("us-east-1a",), 0, 8, 0, resource="nvidia.com/gpu", accelerator_count=1)
    prefix = "k8s.io/cluster-autoscaler/node-template"
    assert template_tags(pool) == {f"{prefix}/resources/nvidia.com/gpu": "1"}
    l40s = replace(pool, autoscaled=True, accelerator="NVIDIA L40S")
    assert template_tags(l40s)[f"{prefix}/label/k8s.amazonaws.com/accelerator"] == "nvidia-l40s"
    taint = TaintPlan("nvidia.com/gpu", "present")
    wide = replace(pool, nics=(NicPlan(0, 0, "ip"), NicPlan(0, 1, "fabric")), taints=(taint,), labels=(("a/b", "c"),))
    assert template_tags(wide) == {
        f"{prefix}/resources/nvidia.com/gpu": "1",
        f"{prefix}/resources/vpc.amazonaws.com/efa": "1",
        f"{prefix}/resources/hugepages-2Mi": "5120Mi",
        f"{prefix}/label/a/b": "c",
        f"{prefix}/taint/nvidia.com/gpu": "present:NoSchedule",
    }


def test_nodes_have_session_manager_and_read_no_parameters():
    """Pods on the host network have the node's role: it cannot read parameters or change network interfaces."""
    graph = karpenter(KarpenterPlan())
    attached = [n.inputs["policyArn"].rpartition("/")[2] for n in graph.by_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment")]
    assert sorted(attached) == ["AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy"]
    policy = graph.one("aws:iam/rolePolicy:RolePolicy", "fleet-nodes-policy").inputs["policy"]
    (statement,) = json.loads(policy)["Statement"]
    assert {action.partition(":")[0] for action in statement["Action"]} == {"ssm", "ssmmessages"}
    assert not [action for action in statement["Action"] if "Parameter" in action or "*" in action]
