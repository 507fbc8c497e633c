"""Objects of further kinds of jobs on a real API server: runtime, TrainJob, the MPI operator, and the Trainer's chart."""

import shutil

import pytest
import yaml
from rackwright_pulumi.kubernetes.objects import namespace_body

from tests import plans
from tests.cluster.api import Api, wait_until
from tests.cluster.stacks import objects
from tests.cluster.test_rendered import in_namespace, rendered_from
from tests.compile.found import release
from tests.compile.test_job_operators import ALL, SHAPE
from tests.jobs import cases
from tests.render.renderers import needed_source

CASE = plans.training_case(blueprint=SHAPE | {"operators": ALL})
TRAINER = "trainer.kubeflow.org/v1alpha1"


@pytest.fixture(scope="module")
def trainer(api: Api) -> Api:
    """The API with the definitions of the Trainer."""
    folder = needed_source("kubeflow-trainer") / "manifests" / "base" / "crds"
    bodies = [yaml.load(file.read_text(), yaml.CSafeLoader) for file in sorted(folder.glob("trainer.*.yaml"))]
    api.must_apply(*bodies)
    assert wait_until(lambda: api.serves(TRAINER, "TrainJob") and api.serves(TRAINER, "TrainingRuntime"), 30)
    return api


def test_runtime_and_job_are_accepted(trainer):
    job = cases.job(CASE, job="trainjob")
    trainer.must_apply(namespace_body(job.namespace, "privileged", is_of_team=True))
    for body in (cases.context(CASE).object("job.runtime"), job.body):
        answer = trainer.apply(body, dry_run=True)
        assert (answer.accepted, answer.message, answer.warnings) == (True, "", ()), body["kind"]


def test_the_mpi_operator_is_admitted_in_its_namespace(api):
    bodies = [body for body in objects(plans.compiled(CASE)) if "mpi" in body["metadata"]["name"]]
    assert [body["kind"] for body in bodies][:2] == ["Namespace", "CustomResourceDefinition"]
    api.must_apply(*bodies)
    assert wait_until(lambda: api.serves("kubeflow.org/v2beta1", "MPIJob"), 30)
    pod = next(body for body in bodies if body["kind"] == "Deployment")["spec"]["template"]["spec"]
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "operator", "namespace": "mpi-operator"}, "spec": pod}
    answer = api.apply(made, dry_run=True)
    assert (answer.accepted, answer.message, answer.warnings) == (True, "", ())


def test_the_rendered_trainer_is_admitted_in_its_namespace(trainer, tmp_path):
    """Without the charts that it contains, which the plan installs itself or does not need."""
    plan = plans.compiled(CASE)
    wanted = release(plan, "kubeflow-trainer")
    chart = tmp_path / "chart"
    shutil.copytree(needed_source("kubeflow-trainer") / "charts" / "kubeflow-trainer", chart, copy_function=shutil.copyfile)
    chart.chmod(0o755)
    facts = yaml.safe_load((chart / "Chart.yaml").read_text())
    (chart / "Chart.yaml").write_text(yaml.safe_dump({key: value for key, value in facts.items() if key != "dependencies"}))
    trainer.must_apply(namespace_body(wanted.namespace, dict(plan.namespaces)[wanted.namespace]))
    refused = {}
    for body in rendered_from(wanted, chart):
        if body["kind"] == "CustomResourceDefinition":
            continue
        answer = trainer.apply(in_namespace(body, wanted.namespace, trainer), dry_run=True)
        refused |= {} if answer.accepted else {f"{body['kind']} {body['metadata']['name']}": answer.message}
        if body["kind"] == "Deployment":
            spec = {key: value for key, value in body["spec"]["template"]["spec"].items() if key != "serviceAccountName"}
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": wanted.namespace}}
            trainer.must_apply(account)
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "rendered", "namespace": wanted.namespace}, "spec": spec}
            admitted = trainer.apply(pod, dry_run=True)
            refused |= {} if admitted.accepted else {"pod": admitted.message}
            assert spec["nodeSelector"] == {"rackwright/role": "system"}
    assert refused == {}
