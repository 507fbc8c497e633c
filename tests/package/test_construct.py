"""A component constructed over the wire builds the same resources as in a Python program."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial, partialmethod
from typing import Any

import pulumi
import pytest
from pydantic_core import to_json
from rackwright.stackplan import StackPlan
from rackwright_pulumi.package.served import COMPONENTS, component_class
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.testing import Graph, record

from tests import gke_plans, plans
from tests.package.toy import Deployment, output

PLANS = {"TrainingCluster": plans.training_plan, "TpuPod": plans.tpu_plan}
PROVIDERS = {"aws": {"region": "us-east-1"}, "gcp": {"project": "my-project", "region": "us-central1"}, "kubernetes": {"kubeconfig": "{}"}}


def told(graph: Graph) -> dict[str, Any]:
    """Every node except the caller's provider; values that are unknown in a preview are `(unknown)`."""
    text = json.dumps(graph.as_json()["resources"], default=lambda _: "(unknown)")
    return {node["urn"]: node for node in json.loads(text) if node["parent"] or not node["type"].startswith("pulumi:providers:")}


def constructed(plugin, name: str, preview: bool) -> tuple[Graph, dict[str, Any]]:
    plan = PLANS[name]()
    with Deployment(plugin, preview) as deployment:
        given = deployment.provider(plan.place.cloud, PROVIDERS[plan.place.cloud])
        outputs = deployment.construct(name, plan.name, {"plan": plan.to_json()}, given)
        return deployment.recorded(), outputs


@pytest.fixture(scope="module", params=[False, True], ids=["update", "preview"])
def both(plugin, request):
    """Two concurrent deployments in one plugin process."""
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(partial(constructed, plugin, preview=request.param), PLANS))
    return request.param, dict(zip(PLANS, made, strict=True))


@pytest.mark.parametrize("name", PLANS)
def test_the_graph_is_that_of_a_python_program(both, name):
    preview, made = both
    here = told(record(lambda: declare(PLANS[name]()) and None, preview=preview))
    there = told(made[name][0])
    assert there.keys() == here.keys()
    assert {urn: node for urn, node in there.items() if node != here[urn]} == {}


def test_a_training_cluster_returns_its_outputs(both):
    preview, made = both
    outputs = made["TrainingCluster"][1]
    assert outputs["clusterName"] == "llama-70b-sft"
    assert outputs["bucketNames"] == {"checkpoints": "team-ckpt", "data": "team"}
    assert "4dabf18193072939515e22adb298388d" in outputs["kubeconfig"], "the kubeconfig travels as a secret"
    assert preview or outputs["endpoint"].startswith("https://")


def test_a_pod_outputs_its_slices(both):
    [piece] = both[1]["TpuPod"][1]["slices"]
    assert (piece["machine"], piece["topology"], piece["hosts"], piece["chipsPerHost"]) == ("ct6e-standard-4t", "4x4", 4, 4)


def test_a_secret_remains_secret_in_kubernetes_objects(plugin):
    plan = plans.compiled(plans.with_secret(*plans.fleet_case()))
    with Deployment(plugin) as deployment:
        secrets = {"hf-token": {**output("hf_s3cr3t"), "secret": True}}
        deployment.construct("InferenceFleet", plan.name, {"plan": plan.to_json(), "secrets": secrets}, deployment.provider("gcp", {}))
        graph = deployment.recorded()
    [kept] = graph.by_type("kubernetes:core/v1:Secret")
    assert kept.secret_inputs == {"stringData"}
    assert "hf_s3cr3t" not in json.dumps(graph.as_json())


def test_an_output_given_by_the_caller_is_a_dependency_and_protect_is_inherited(plugin):
    plan = plans.training_plan()
    with Deployment(plugin) as deployment:
        role = deployment.register("aws:iam/role:Role", "admin", {"assumeRolePolicy": "{}"}, deployment.root).urn
        inputs = {"plan": plan.to_json(), "teardown": True, "adminArns": [output("arn:aws:iam::123456789012:role/admin", role)]}
        deployment.construct("TrainingCluster", plan.name, inputs, deployment.provider("aws", {}), protect=True)
        entries = deployment.recorded().by_type("aws:eks/accessEntry:AccessEntry")
    [entry] = [entry for entry in entries if entry.inputs["principalArn"].endswith("role/admin")]
    assert role in entry.property_dependencies["principalArn"]
    assert entry.protect


Part = tuple[str, str, dict[str, Any]]


def parts(plan: StackPlan, monkeypatch) -> tuple[Graph, list[Part]]:
    """The graph of a blueprint, and (class, name, arguments) of every part below it, with resolved outputs."""
    found: list[Part] = []

    def watched(build, self, name, args, opts=None):
        pulumi.Output.from_input(dict(args)).apply(lambda known: found.append((type(self).__name__, name, known)))
        build(self, name, args, opts)

    for component in map(component_class, COMPONENTS):
        monkeypatch.setattr(component, "__init__", partialmethod(partial(watched, component.__init__)))
    whole = record(lambda: declare(plan) and None)
    monkeypatch.undo()
    return whole, [made for made in found if "plan" not in made[2]]


LISTS = ("subnet_ids", "admin_arns", "client_group_ids", "zones", "vpcs", "subnets")


def on_the_wire(args: dict[str, Any]) -> dict[str, Any]:
    """Names in camel case, parts of the plan as JSON text, without None."""
    return {camel(key): crossing(key, value) for key, value in args.items() if value is not None}


def crossing(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if key in LISTS:
        return list(value)
    return value if isinstance(value, (str, bool)) else to_json(value).decode()


def camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(map(str.title, rest))


CASES = plans.ALL | {"gke-tcpxo": gke_plans.GKE["gke-tcpxo"]}


@pytest.mark.parametrize("case", CASES)
def test_every_part_can_be_constructed_alone(plugin, monkeypatch, case):
    whole, made = parts(CASES[case](), monkeypatch)
    with Deployment(plugin) as deployment:
        providers = {}
        for cloud, inputs in PROVIDERS.items():
            providers |= deployment.provider(cloud, inputs)
        for component, name, args in made:
            deployment.construct(component, name, on_the_wire(args), providers)
        alone = deployment.recorded()
    wanted = below(whole, [node.urn for node in whole.nodes.values() if node.type.startswith("rackwright:index:") and "$" in node.urn])
    assert below(alone, [node.urn for node in alone.nodes.values() if node.type.startswith("rackwright:index:")]) == wanted


def below(graph: Graph, owners: list[str]) -> set[tuple[str, str, frozenset[str]]]:
    return {(node.type, node.name, frozenset(node.inputs)) for node in graph.nodes.values() if node.parent in owners}


def test_a_nested_output_crosses(plugin):
    plan = plans.training_plan()
    network = {
        "vpcId": "vpc-1",
        "subnetIds": ["subnet-1"],
        "fabricGroupId": "sg-1",
        "kmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/k",
    }
    stored = {
        "buckets": to_json(plan.buckets).decode(),
        "lustre": to_json(plan.lustre).decode(),
        "tags": {"owner": "test"},
        "teardown": False,
    }
    with Deployment(plugin) as deployment:
        outputs = deployment.construct("AwsStorage", "store", {**stored, **network}, deployment.provider("aws", {}))
    assert set(outputs["lustre"]) == {"id", "dnsName", "mountName", "groupId"}
