"""Where a job reads data and writes checkpoints: the shared file system, or a bucket."""

from rackwright.clouds import profile
from rackwright.compile.jobs.job_context import JobContext

SHARED = "/shared"
"""Mount of the shared file system, of several that of the first."""
FURTHER = "/mnt"
"""Folder of the mounts of further shared file systems."""
SHARED_MODE = "ReadWriteMany"
SCRATCH = "/scratch"
"""Mount of the machine's local disks."""


def shared_claims(job: JobContext) -> dict[str, str]:
    """Mount -> claim of each shared file system of the stack."""
    claims = (body for body in job.objects("PersistentVolumeClaim") if SHARED_MODE in body["spec"]["accessModes"])
    names = [claim["metadata"]["name"] for claim in claims]
    return {f"{FURTHER}/{name}" if number else SHARED: name for number, name in enumerate(names)}


def checkpoint_path(job: JobContext) -> str | None:
    """A folder of the shared file system; a bucket's URI without one. None where the bucket's name is not known yet."""
    return f"{SHARED}/checkpoints" if shared_claims(job) else bucket_uri(job, "checkpoints")


def data_path(job: JobContext) -> str | None:
    """The folder that the file system imports from the bucket of the data; the bucket's URI where it imports none."""
    imported = {bucket: folder for folder, bucket in job.stack.lustre.imports} if job.stack.lustre else {}
    if shared_claims(job) and "data" in imported:
        return f"{SHARED}{imported['data']}"
    return bucket_uri(job, "data")


def bucket_uri(job: JobContext, key: str) -> str | None:
    """URI of a bucket of the stack. The name of a new bucket is an output of the stack (`bucketNames`)."""
    bucket = next((bucket for bucket in job.stack.buckets if bucket.key == key), None)
    if bucket is None:
        return None
    name = bucket.existing_name or (job.outputs.get("bucketNames") or {}).get(key)
    return "/".join(filter(None, (f"{profile(job.stack.place.cloud).uri_scheme}://{name}", bucket.prefix))) if name else None
