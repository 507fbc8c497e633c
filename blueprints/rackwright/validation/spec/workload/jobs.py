"""S-111, S-200, S-290, S-291: the container of a job or a server."""

from collections.abc import Iterable, Iterator

from rackwright.clouds import profile
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.spec.infra import Place
from rackwright.spec.workload import TRAINING, Serve, Workload
from rackwright.validation.spec.registry import SpecContext, rule

JOB_OPTIONS = ("job", "launcher", "max_restarts", "priority")


def never_runs(workload: Workload, places: Iterable[Place]) -> bool:
    """Whether no stack of these places starts the container of a workload: only own servers start others than servers and jobs."""
    return not isinstance(workload, (Serve, *TRAINING)) and not any(profile(place.cloud).is_owned for place in places)


# A warning that stops an update: a stack without the job that the spec describes would cost money for nothing. Secrets alone are no job.
@rule("S-111", Level.WARNING, stage=Stage.BUILD)
def run_is_used(context: SpecContext) -> Iterator[Violation]:
    """`run` describes the server of a fleet, or the job of a training run; this release creates no job for other workloads."""
    for at, workload in context.workloads:
        if not never_runs(workload, (place for _, place in context.places)):
            continue
        if keys := workload.run.changed_keys:
            message = f"`run` ({', '.join(keys)}) is not used: this release creates no job for a {workload.kind} workload"
            fix, stops = "set it in the job that you submit to the stack, and leave it out here", keys != ["secrets"]
            stage = Stage.BUILD if stops else Stage.PLAN
            yield Violation(at / "run", fix, message, about_key=True, stage=stage, blocks_update=stops)


@rule("S-200")
def job_options_are_for_jobs(context: SpecContext) -> Iterator[Violation]:
    """`job`, `launcher`, `max_restarts` and `priority` are options of a job; a fleet runs servers."""
    for at, workload in context.each(Serve):
        for key in workload.run.changed_keys:
            if key in JOB_OPTIONS:
                yield Violation(at / "run" / key, "leave it out", f"`{key}` has no effect on a server", about_key=True)


@rule("S-290", link="https://www.kubeflow.org/docs/components/trainer/")
def train_jobs_have_their_operator(context: SpecContext) -> Iterator[Violation]:
    """`run.job: trainjob` requires kubeflow-trainer in `blueprint.operators`, which runs TrainJobs."""
    operators = context.spec.blueprint.operators
    for at, workload in context.workloads:
        if isinstance(workload, TRAINING) and workload.run.job == "trainjob" and "kubeflow-trainer" not in operators:
            message = "`job` is trainjob, and `blueprint.operators` has no kubeflow-trainer"
            yield Violation(at / "run" / "job", "add it: operators: [kubeflow-trainer], or leave `job` out", message)


@rule("S-291")
def operators_are_for_jobs(context: SpecContext) -> Iterator[Violation]:
    """`blueprint.operators` are for training clusters and TPU pods; a fleet runs no jobs, and each operator is named once."""
    operators, kind = context.spec.blueprint.operators, context.spec.blueprint.kind
    at = At() / "blueprint" / "operators"
    if operators and (kind in ("box", "inference-fleet") or any(isinstance(workload, Serve) for _, workload in context.workloads)):
        message = f"{', '.join(operators)}: a fleet or box has no queue for their jobs"
        yield Violation(at, "leave it out, or use kind: training-cluster", message)
    if twice := sorted({name for name in operators if operators.count(name) > 1}):
        yield Violation(at, "name each once", f"{', '.join(twice)} is named twice")
