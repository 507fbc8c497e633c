"""Buckets of a workload, and the data disk of a box."""

from dataclasses import replace

from rackwright.clouds import profile
from rackwright.compile.compile_context import CompileContext
from rackwright.sizing.inputs.training_recipe import ADAPTERS
from rackwright.sizing.node.bucket import bucket_gib
from rackwright.sizing.node.file_system import data_disk_size, uses_bucket
from rackwright.spec.workload import TRAINING, Batch, Serve, Workload
from rackwright.stackplan import BucketPlan, DiskPlan, Grant

HUB = "hf://"
"""Scheme of weights that the server downloads from the Hugging Face hub."""
WRITTEN_BUCKETS = ("checkpoints", "results")
DEFAULT_VERSION_DAYS, VERSION_DAYS = 30, {"checkpoints": 7}
"""Days to restore a deleted object. A terabyte every four hours is 180 TB in a month, so checkpoints have a week."""


def bucket_plans(context: CompileContext) -> tuple[BucketPlan, ...]:
    """Buckets that the workload reads and writes: existing where the spec has a URI, else created. C-bucket-cloud: in the stack's cloud."""
    workload = context.spec.workload
    weights = workload.model.weights.uri if workload.model.weights else None
    uris: dict[str, str | None] = {}
    if isinstance(workload, TRAINING):
        uris |= {"data": workload.data.uri, "checkpoints": workload.checkpoint.uri} | ({"weights": weights} if weights else {})
    else:
        uris |= {"weights": weights} | ({} if isinstance(workload, Serve) else _batch_uris(workload))
    buckets = (_bucket(context, key, uri) for key, uri in uris.items() if not (uri or "").startswith(HUB))
    return tuple(replace(bucket, key=context.named(bucket.key)) for bucket in buckets)


def _batch_uris(workload: Workload) -> dict[str, str | None]:
    """Samples of a batch, where the spec names them, and its results with the progress."""
    if not isinstance(workload, Batch):
        return {"results": None}
    results = {"results": workload.checkpoint.uri if workload.checkpoint else None}
    return results | ({"data": workload.data.uri} if workload.data.uri or workload.data.size else {})


def grants(buckets: tuple[BucketPlan, ...]) -> tuple[Grant, ...]:
    """Write access to checkpoints and results, read access to the others."""
    return tuple(Grant(b.key, "write" if b.key in WRITTEN_BUCKETS else "read") for b in buckets)


def _bucket(context: CompileContext, key: str, uri: str | None) -> BucketPlan:
    cloud = profile(context.candidate.cloud)
    hierarchical = cloud.has_bucket_folders
    if uri is None:
        folder = context.sizing.facts.model if key == "weights" else ""
        days = VERSION_DAYS.get(key, DEFAULT_VERSION_DAYS)
        holds_all = key == "checkpoints" and uses_bucket(context.spec, context.sizing) and context.running.file_system is None
        size_gib = bucket_gib(context.sizing.storage) if holds_all else None
        # every checkpoint replaces an older one: versions would keep hundreds of them, which only megabytes of adapters afford
        versioned = not hierarchical and not (holds_all and context.sizing.storage.trainer != ADAPTERS)
        return BucketPlan(key, "", folder, versioned, hierarchical, old_versions_days=days, expected_gib=size_gib)
    name, _, prefix = uri.partition("://")[2].partition("/")
    return BucketPlan(key, existing_name=name, prefix=prefix.strip("/"), versioned=False)


def data_disk(context: CompileContext) -> DiskPlan:
    """The data volume of a box, in the size that the SizingPlan shows.

    Its rate is provisioned on AWS. On Google Cloud it follows from the size of the disk and from the machine.
    """
    size_gib, mib_s = data_disk_size(context.sizing.storage, context.catalog, context.machine)
    if "disk_iops" not in profile(context.candidate.cloud).fees:
        return DiskPlan(size_gib, kind=context.machine.boot_disk)
    included, per_mib_s = (context.catalog.storage_limit("ebs-gp3", limit) for limit in ("included_iops", "iops_per_mib_s"))
    return DiskPlan(size_gib, iops=max(included, mib_s * per_mib_s), throughput_mib_s=mib_s)
