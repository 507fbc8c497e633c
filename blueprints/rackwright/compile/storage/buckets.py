"""Buckets from the spec's URIs, and the disk of a box."""

import math

from rackwright.clouds import profile
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.storage.lustre import HEADROOM
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.spec.workload import TRAINING, Serve
from rackwright.stackplan import BucketPlan, DiskPlan, Grant
from rackwright.units import GIB

MIB = 2**20
HUB = "hf://"
"""Weights the program downloads from the Hugging Face hub by itself."""
WRITTEN = ("checkpoints", "results")
OLD_VERSIONS_USUAL_DAYS, OLD_VERSIONS_DAYS = 30, {"checkpoints": 7}
"""Time to notice a mistake. A run that saves a terabyte every four hours leaves 180 of them in a month, so checkpoints have a week."""
GP3_FREE_MIB_S, GP3_MOST_MIB_S, GP3_FREE_IOPS, GP3_IOPS_PER_MIB_S = 125, 2000, 3000, 4
"""gp3: 3,000 IOPS and 125 MiB/s included, 2,000 MiB/s at most, a quarter MiB/s per IOPS (AWS EBS documentation, 2025-09)."""


def buckets(context: CompileContext) -> tuple[BucketPlan, ...]:
    """What the workload reads and writes: existing where the spec names a URI of this cloud, else created."""
    workload = context.spec.workload
    weights = workload.model.weights.uri if workload.model.weights else None
    uris: dict[str, str | None] = {}
    if isinstance(workload, TRAINING):
        uris |= {"data": workload.data.uri, "checkpoints": workload.checkpoint.uri} | ({"weights": weights} if weights else {})
    else:
        uris |= {"weights": weights} | ({} if isinstance(workload, Serve) else {"results": None})
    return tuple(_bucket(context, key, uri) for key, uri in uris.items() if not (uri or "").startswith(HUB))


def grants(wanted: tuple[BucketPlan, ...]) -> tuple[Grant, ...]:
    """Checkpoints and results are written; everything else is only read."""
    return tuple(Grant(b.key, "write" if b.key in WRITTEN else "read") for b in wanted)


def _bucket(context: CompileContext, key: str, uri: str | None) -> BucketPlan:
    hierarchical = profile(context.candidate.cloud).has_bucket_folders
    if uri is None:
        folder = context.sizing.facts.model if key == "weights" else ""
        days = OLD_VERSIONS_DAYS.get(key, OLD_VERSIONS_USUAL_DAYS)
        return BucketPlan(key, prefix=folder, hierarchical=hierarchical, versioned=not hierarchical, old_versions_days=days)
    scheme, _, rest = uri.partition("://")
    if scheme != profile(context.candidate.cloud).uri_scheme:
        raise UserError([_wrong_scheme(uri, context.candidate.cloud)])
    name, _, prefix = rest.partition("/")
    return BucketPlan(key, existing_name=name, prefix=prefix.strip("/"), versioned=False)


def _wrong_scheme(uri: str, cloud: str) -> Problem:
    return Problem(
        code="C-bucket-cloud",
        reason=f"{uri} cannot be read from {cloud} without copying it there first",
        at=At() / "workloads" / 0,
        fix=f"name a {profile(cloud).uri_scheme}:// URI, or leave it out and a bucket is made",
    )


def data_disk(context: CompileContext) -> DiskPlan:
    """The box's own volume: the storage need with head-room, 100 GiB at least, gp3 with the throughput the run asks for."""
    need = context.sizing.storage
    size_gib = max(100, math.ceil(need.capacity_bytes * HEADROOM / GIB / 10) * 10)
    mib_s = min(GP3_MOST_MIB_S, max(GP3_FREE_MIB_S, math.ceil(need.throughput_bytes_per_s / MIB)))
    return DiskPlan(size_gib, iops=max(GP3_FREE_IOPS, mib_s * GP3_IOPS_PER_MIB_S), throughput_mib_s=mib_s)
