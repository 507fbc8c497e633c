"""The job of a spec and its stack, checked."""

from dataclasses import dataclass

from rackwright.compile.jobs.job_context import JobContext
from rackwright.compile.jobs.job_set import job_set
from rackwright.compile.jobs.refusals import job_problems, unsupported_stack
from rackwright.compile.jobs.train_job import train_job
from rackwright.compile.kubernetes.manifests import Body
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level, Problem


@dataclass(frozen=True)
class Job:
    """A JobSet or TrainJob as an object for the API server, and warnings about it. pods: their number. max_restarts: of the job."""

    body: Body
    warnings: tuple[Problem, ...] = ()
    pods: int = 1
    max_restarts: int = 0

    @property
    def kind(self) -> str:
        """JobSet or TrainJob."""
        return self.body["kind"]

    @property
    def plural(self) -> str:
        """Name of the kind in URLs and commands, such as jobsets."""
        return f"{self.kind.lower()}s"

    @property
    def name(self) -> str:
        return self.body["metadata"]["name"]

    @property
    def namespace(self) -> str:
        return self.body["metadata"]["namespace"]


def job_of(job: JobContext) -> Job:
    """The job of the planned workload: the kind that `run.job` names. Raises UserError with every reason why the job cannot be written."""
    found = list(unsupported_stack(job)) or job_problems(job)
    if any(problem.level is Level.ERROR for problem in found):
        raise UserError(found)
    write = train_job if job.run.job == "trainjob" else job_set
    return Job(write(job), tuple(found), job.nodes, job.run.max_restarts)
