"""The policy of the queue `default` on a real API server: jobs there request accelerators."""

from typing import Any

import pytest
from rackwright_pulumi.kubernetes.objects import namespace_body

from tests import plans
from tests.cluster.api import wait_until
from tests.cluster.nodes import container
from tests.jobs import cases

GPU = {"cpu": "1", "nvidia.com/gpu": "1"}


@pytest.fixture
def team(api):
    plan = plans.training_plan()
    (name,) = (space for space, _ in plan.namespaces if space.startswith("team-"))
    api.must_apply(namespace_body(name, "privileged", is_of_team=True))
    policies = [manifest.body for manifest in plan.manifests if manifest.key.startswith("queue.policy")]
    assert len(policies) == 2
    api.must_apply(*policies)
    assert wait_until(lambda: not api.apply(job(name, "probe", {"cpu": "1"}), dry_run=True).accepted), "the policy is active"
    yield name
    for body in policies:
        api.delete(body)


def job(namespace: str, name: str, requests: dict[str, str], queue: str = "default") -> dict[str, Any]:
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    pod = {"restartPolicy": "Never", "containers": [container(requests)]}
    spec = {"suspend": True, "template": {"spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": spec}


def test_a_job_without_accelerators_is_refused_in_default_and_named_its_queue(api, team):
    answer = api.apply(job(team, "prepare", {"cpu": "1"}), dry_run=True)
    assert "no container requests nvidia.com/gpu; label the job with kueue.x-k8s.io/queue-name: system" in answer.message


@pytest.mark.parametrize(("requests", "queue"), [(GPU, "default"), ({"cpu": "1"}, "system"), ({"cpu": "1"}, "")])
def test_other_jobs_are_accepted(api, team, requests, queue):
    assert api.apply(job(team, "other", requests, queue), dry_run=True).message == ""


def test_job_sets_are_checked_too(api, team):
    body = cases.job(plans.training_case()).body
    assert api.apply(body, dry_run=True).message == ""
    pod = body["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    assert "no container requests nvidia.com/gpu" in api.apply(body, dry_run=True).message
