"""A TrainJob of Kubeflow Trainer v2, and the stack's runtime that it refers to.

The runtime has what every job of the stack shares: devices, fabric, volumes, node labels, restarts. The TrainJob has its container, its
variables and its queue. Source: kubeflow/trainer, tag v2.3.0, pkg/apis/trainer/v1alpha1.
"""

from copy import deepcopy
from dataclasses import replace

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.jobs.environment import environment
from rackwright.compile.jobs.job_context import JobContext
from rackwright.compile.jobs.job_set import job_set
from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.stackplan import ManifestPlan, StackPlan
from rackwright.stackplan.operators import TRAINER

API = "trainer.kubeflow.org/v1alpha1"
RUNTIME_KEY = "job.runtime"
STEP_LABEL, STEP = "trainer.kubeflow.org/trainjob-ancestor-step", "trainer"
"""Label of the replicated job whose size, image and command a TrainJob sets."""
CONTAINER = "node"
"""Name that the Trainer requires of this container."""
OF_A_JOB = ("image", "command")
"""Keys of the container that each TrainJob sets."""
NAME_VARIABLE = "MASTER_ADDR"
"""Variable that has the name of the job."""


def with_training_runtime(context: CompileContext, plan: StackPlan) -> StackPlan:
    """The plan with the runtime of its jobs, where it has the Trainer and a queue."""
    chosen = "kubeflow-trainer" in context.spec.blueprint.operators
    if not chosen or not plan.runs_jobs or context.candidate.slices > 1:
        return plan
    job = JobContext(context.spec, context.sizing, context.fit, context.catalog, plan, context.spec.name)
    after = (TRAINER,) if any(release.name == TRAINER for release in plan.releases) else ()
    return replace(plan, manifests=(*plan.manifests, ManifestPlan(RUNTIME_KEY, training_runtime(job), after)))


def training_runtime(job: JobContext) -> Body:
    """The job of the plan without its container's image, command and name of the first machine."""
    spec = deepcopy(job_set(job)["spec"])
    (group,) = spec["replicatedJobs"]
    group["template"]["metadata"] = {"labels": {STEP_LABEL: STEP}}
    (container,) = group["template"]["spec"]["template"]["spec"]["containers"]
    kept = {key: value for key, value in container.items() if key not in OF_A_JOB}
    variables = [each for each in environment(job) if each["name"] != NAME_VARIABLE]
    group["template"]["spec"]["template"]["spec"]["containers"] = [kept | {"name": CONTAINER, "env": variables}]
    return obj(API, "TrainingRuntime", job.spec.name, job.namespace, {"mlPolicy": {"numNodes": job.nodes}, "template": {"spec": spec}})


def train_job(job: JobContext) -> Body:
    """The TrainJob in the queue. Kueue suspends it, and starts it when all its machines are free, as it does with a JobSet."""
    made = job_set(job)
    (group,) = made["spec"]["replicatedJobs"]
    (container,) = group["template"]["spec"]["template"]["spec"]["containers"]
    trainer = {"numNodes": job.nodes, **{key: container[key] for key in OF_A_JOB}, "env": container["env"]}
    runtime = {"apiGroup": API.partition("/")[0], "kind": "TrainingRuntime", "name": job.spec.name}
    spec = {"runtimeRef": runtime, "trainer": trainer}
    return obj(API, "TrainJob", job.name, job.namespace, spec, labels=made["metadata"]["labels"])
