"""Jobs of written specs and fits, so that tests need no sizing."""

from rackwright.catalog import Catalog
from rackwright.compile.jobs.job_context import JobContext
from rackwright.compile.jobs.write_job import Job, job_of
from rackwright.sizing.metrics import ParallelLayout
from rackwright.sizing.offers.own_servers import with_own_servers
from rackwright.spec.workload_parts import Run

from tests import plans

IMAGE = "registry.example/trainer@sha256:" + "0" * 64
RUN = {"image": IMAGE, "command": ["python", "train.py"], "args": ["--lr", "1e-5"]}
BUCKETS = {"bucketNames": {"checkpoints": "ckpt-1234", "data": "data-1234"}}


def with_run(case, **run):
    """The case with RUN, changed by `run`."""
    spec, sizing, fit = case
    workload = spec.workload.model_copy(update={"run": Run.model_validate(RUN | run)})
    return spec.model_copy(update={"workloads": [workload]}), sizing, fit


def context(case, name: str = "", outputs: dict | None = None, **run) -> JobContext:
    """The context of a case with RUN. name: default that of the workload."""
    spec, sizing, fit = with_run(case, **run)
    stack, catalog = plans.compiled((spec, sizing, fit)), with_own_servers(Catalog.default(), spec)
    return JobContext(spec, sizing, fit, catalog, stack, name or spec.workload.name, BUCKETS if outputs is None else outputs)


def job(case, **more) -> Job:
    return job_of(context(case, **more))


def pod(case, **more) -> dict:
    """Pod spec of the job."""
    return template(job(case, **more))["spec"]


def template(made: Job) -> dict:
    return made.body["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]


def container(case, **more) -> dict:
    return pod(case, **more)["containers"][0]


def env(case, **more) -> dict[str, str]:
    """Plain variables of the container."""
    return {entry["name"]: entry["value"] for entry in container(case, **more)["env"] if "value" in entry}


def tpu_case(slices: int = 2):
    return plans.tpu_case(slices, parallelism=ParallelLayout(data=16 * slices, zero_stage=3))


SHAPE = {"ttl": "14d", "api_access": {"cidrs": ["203.0.113.0/24"]}}


def one_machine_case(machine: str = "p5.48xlarge"):
    """A training cluster for a run that needs one machine only."""
    return plans.training_case(1, machine, blueprint=SHAPE | {"kind": "training-cluster"}, parallelism=ParallelLayout(tensor=8))


def dra_case():
    return plans.training_case(blueprint=SHAPE | {"nodes": {"devices": "dra"}})
