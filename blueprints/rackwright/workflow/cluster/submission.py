"""Submit a job: checks, a dry run, the request, then its status and log. Jobs are not in Pulumi's state."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from rackwright.compile.jobs.job_set import QUEUE_LABEL
from rackwright.compile.jobs.write_job import Job
from rackwright.compile.operators.capacity_check import API as QUEUE_API
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.workflow.cluster.api import ClusterApi, Kind
from rackwright.workflow.cluster.connection import Object, RefusedError

POLL_S = 5
QUEUE, WORKLOAD = (Kind.of({"apiVersion": QUEUE_API}, plural) for plural in ("localqueues", "workloads"))
JOB_LABEL, INDEX_LABEL = "jobset.sigs.k8s.io/jobset-name", "batch.kubernetes.io/job-completion-index"
ENDED = ("Completed", "Failed")
COMPLETE = {"Complete": "Completed"}
"""Condition of a TrainJob -> that of a JobSet with the same meaning."""


@dataclass(frozen=True)
class Status:
    """What a line shows. phase: queued, starting, running, Completed or Failed; text: with the reason."""

    phase: str
    text: str

    @property
    def has_ended(self) -> bool:
        return self.phase in ENDED


def submit(job: Job, api: ClusterApi, *, dry_run: bool = False) -> None:
    """Creates the job where its queue exists, after a dry run of the same request; dry_run: only that.

    Raises UserError where the cluster is not the stack's, has a job of this name, or refuses the job.
    """
    kind = Kind.of(job.body, job.plural)
    _require_queue(job, api)
    for dry in (True,) if dry_run else (True, False):
        try:
            api.create(kind, job.body, dry_run=dry)
        except RefusedError as error:
            raise UserError([_refusal(job, api, error)]) from None


def _require_queue(job: Job, api: ClusterApi) -> None:
    """A kubeconfig of another cluster would start the job elsewhere, or leave it waiting for a queue that does not exist."""
    queue = job.body["metadata"]["labels"][QUEUE_LABEL]
    if api.read(QUEUE, job.namespace, queue) is None:
        reason = f"{api.server} has no queue {queue} in namespace {job.namespace}, so it is not the cluster of this stack"
        fix = "use the kubeconfig of the stack's cluster (--kubeconfig FILE, --context NAME), or build the stack first: `pulumi up`"
        raise UserError([Problem("V-199", reason, fix=fix)])


def _refusal(job: Job, api: ClusterApi, error: RefusedError) -> Problem:
    where = f"{job.namespace}/{job.name}"
    if error.status == 409:
        status = status_of(job, api)
        fix = f"submit another one: --name {job.name}-2; or delete it: kubectl delete {job.kind.lower()} -n {job.namespace} {job.name}"
        return Problem("V-199", f"Job {where} exists ({status.text})", fix=fix)
    if error.status == 404:
        return Problem("V-199", f"{api.server} does not serve {job.kind}s", fix="build the operators of the stack: `pulumi up`")
    return Problem("V-199", f"{api.server} refuses job {where}: {error}", fix="correct `run`, or report it")


def follow(
    job: Job, api: ClusterApi, show: Callable[[str], None], sleep: Callable[[float], None] = time.sleep, poll_s: float = POLL_S
) -> Status:
    """Shows each new status, and the log of the first pod while it runs, until the job ends."""
    shown, read = "", ""
    while True:
        status = status_of(job, api)
        if status.text != shown:
            shown = status.text
            show(f"{job.namespace}/{job.name}: {shown}")
        if status.has_ended:
            return status
        leader = _leader(job, api)
        if leader and leader != read:
            read = leader
            for line in _lines(job, api, leader):
                show(line)
        else:
            sleep(poll_s)


def _lines(job: Job, api: ClusterApi, pod: str) -> Iterator[str]:
    """The log of a pod; nothing for a pod that is gone."""
    with suppress(RefusedError):
        yield from api.logs(job.namespace, pod)


def _leader(job: Job, api: ClusterApi) -> str:
    """Name of the first running pod of rank 0; empty without one."""
    pods = api.pods(job.namespace, f"{JOB_LABEL}={job.name},{INDEX_LABEL}=0")
    return next((name for name, phase in sorted(pods) if phase == "Running"), "")


def status_of(job: Job, api: ClusterApi) -> Status:
    """Status of a job on the cluster."""
    found = api.read(Kind.of(job.body, job.plural), job.namespace, job.name)
    if found is None:
        return Status("Failed", "deleted")
    status = found.get("status", {})
    for kind in (*ENDED, *COMPLETE):
        if condition := _condition(found, kind):
            phase = COMPLETE.get(kind, kind)
            return Status(phase, _text(phase.lower(), condition))
    if found["spec"].get("suspend"):
        reason = queue_reason(api, job.namespace, found)
        return Status("queued", f"queued: {reason}" if reason else "queued")
    pods = api.pods(job.namespace, f"{JOB_LABEL}={job.name}")
    running = sum(phase == "Running" for _, phase in pods)
    restarts = status.get("restarts", 0)
    again = f", restart {restarts} of {job.max_restarts}" if restarts else ""
    return Status("running" if running else "starting", f"{running} of {job.pods} pods run{again}")


def queue_reason(api: ClusterApi, namespace: str, found: Object) -> str:
    """Why Kueue has not admitted a job, from the Workload that it made for it; empty where it has, or does not state it."""
    uid = found["metadata"].get("uid")
    own = (w for w in api.find(WORKLOAD, namespace) if any(o.get("uid") == uid for o in w["metadata"].get("ownerReferences", ())))
    workload = next(own, None)
    condition = next((c for c in (workload or {}).get("status", {}).get("conditions", ()) if c["type"] == "QuotaReserved"), None)
    return condition.get("message", "") if condition and condition["status"] != "True" else ""


def _condition(found: Object, kind: str) -> Object | None:
    conditions = found.get("status", {}).get("conditions", ())
    return next((c for c in conditions if c["type"] == kind and c["status"] == "True"), None)


def _text(word: str, condition: Object) -> str:
    return f"{word}: {condition['message']}" if condition.get("message") else word
