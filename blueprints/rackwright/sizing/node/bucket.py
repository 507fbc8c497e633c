"""Checkpoints in a bucket instead of a file system: which trainers write there, how fast, and where it is the cheapest storage."""

import math
from dataclasses import replace

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.clouds import profile
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.blueprint_kind import blueprint_kind
from rackwright.sizing.inputs.training_recipe import ADAPTERS, FULL, TPU
from rackwright.sizing.job import TrainingJob
from rackwright.sizing.node.file_system import delivered, lustre_clients_of, lustre_size, usd_per_month
from rackwright.sizing.node.requirements import FileSystem
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.plan import Candidate, SizingPlan, StorageNeed
from rackwright.spec.spec import Spec
from rackwright.units import GIB, MIB

DIRECT_WRITERS = {
    FULL: "https://docs.nvidia.com/megatron-core/developer-guide/latest/user-guide/msc_integration.html",
    TPU: "https://orbax.readthedocs.io/en/stable/guides/checkpoint/async_checkpointing.html",
}
"""Trainer families that write sharded checkpoints to object storage, with their documentation."""


def writes_to_bucket(job: TrainingJob, tpu: bool) -> str:
    """The trainer family where checkpoints need no file system: it writes them to a bucket, or they are the megabytes of an adapter.

    Trainers of image models read and write files.
    """
    family = TPU if tpu else job.recipe.family
    return family if job.recipe.is_adapter or (family in DIRECT_WRITERS and not job.sampled) else ""


def bucket_bytes_per_s(candidate: Candidate, machine: Machine, catalog: Catalog, a: Assumptions) -> float:
    """Rate at which the nodes write a checkpoint to a bucket: of their processes, of their network, and of requests to one prefix."""
    node = min(a.node_write_bytes_per_s, machine.sustained_network_bytes_per_s or a.node_write_bytes_per_s)
    volume = profile(candidate.cloud).object_volume
    limits = {row.limit: row.values[0] for row in catalog.storage_limits if row.volume == volume}
    prefix = limits["puts_per_s"] * limits["part_mib"] * MIB if "puts_per_s" in limits else math.inf
    return min(candidate.nodes * node, prefix)


def with_cheapest_storage(plan: SizingPlan, spec: Spec, catalog: Catalog, a: Assumptions) -> SizingPlan:
    """The plan with checkpoints in a bucket where the spec leaves the choice, a bucket takes them in time, and it costs the run less.

    The cost of a storage is its price and that of the machines that wait for it (`StorageNeed.run_usd`). TPU pods always use a bucket.
    """
    need, fit = plan.storage, plan.chosen
    if fit is None or not need.trainer or not profile(fit.candidate.cloud).object_volume:
        return plan
    c, kind = fit.candidate, blueprint_kind(spec, fit.candidate)
    if kind == "tpu-pod":
        return replace(plan, storage=replace(need, in_bucket=True))
    if kind != "training-cluster" or spec.blueprint.storage != "auto" or c.machine not in catalog.machine_by_name:
        return plan
    machine = catalog.machine(c.machine)
    rate = bucket_bytes_per_s(c, machine, catalog, a)
    is_chosen = need.trainer == ADAPTERS or (
        rate >= need.throughput_bytes_per_s
        and need.run_usd(bucket_usd_per_month(need, c, catalog), rate) <= _file_system_usd(spec, plan, c, machine, catalog)
    )
    return replace(plan, storage=replace(need, in_bucket=is_chosen))


def bucket_usd_per_month(need: StorageNeed, candidate: Candidate, catalog: Catalog) -> float:
    """US dollars per month of the kept checkpoints; infinite without a published price."""
    price = catalog.volume(profile(candidate.cloud).object_volume).price_usd_per_byte_month
    return math.inf if price is None else bucket_gib(need) * GIB * price


def _file_system_usd(spec: Spec, plan: SizingPlan, candidate: Candidate, machine: Machine, catalog: Catalog) -> float:
    """US dollars of the run with the cheapest file system of its cluster; infinite where this release builds none."""
    if not profile(candidate.cloud).lustre_service:
        return math.inf
    size = lustre_size(spec, plan, candidate, machine, catalog)
    if size is None:
        return math.inf
    found = delivered(size, lustre_clients_of(spec, candidate, machine, size.efa, catalog), catalog)
    return plan.storage.run_usd(usd_per_month(size, catalog), found.bytes_per_s)


def planned_bucket(spec: Spec, plan: SizingPlan, candidate: Candidate, machine: Machine, catalog: Catalog, a: Assumptions) -> FileSystem:
    """The bucket of the checkpoints, for display. The bill has no lines for existing buckets."""
    need, facts = plan.storage, plan.facts
    rate, usd = bucket_bytes_per_s(candidate, machine, catalog, a), bucket_usd_per_month(need, candidate, catalog)
    kind = NoteKind.ADAPTER_CHECKPOINTS if need.trainer == ADAPTERS else NoteKind.DIRECT_CHECKPOINTS
    values = {"trainer": need.trainer, "gb": need.checkpoints_bytes / 1e9, "gb_per_s": need.throughput_bytes_per_s / 1e9}
    existing = getattr(spec.workload, "checkpoint", None)
    elsewhere = (Note(NoteKind.EXISTING_BUCKET),) if existing and existing.uri else ()
    limit = Note(NoteKind.BUCKET_LIMIT, {"gb_per_s": rate / 1e9, "nodes": candidate.nodes})
    return FileSystem(
        profile(candidate.cloud).object_volume,
        bucket_gib(need) * GIB,
        rate,
        None if usd == math.inf else usd,
        basis=(Note(kind, values), *elsewhere),
        delivered_bytes_per_s=rate,
        limit=limit,
        checkpoint_s=facts.checkpoint_bytes / rate,
        weights_s=facts.weights_bytes / rate,
    )


def bucket_gib(need: StorageNeed) -> float:
    """GiB of the kept checkpoints, as bill and plan show them."""
    return math.ceil(10 * need.checkpoints_bytes / GIB) / 10
