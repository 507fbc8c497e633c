"""Objects of a check on a real API server, and the gate as the real scheduler applies it."""

import pytest
from rackwright.stackplan.labels import PREFLIGHT_LABEL
from rackwright_pulumi.kubernetes.objects import namespace_body

from tests import own_plans, plans
from tests.cluster.api import wait_until
from tests.cluster.nodes import container
from tests.preflight.test_objects import gated_case, made

CASES = {"eks": plans.training_case, "own servers": own_plans.own_training_case}


@pytest.mark.parametrize("name", CASES)
def test_every_object_of_a_check_is_accepted(api, name):
    check = made(CASES[name]())
    space, *rest = [*check.node_objects, *check.cluster_objects(2)]
    team = check.context.namespace
    api.must_apply(space, namespace_body(team, "privileged", is_of_team=True))
    answers = {f"{body['kind']} {body['metadata']['namespace']}": api.apply(body, dry_run=True) for body in rest}
    assert {label: answer.message for label, answer in answers.items() if not answer.accepted} == {}
    assert {label: answer.warnings for label, answer in answers.items() if answer.warnings} == {}


@pytest.fixture
def pods(api):
    """Two nodes of the pool, one of which passed, and a function that starts a pod with a node selector."""
    plan = plans.compiled(gated_case())
    flavors = {m.key: m.body["spec"]["nodeLabels"] for m in plan.manifests if m.body["kind"] == "ResourceFlavor"}
    for name, labels in (("gate-passed", {PREFLIGHT_LABEL: "passed"}), ("gate-new", {})):
        labels = {"kubernetes.io/hostname": name, "rackwright/role": "accelerator", **labels}
        amounts = {"cpu": "8", "memory": "16Gi", "pods": "20"}
        status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        api.must_apply(body)
        api.set_status(body | {"status": status})
    space = "default"
    assert wait_until(lambda: api.items("v1", "ServiceAccount", space))

    def start(key: str) -> str:
        name = f"gate-{key.replace('.', '-')}"
        spec = {"nodeSelector": flavors[key], "containers": [container({"cpu": "6", "memory": "1Gi"})]}
        metadata = {"name": name, "namespace": space, "labels": {"app": name}}
        api.must_apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        return name

    yield start
    api.delete_all("v1", "Pod", space)
    api.delete_all("v1", "Node")


def test_jobs_are_placed_on_nodes_that_passed_and_checks_on_every_node(api, pods):
    def node(name: str) -> str:
        found = api.items("v1", "Pod", "default", f"app={name}")
        return found[0]["spec"].get("nodeName", "") if found else ""

    job = pods("queue.flavor")
    assert wait_until(lambda: node(job)) == "gate-passed"
    check = pods("queue.flavor.preflight")
    assert wait_until(lambda: node(check)) == "gate-new"
