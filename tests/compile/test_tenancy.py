"""Limits of a team: quota, default account, and rights of pods."""

import pytest

from tests import own_plans, plans
from tests.compile.found import manifest, objects
from tests.jobs import cases


def test_the_quota_of_a_team_is_the_devices_of_its_pools():
    assert manifest(plans.training_plan(), "quota.team-nlp")["spec"]["hard"] == {
        "requests.nvidia.com/gpu": "32",
        "requests.vpc.amazonaws.com/efa": "128",
        "services.loadbalancers": "0",
        "services.nodeports": "0",
    }
    tpu = plans.compiled(cases.tpu_case(2))
    (quota,) = objects(tpu, "ResourceQuota")
    assert quota["spec"]["hard"]["requests.google.com/tpu"] == "32"


@pytest.mark.parametrize("build", [plans.training_plan, plans.tpu_plan, own_plans.own_training_plan])
def test_pods_get_no_token_unless_they_ask_for_one(build):
    plan = build()
    assert {body["metadata"]["name"]: body["automountServiceAccountToken"] for body in objects(plan, "ServiceAccount")} == {
        "trainer": False,
        "default": False,
    }
    assert objects(plan, "ServiceAccount")[0]["metadata"]["name"] == "trainer", "jobs use the first"


def test_only_namespaces_with_locked_memory_need_the_policy():
    """Others enforce `baseline`, which forbids more."""
    names = [body["metadata"]["name"] for body in objects(plans.training_plan(), "ValidatingAdmissionPolicy")]
    assert "team-pods-team-nlp" in names
    plan = plans.compiled(cases.one_machine_case("g6.xlarge"))
    assert dict(plan.namespaces)["team-nlp"] == "baseline"
    assert "team-pods-team-nlp" not in [body["metadata"]["name"] for body in objects(plan, "ValidatingAdmissionPolicy")]
