"""The job of a spec and its stack, checked."""

from dataclasses import dataclass

from rackwright.compile.jobs.job_context import JobContext
from rackwright.compile.jobs.job_set import job_set
from rackwright.compile.jobs.refusals import job_problems, unsupported_stack
from rackwright.compile.kubernetes.manifests import Body
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level, Problem


@dataclass(frozen=True)
class Job:
    """A JobSet as an object for the API server, and warnings about it."""

    body: Body
    warnings: tuple[Problem, ...] = ()

    @property
    def name(self) -> str:
        return self.body["metadata"]["name"]

    @property
    def namespace(self) -> str:
        return self.body["metadata"]["namespace"]


def job_of(job: JobContext) -> Job:
    """The JobSet of the planned workload. Raises UserError with every reason why the job cannot be written."""
    found = list(unsupported_stack(job)) or job_problems(job)
    if any(problem.level is Level.ERROR for problem in found):
        raise UserError(found)
    return Job(job_set(job), tuple(found))
