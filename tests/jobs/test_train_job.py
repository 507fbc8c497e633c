"""`run.job: trainjob`: a TrainJob, and the stack's runtime that it refers to."""

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.workflow.cluster.api import ClusterApi
from rackwright.workflow.cluster.submission import status_of, submit

from tests import api_server, own_plans, plans
from tests.api_server import FakeApi
from tests.jobs import cases
from tests.jobs.answers import PODS, QUEUE, pods

TRAINER = {"operators": ["kubeflow-trainer"]}
TRAIN_JOBS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team-nlp/trainjobs"
CASES = {
    "eks": lambda: plans.training_case(blueprint=cases.SHAPE | TRAINER),
    "own servers": lambda: own_plans.own_training_case(blueprint=TRAINER),
    "dra": lambda: plans.training_case(blueprint=cases.SHAPE | TRAINER | {"nodes": {"devices": "dra"}}),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]()


def runtime_of(case) -> dict:
    """The runtime of the stack of a case."""
    return cases.context(case).object("job.runtime")


def merged_pod(case) -> dict:
    """The pod that the Trainer makes: the runtime with image, command and variables of the TrainJob."""
    trainer = cases.job(case, job="trainjob").body["spec"]["trainer"]
    pod = runtime_of(case)["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    variables = {each["name"]: each for each in (*container["env"], *trainer["env"])}
    parts = {"name": "trainer", "image": trainer["image"], "command": trainer["command"], "env": list(variables.values())}
    return pod | {"containers": [container | parts]}


def test_the_runtime_and_the_job_are_the_pod_of_a_job_set(case):
    made, expected = merged_pod(case), cases.pod(case)
    by_name = {each["name"]: each for each in expected["containers"][0]["env"]}
    assert {each["name"]: each for each in made["containers"][0]["env"]} == by_name
    without = [each | {"env": []} for each in made["containers"]], [each | {"env": []} for each in expected["containers"]]
    assert without[0] == without[1]
    assert made | {"containers": []} == expected | {"containers": []}


def test_a_train_job_is_in_the_queue_and_names_the_runtime(case):
    made = cases.job(case, job="trainjob", name="run-2").body
    runtime = runtime_of(case)
    assert made["spec"]["runtimeRef"] == {
        "apiGroup": "trainer.kubeflow.org",
        "kind": runtime["kind"],
        "name": runtime["metadata"]["name"],
    }
    assert made["metadata"]["labels"] == cases.job(case, name="run-2").body["metadata"]["labels"]
    assert made["spec"]["trainer"]["numNodes"] == runtime["spec"]["mlPolicy"]["numNodes"] == 4
    variables = {each["name"]: each.get("value") for each in made["spec"]["trainer"]["env"]}
    assert variables["MASTER_ADDR"] == "run-2-workers-0-0.run-2"


def test_the_runtime_has_no_container_of_a_job(case):
    (group,) = runtime_of(case)["spec"]["template"]["spec"]["replicatedJobs"]
    (container,) = group["template"]["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "node"
    assert not {"image", "command"} & container.keys()
    assert group["template"]["metadata"]["labels"] == {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    assert group["replicas"] == 1


def test_a_stack_without_the_trainer_has_no_runtime():
    with pytest.raises(UserError, match=r"V-291 .*no runtime for TrainJobs"):
        cases.job(plans.training_case(), job="trainjob")


def test_a_train_job_on_several_slices_is_refused():
    spec, sizing, fit = cases.tpu_case()
    spec = spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update={"operators": ("kubeflow-trainer",)})})
    with pytest.raises(UserError, match=r"V-291 .*runs on one TPU slice; the plan has 2"):
        cases.job((spec, sizing, fit), job="trainjob")


def test_a_train_job_is_submitted_by_the_same_client(tmp_path):
    pytest.importorskip("kubernetes", reason="the extra `cluster` is not installed")
    made = cases.job(CASES["eks"](), job="trainjob")
    complete = {
        "metadata": {"uid": "1"},
        "spec": {},
        "status": {"conditions": [{"type": "Complete", "status": "True", "message": "ended"}]},
    }
    running = {"metadata": {"uid": "1"}, "spec": {"suspend": False}}
    answers = {f"POST {TRAIN_JOBS}": [complete], QUEUE: [{"metadata": {"name": "default"}}], PODS: [pods("Running", "Running")]}
    fake = FakeApi(answers | {f"{TRAIN_JOBS}/sft": [running, complete]})
    with api_server.serving(fake, tmp_path) as kubeconfig:
        api = ClusterApi(kubeconfig)
        submit(made, api)
        assert status_of(made, api).text == "2 of 4 pods run"
        assert status_of(made, api).phase == "Completed"
    assert [body for _, body in fake.created(TRAIN_JOBS)] == [made.body, made.body]
