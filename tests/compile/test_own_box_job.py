"""The container of a box on own servers: a Job that ends, with bounded restarts, and a new one for another template."""

from copy import deepcopy

from rackwright.stackplan.plan import BOX_CONTAINER
from rackwright_pulumi.kubernetes.objects import without_await

from tests.compile.found import after, manifest, objects, one
from tests.own_plans import own_box_case
from tests.plans import compiled

RUN = {"image": "registry.example/lab@sha256:0", "command": ["python", "train.py"]}


def box(**run):
    return compiled(own_box_case(RUN | run))


def test_a_finished_container_stays_finished():
    """A StatefulSet would start it again, because its pods always restart."""
    job = one(box(), "Job")
    assert (job["apiVersion"], job["spec"]["completions"], job["spec"]["parallelism"]) == ("batch/v1", 1, 1)
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"
    assert "ttlSecondsAfterFinished" not in job["spec"], "Pulumi would create a deleted Job again"
    assert not objects(box(), "StatefulSet")
    assert not [body for body in objects(box(), "Service") if body["metadata"]["name"] == "box"]


def test_a_failed_container_restarts_as_often_as_the_spec_says():
    assert [one(box(**run), "Job")["spec"]["backoffLimit"] for run in ({}, {"max_restarts": 0}, {"max_restarts": 9})] == [3, 0, 9]
    (rule,) = one(box(), "Job")["spec"]["podFailurePolicy"]["rules"]
    assert (rule["action"], rule["onPodConditions"][0]["type"]) == ("Ignore", "DisruptionTarget")
    assert one(box(), "Job")["spec"]["podReplacementPolicy"] == "Failed", "two pods would need the GPUs twice"


def test_another_template_is_a_job_of_another_name():
    """The template of a Job is immutable, and the old Job still exists while the new one is created."""
    names = [one(box(**run), "Job")["metadata"]["name"] for run in ({}, {}, {"env": {"SEED": "2"}}, {"max_restarts": 9})]
    assert names[0] == names[1]
    assert len({*names}) == 3
    assert all(name.startswith("box-") and len(name) == 12 for name in names)
    assert one(box(), "Job")["spec"]["template"]["metadata"]["labels"] == {"app": "box"}


def test_an_update_does_not_wait_for_the_end_of_the_run():
    job = manifest(box(), BOX_CONTAINER)
    before = deepcopy(job)
    assert without_await(job)["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"
    assert job == before
    assert "box.service" not in after(box(), BOX_CONTAINER)
