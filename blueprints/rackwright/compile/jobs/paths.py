"""Where a job reads data and writes checkpoints: the spec's URI, the shared file system, or a bucket of the stack."""

from rackwright.clouds import profile
from rackwright.compile.jobs.job_context import JobContext, Launch
from rackwright.spec.workload import TRAINING

SHARED = "/shared"
"""Mount of the shared file system, of several that of the checkpoints."""
FURTHER = "/mnt"
"""Folder of the mounts of further shared file systems."""
SHARED_MODE = "ReadWriteMany"
SCRATCH = "/scratch"
"""Mount of the machine's local disks."""


def shared_claims(job: JobContext) -> dict[str, str]:
    """Mount -> claim of each shared file system of the stack, that of the checkpoints first."""
    names = [body["metadata"]["name"] for body in job.objects("PersistentVolumeClaim") if SHARED_MODE in body["spec"]["accessModes"]]
    first = checkpoint_storage(job) or next(iter(names), "")
    names.sort(key=lambda name: name != first)
    return {SHARED if name == first else f"{FURTHER}/{name}": name for name in names}


def checkpoint_storage(job: Launch) -> str:
    """Name of the inventory's storage for checkpoints: the spec's, or the fastest. Empty without shared storage."""
    if job.inventory is None:
        return ""
    workload = job.spec.workload
    named = workload.checkpoint.storage if isinstance(workload, TRAINING) else None
    return named or next((entry.name for entry in job.inventory.shared_storage), "")


def checkpoint_path(job: JobContext) -> str | None:
    """A folder of the job in the shared file system, or a URI, to which a job of another name adds its name. None where unknown."""
    own = spec_uri(job, "checkpoint")
    if not own and shared_claims(job):
        return f"{SHARED}/checkpoints/{job.name}"
    uri = own or bucket_uri(job, "checkpoints")
    is_second_run = job.name != job.spec.workload.name
    return f"{uri.rstrip('/')}/{job.name}" if uri and is_second_run else uri


def data_path(job: JobContext) -> str | None:
    """The folder that the file system imports from the bucket of the data; the bucket's URI where it imports none."""
    imported = {bucket: folder for folder, bucket in job.stack.lustre.imports} if job.stack.lustre else {}
    if shared_claims(job) and "data" in imported:
        return f"{SHARED}{imported['data']}"
    return spec_uri(job, "data") or bucket_uri(job, "data")


def spec_uri(job: Launch, part: str) -> str | None:
    """`checkpoint.uri` or `data.uri` on own servers, where the job opens it itself; None in a cloud, whose stack has the bucket."""
    uri = getattr(getattr(job.spec.workload, part, None), "uri", None)
    return uri if profile(job.fit.candidate.cloud).is_owned else None


def bucket_uri(job: JobContext, key: str) -> str | None:
    """URI of a bucket of the stack. The name of a new bucket is an output of the stack (`bucketNames`)."""
    bucket = next((bucket for bucket in job.stack.buckets if bucket.key == key), None)
    if bucket is None:
        return None
    name = bucket.existing_name or (job.outputs.get("bucketNames") or {}).get(key)
    return "/".join(filter(None, (f"{profile(job.stack.place.cloud).uri_scheme}://{name}", bucket.prefix))) if name else None
