"""Environment variables of a job's container: fabric, launch, the plan's layout and paths."""

from typing import Any

from rackwright.catalog.release.fabric_environment import OWN_SERVERS, FabricVariable, fabric_variables
from rackwright.catalog.rows import Fabric
from rackwright.compile.jobs.job_context import JobContext, Launch
from rackwright.compile.jobs.paths import checkpoint_path, data_path
from rackwright.compile.kubernetes.manifests import SECRETS, Body

MASTER_PORT = 29500
"""torchrun's default (https://docs.pytorch.org/docs/stable/elastic/run.html)."""
RANK_FIELD = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
"""Number of a pod in its job (https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode)."""
SLICE_RANK, SLICE_FIELD = "MEGASCALE_SLICE_ID", "metadata.labels['jobset.sigs.k8s.io/job-index']"
"""Number of a slice among those that train together."""
PREFIX = "PLAN_"
"""Of variables with values of the plan."""


def environment(job: JobContext) -> list[Body]:
    """Variables as the container lists them: rank first, then those of the job, the spec and its secrets."""
    own = job_variables(job)
    plain = own | {name: value for name, value in job.run.env.items() if name not in own}
    rank = {"name": "NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": RANK_FIELD}}}
    ranks = [rank, *([{"name": SLICE_RANK, "valueFrom": {"fieldRef": {"fieldPath": SLICE_FIELD}}}] if job.slices > 1 else [])]
    references = ((name, {"secretKeyRef": {"name": SECRETS, "key": name}}) for name in job.spec.workload.secret_variables)
    secrets = ({"name": name, "valueFrom": reference} for name, reference in references)
    return [*ranks, *({"name": name, "value": value} for name, value in plain.items()), *secrets]


def job_variables(job: JobContext) -> dict[str, str]:
    """Variables that the job sets, and that the spec cannot change."""
    return _fabric(job) | slice_variables(job) | launch_variables(job) | planned_variables(job, checkpoint_path(job), data_path(job))


def fabric_rows(job: JobContext) -> tuple[FabricVariable, ...]:
    """Variables of the fabric between machines. A job on one machine has none, because it does not use the fabric; chips of a TPU host
    exchange over the network of their slice.

    Machines without an RDMA fabric communicate over TCP, as sized; its variables state that.
    """
    if not job.fit.candidate.is_spread and not job.pool.topology:
        return ()
    fabric = Fabric.TCP if job.pool.fabric == Fabric.NONE else job.pool.fabric
    return fabric_variables(fabric, job.machine.kind, OWN_SERVERS if job.fabric_config else "")


def pinned_variables(job: JobContext) -> frozenset[str]:
    """Variables without which communication may use TCP without an error."""
    return frozenset(row.variable for row in fabric_rows(job) if row.pins_transport and row.variable in _fabric(job))


def _fabric(job: JobContext) -> dict[str, str]:
    """Variables of the fabric: those that the stack has for the ports of own servers, else those of the table."""
    config = job.fabric_config
    return dict(config["data"]) if config else {row.variable: row.value for row in fabric_rows(job)}


def slice_variables(job: JobContext) -> dict[str, str]:
    """Variables of libtpu for TPU slices that train together; empty for one slice.

    GKE sets those of a slice (TPU_WORKER_ID, TPU_WORKER_HOSTNAMES). The form is that of Google's JobSets
    (https://cloud.google.com/ai-hypercomputer/docs/workloads/pathways-on-cloud/pathways-interactive-mode).
    """
    return {"MEGASCALE_NUM_SLICES": str(job.slices), "MEGASCALE_COORDINATOR_ADDRESS": job.host(0)} if job.slices > 1 else {}


def launch_variables(job: Launch) -> dict[str, str]:
    """Variables that launchers and their templates read."""
    return {
        "NNODES": str(job.nodes),
        "NPROC_PER_NODE": str(job.accelerators_per_node),
        "MASTER_ADDR": job.host(0),
        "MASTER_PORT": str(MASTER_PORT),
    }


def planned_variables(job: Launch, checkpoints: str | None, data: str | None) -> dict[str, str]:
    """The layout and batch that the plan was sized for, and the paths of checkpoints and data."""
    layout, facts = job.layout, job.sizing.facts
    values: dict[str, Any] = {
        "TENSOR_PARALLEL": layout.tensor,
        "PIPELINE_PARALLEL": layout.pipeline,
        "CONTEXT_PARALLEL": layout.context,
        "EXPERT_PARALLEL": layout.expert,
        "DATA_PARALLEL": layout.data,
        "ZERO_STAGE": layout.zero_stage,
        "SHARD_GROUP": layout.shard_group or None,
        "VIRTUAL_STAGES": layout.virtual if layout.virtual > 1 else None,
        "MICRO_BATCH_SIZE": layout.micro_batch,
        "GRADIENT_ACCUMULATION": layout.gradient_accumulation,
        "RECOMPUTE": layout.recompute,
        "PRECISION": job.fit.candidate.precision,
        "GLOBAL_BATCH_SIZE": facts.global_batch_size or None,
        "SEQUENCE_LENGTH": facts.sequence_length or None,
        "CHECKPOINT_PATH": checkpoints,
        "CHECKPOINT_INTERVAL_S": round(facts.checkpoint_interval_s) or None,
        "DATA_PATH": data,
    }
    return {f"{PREFIX}{name}": str(value) for name, value in values.items() if value not in (None, "")}
