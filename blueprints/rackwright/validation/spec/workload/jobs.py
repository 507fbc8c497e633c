"""S-111, S-200: the container of a job or a server."""

from collections.abc import Iterable, Iterator

from rackwright.clouds import profile
from rackwright.diagnostics.problem import Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.spec.infra import Place
from rackwright.spec.workload import TRAINING, Serve, Workload
from rackwright.validation.spec.registry import SpecContext, rule

JOB_OPTIONS = ("launcher", "max_restarts", "priority")


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
    """`launcher`, `max_restarts` and `priority` are options of a job; a fleet runs servers."""
    for at, workload in context.each(Serve):
        for key in workload.run.changed_keys:
            if key in JOB_OPTIONS:
                yield Violation(at / "run" / key, "leave it out", f"`{key}` has no effect on a server", about_key=True)
