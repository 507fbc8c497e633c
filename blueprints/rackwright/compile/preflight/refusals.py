"""Why the nodes of a stack cannot be checked. Problems have the path in the spec."""

from collections.abc import Iterator

from rackwright.compile.jobs.job_context import JobContext
from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.stackplan.labels import RESOURCES

OPTIONS = At() / "blueprint" / "preflight"
EXAMPLE_IMAGE = "registry.example/nccl-tests@sha256:..."


def preflight_problems(job: JobContext, image: str) -> Iterator[Problem]:
    """Every reason, and warnings. image: that of the option, the spec or the job; empty without one."""
    if job.stack.cluster is None:
        reason = f"The stack is a {job.stack.kind} without a cluster, so it has no nodes to check"
        yield Problem("V-210", reason, At() / "blueprint" / "kind", "open a session on the machine: `rackwright next`")
        return
    if job.pool.resource != RESOURCES["gpu"]:
        reason = f"Pool {job.pool.name} has {job.pool.machine} without GPUs; the check reads GPUs through nvidia-smi"
        yield Problem("V-210", reason, At() / "infra", "check its devices with the first command of `rackwright next`")
        return
    if not image:
        reason = "No image for the check is set: neither `preflight.image`, nor `run.image`, nor --image"
        yield Problem("V-211", reason, OPTIONS / "image", f"such as {EXAMPLE_IMAGE}, with Python, Open MPI and nccl-tests")
    elif "@sha256:" not in image:
        reason = f"Image {image} has no digest, so nodes may be checked with different builds"
        yield Problem("V-212", reason, OPTIONS / "image", f"such as {EXAMPLE_IMAGE}", Level.WARNING)
