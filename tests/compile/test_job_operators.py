"""`blueprint.operators`: charts of further kinds of jobs, the kinds that Kueue manages, and the rights of teams."""

import pytest
import yaml
from rackwright.compile.existing_cluster import CLUSTER_SCOPED_KINDS

from tests import own_plans, plans
from tests.compile.found import release

ALL = ["kubeflow-trainer", "mpi-operator", "kuberay"]
SHAPE = {"ttl": "14d", "api_access": {"cidrs": ["203.0.113.0/24"]}}
BUILD = {
    "eks": lambda names: plans.compiled(plans.training_case(blueprint=SHAPE | {"operators": names})),
    "own servers": lambda names: own_plans.own_training_plan(blueprint={"operators": names}),
    "tpu": lambda names: plans.compiled(with_operators(plans.tpu_case(1), names)),
}
KINDS = {
    "kubeflow-trainer": ["trainer.kubeflow.org/trainjob"],
    "mpi-operator": ["kubeflow.org/mpijob"],
    "kuberay": ["ray.io/rayjob", "ray.io/raycluster"],
}
RESOURCES = {"kubeflow-trainer": {"trainjobs"}, "mpi-operator": {"mpijobs"}, "kuberay": {"rayjobs", "rayclusters"}}


def with_operators(case, names):
    spec, sizing, fit = case
    return spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update={"operators": tuple(names)})}), sizing, fit


def frameworks(plan) -> list[str]:
    config = release(plan, "kueue").values["managerConfig"]["controllerManagerConfigYaml"]
    return yaml.safe_load(config)["integrations"]["frameworks"]


def managed(plan) -> set[str]:
    """Resources that the team may create."""
    role = next(each.body for each in plan.manifests if each.body["kind"] == "Role" and each.body["metadata"]["name"] == "team")
    return {resource for rule in role["rules"] if "create" in rule["verbs"] for resource in rule["resources"]}


@pytest.mark.parametrize("operator", ALL)
@pytest.mark.parametrize("target", BUILD)
def test_an_operator_comes_with_its_queue_and_rights(target, operator):
    without, plan = BUILD[target]([]), BUILD[target]([operator])
    assert [kind for kind in frameworks(plan) if kind not in frameworks(without)] == KINDS[operator]
    assert managed(plan) - managed(without) == RESOURCES[operator]


@pytest.mark.parametrize("target", BUILD)
def test_the_queue_starts_after_all_operators(target):
    plan = BUILD[target](ALL)
    names = [each.name for each in plan.releases]
    assert {"kubeflow-trainer", "kuberay-operator"} <= {*names[:-1]}
    assert {*release(plan, "kueue").after} == {*names[:-1]}
    assert release(plan, "kubeflow-trainer").values["jobset"] == {"install": False}, "JobSet is a release of its own"


@pytest.mark.parametrize("target", BUILD)
def test_the_mpi_operator_is_a_deployment_with_the_references_of_its_stack(target):
    bodies = {each.key: each.body for each in BUILD[target](["mpi-operator"]).manifests}
    names = {kind: body["metadata"]["name"] for body in bodies.values() if (kind := body["kind"]) in CLUSTER_SCOPED_KINDS}
    bound, deployment = bodies["mpi.binding"], bodies["mpi.deployment"]["spec"]["template"]["spec"]
    assert bound["roleRef"]["name"] == names["ClusterRole"]
    assert bound["subjects"][0]["name"] == bodies["mpi.account"]["metadata"]["name"] == deployment["serviceAccountName"]
    assert bool(deployment["nodeSelector"]) is (target != "own servers"), "an existing cluster has no system nodes"


def test_a_stack_in_an_existing_cluster_gives_rights_alone():
    shape = {"ttl": "14d", "cluster": {"name": "shared"}, "api_access": {"runner": "inside"}, "operators": ALL}
    plan = plans.compiled(plans.training_case(blueprint=shape))
    assert not any(each.key.startswith("mpi.") for each in plan.manifests)
    assert "operators" not in plan.layers
    assert {"trainjobs", "mpijobs", "rayjobs"} <= managed(plan)
