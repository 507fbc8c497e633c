"""Invalid input over the wire is reported with its path and a fix, without a stack trace."""

import json

import pytest

from tests import plans
from tests.package.toy import UNKNOWN, Deployment, Refused, output

PLAN = plans.training_plan().to_json()


def changed(**fields) -> str:
    return json.dumps(json.loads(PLAN) | fields)


def pool(**fields) -> str:
    first, *rest = json.loads(PLAN)["pools"]
    return changed(pools=[first | fields, *rest])


REST = {"region": "us-east-1", "kmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/k", "tags": {}, "teardown": False}
CASES = {
    "not JSON": ("TrainingCluster", {"plan": "llama: yes"}, {"plan": "Invalid JSON"}),
    "a wrong type": ("TrainingCluster", {"plan": pool(nodes_max="four")}, {"plan.pools[0].nodes_max": "valid integer"}),
    "a field of a later release": ("TrainingCluster", {"plan": pool(spread=2)}, {"plan.pools[0].spread": "Unexpected"}),
    "a plan of another version": (
        "TrainingCluster",
        {"plan": changed(version="stack/9")},
        {"plan.version": "this release reads stack/1"},
    ),
    "a part of the plan": ("AwsNetwork", {"network": '{"subnets": []}', **REST}, {"network.cidr": "Field required (NetworkPlan)"}),
    "a map in place of a text": ("TrainingCluster", {"plan": {"name": "llama"}}, {"plan": "pass it as one JSON string"}),
    "an output": (
        "TrainingCluster",
        {"plan": output(PLAN, "urn:pulumi:test::rackwright::a:b:C::d")},
        {"plan": "known before the deployment"},
    ),
    "an unknown": ("TrainingCluster", {"plan": UNKNOWN}, {"plan": "known before the deployment"}),
    "a text in place of true": ("TrainingCluster", {"plan": PLAN, "teardown": "true"}, {"teardown": "must be true or false"}),
    "a misspelt input": ("TrainingCluster", {"plan": PLAN, "admin_arns": []}, {"admin_arns": "its inputs are adminArns, kmsKeyArn, plan"}),
    "no plan": ("TpuPod", {}, {"plan": "Missing required input 'plan'"}),
    "a plan for another component": ("TpuPod", {"plan": PLAN}, {"plan.kind": "instead: use the component for training-cluster"}),
}


@pytest.mark.parametrize("case", CASES)
def test_an_invalid_input_is_reported_at_its_path(plugin, case):
    kind, inputs, wanted = CASES[case]
    with Deployment(plugin) as deployment, pytest.raises(Refused) as refused:
        deployment.construct(kind, "llama", inputs, deployment.provider("aws", {"region": "us-east-1"}))
    assert refused.value.problems.keys() == wanted.keys()
    assert all(text in refused.value.problems[path] for path, text in wanted.items()), refused.value
    assert "File " not in str(refused.value)


def test_the_first_five_problems_are_listed_and_the_rest_counted(plugin):
    with Deployment(plugin) as deployment, pytest.raises(Refused) as refused:
        deployment.construct("TrainingCluster", "llama", {"plan": changed(pools=[{}, {}])})
    assert [path for path in refused.value.problems if path.startswith("plan.pools[0].")] == [
        f"plan.pools[0].{field}" for field in ("name", "machine", "zones", "nodes_min", "nodes_max")
    ]
    assert refused.value.problems["plan"].startswith("7 more problems")


def test_errors_contain_no_values_of_the_plan(plugin):
    with Deployment(plugin) as deployment, pytest.raises(Refused) as refused:
        deployment.construct("TrainingCluster", "llama", {"plan": pool(nodes_max="hf_abcdefghijklmnopqrst")})
    assert "hf_abc" not in str(refused.value)
