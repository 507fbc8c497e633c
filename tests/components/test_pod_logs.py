"""Where the logs of pods go, what writes them, and what that costs."""

import json

import pytest
from rackwright.catalog.read import Catalog
from rackwright.cost import bill

from tests import plans
from tests.components.waits import all_before
from tests.graphs import recorded

ON_EKS = {"training": plans.training_case, "fleet": plans.eks_fleet_case}
ON_GKE = {"fleet": plans.fleet_case, "tpu": plans.tpu_case}
GROUP, RELEASE = "aws:cloudwatch/logGroup:LogGroup", "kubernetes:helm.sh/v3:Release"


def case_of(build, pod_logs="cloud"):
    spec, sizing, fit = build()
    chosen = spec.blueprint.model_copy(update={"pod_logs": pod_logs})
    return spec.model_copy(update={"blueprint": chosen}), sizing, fit


def graph_of(build, pod_logs="cloud"):
    plan = plans.compiled(case_of(build, pod_logs))
    return recorded(plan)


def logs_of_pods(graph):
    return [node for node in graph.by_type(GROUP) if node.inputs.get("name", "").endswith("/pods")]


def billed(build, pod_logs="cloud"):
    case = case_of(build, pod_logs)
    return {line.what: line for line in bill(plans.compiled(case), case[2], case[0], Catalog.default()).lines if "pod logs" in line.what}


@pytest.mark.parametrize("build", ON_EKS.values(), ids=ON_EKS)
def test_eks_writes_to_an_encrypted_group_with_retention(build):
    graph = graph_of(build)
    (group,) = logs_of_pods(graph)
    (release,) = [node for node in graph.by_type(RELEASE) if node.inputs["name"] == "aws-for-fluent-bit"]
    assert group.inputs["kmsKeyId"].startswith("arn:aws:kms:")
    assert group.inputs["retentionInDays"] == 90
    output = release.inputs["values"]["cloudWatchLogs"]
    assert (output["logGroupName"], output["region"], output["autoCreateGroup"]) == (group.inputs["name"], "us-east-1", False)
    assert release.inputs["values"]["tolerations"] == [{"operator": "Exists"}], "it runs on accelerator nodes"
    assert group.urn in all_before(graph, release.urn), "the group is deleted after the pods that write to it"


def test_the_pods_can_write_to_their_group_only():
    graph = graph_of(plans.training_case)
    (policy,) = [node for node in graph.by_type("aws:iam/rolePolicy:RolePolicy") if "pod-logs" in node.name]
    (statement,) = json.loads(policy.inputs["policy"])["Statement"]
    assert statement["Action"] == ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
    assert all(arn.startswith("arn:aws:logs:") and "/pods" in arn for arn in statement["Resource"])
    (pods,) = [node for node in graph.by_type("aws:eks/podIdentityAssociation:PodIdentityAssociation") if "pod-logs" in node.name]
    assert (pods.inputs["namespace"], pods.inputs["serviceAccount"]) == ("kube-system", "pod-logs")


@pytest.mark.parametrize("build", ON_EKS.values(), ids=ON_EKS)
def test_eks_sends_none_by_default(build):
    graph = graph_of(build, "none")
    assert logs_of_pods(graph) == []
    assert "aws-for-fluent-bit" not in {node.inputs["name"] for node in graph.by_type(RELEASE)}
    assert billed(build, "none") == {}


@pytest.mark.parametrize(("pod_logs", "components"), [("none", ["SYSTEM_COMPONENTS"]), ("cloud", ["SYSTEM_COMPONENTS", "WORKLOADS"])])
@pytest.mark.parametrize("build", ON_GKE.values(), ids=ON_GKE)
def test_gke_collects_the_logs_of_pods_where_the_spec_sends_them(build, pod_logs, components):
    cluster = graph_of(build, pod_logs).one("gcp:container/cluster:Cluster")
    assert cluster.inputs["loggingConfig"] == {"enableComponents": components}
    assert bool(billed(build, pod_logs)) is (pod_logs == "cloud")


def test_the_bill_has_the_price_of_a_gib_and_no_amount():
    lines = billed(plans.training_case)
    assert {what: (line.unit_price_usd, line.quantity) for what, line in lines.items()} == {
        "pod logs": (0.5, None),
        "pod logs, kept 90 days": (0.03, None),
    }
    assert [line.unit_price_usd for line in billed(plans.fleet_case).values()] == [0.5]
