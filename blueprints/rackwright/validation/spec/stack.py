"""S-01..S-09: the stack as a whole."""

from collections.abc import Iterator

from rackwright.clouds import FSX, MANAGED_LUSTRE, profile
from rackwright.diagnostics.problem import At
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.spec.blueprint import LustreStorage
from rackwright.spec.workload import Serve
from rackwright.validation.spec.registry import SpecContext, rule

JOBS = {"pretrain", "finetune", "batch", "custom"}
SHAPES = {"box": JOBS | {"serve"}, "training-cluster": JOBS, "tpu-pod": JOBS | {"serve"}, "inference-fleet": {"serve", "batch"}}
"""Blueprint -> kinds of workload that it can run."""


@rule("S-01")
def infra_has_one_list(context: SpecContext) -> Iterator[Violation]:
    """infra must have exactly one of `any_of` and `ordered`, with at least one place."""
    infra = context.spec.infra
    if bool(infra.any_of) == bool(infra.ordered):
        fix = "keep one" if infra.any_of else "such as any_of: [{cloud: aws, regions: [us-east-1]}]"
        yield Violation(At() / "infra", fix, "`any_of` and `ordered` are both set" if infra.any_of else "No place is listed in `infra`")


@rule("S-02")
def capacity_has_one_list(context: SpecContext) -> Iterator[Violation]:
    """capacity must have exactly one of `ordered` and `fallback`, with at least one entry."""
    for at, place in context.places:
        if bool(place.capacity.ordered) == bool(place.capacity.fallback):
            both = bool(place.capacity.ordered)
            message = "`ordered` and `fallback` are both set" if both else "`capacity` has no entry"
            yield Violation(at / "capacity", "keep one" if both else "such as {ordered: [on-demand]}", message)


@rule("S-03")
def names_are_unique(context: SpecContext) -> Iterator[Violation]:
    """Workloads of a stack must have different names."""
    seen: set[str] = set()
    for at, workload in context.workloads:
        if workload.name in seen:
            yield Violation(at / "name", f"such as {workload.name}-2", f"Another workload has the name {quote(workload.name)}")
        seen.add(workload.name)


@rule("S-04")
def training_or_serving(context: SpecContext) -> Iterator[Violation]:
    """A stack can train or serve, not both."""
    first = context.spec.workload
    for at, workload in context.workloads[1:]:
        if isinstance(workload, Serve) != isinstance(first, Serve):
            kinds = f"{quote(first.name)} is a {first.kind} workload, {quote(workload.name)} a {workload.kind} workload"
            yield Violation(at / "kind", f"move {quote(workload.name)} to a separate stack", f"{kinds}; a stack runs training or serving")


@rule("S-05")
def stack_has_one_job(context: SpecContext) -> Iterator[Violation]:
    """A stack can have one job (pretrain, finetune, batch, custom), because its machines are sized for it."""
    jobs = [at for at, workload in context.workloads if workload.kind in JOBS]
    for at in jobs[1:]:
        yield Violation(at / "kind", "move it to a separate stack", "The stack already has a job, and its machines are sized for that job")


@rule("S-06")
def blueprint_supports_workload(context: SpecContext) -> Iterator[Violation]:
    """The blueprint must support the kind of workload."""
    kind, first = context.spec.blueprint.kind, context.spec.workload
    if kind != "auto" and first.kind not in SHAPES[kind]:
        able = [shape for shape, kinds in SHAPES.items() if first.kind in kinds]
        message = f"Blueprint {kind} does not run {first.kind} workloads"
        yield Violation(At() / "blueprint" / "kind", f"use one of auto, {', '.join(able)}", message)


@rule("V-54", link="https://docs.aws.amazon.com/fsx/latest/LustreGuide/managing-throughput-capacity.html")
def tiered_lustre_has_no_throughput(context: SpecContext) -> Iterator[Violation]:
    """`throughput` per TiB cannot be set with tiering `intelligent`, bought per server, or `dynamic`, which has one rate."""
    storage = context.spec.blueprint.storage
    if isinstance(storage, LustreStorage) and storage.lustre.tiering != "ssd" and storage.lustre.throughput is not None:
        message = f"`throughput` is set with `tiering: {storage.lustre.tiering}`"
        yield Violation(At() / "blueprint" / "storage" / "lustre" / "throughput", "leave it out: sizing chooses the size", message)


TIERINGS = {"intelligent": FSX, "dynamic": MANAGED_LUSTRE}
"""Storage classes of one service; `ssd` is of both."""
SERVICES = {FSX: "FSx for Lustre", MANAGED_LUSTRE: "Managed Lustre"}


@rule("S-260", link="https://docs.cloud.google.com/managed-lustre/docs/performance-tiers")
def lustre_class_is_of_the_service(context: SpecContext) -> Iterator[Violation]:
    """`tiering` of a file system names a storage class of the cloud's Lustre service."""
    storage = context.spec.blueprint.storage
    if not isinstance(storage, LustreStorage):
        return
    services = {profile(place.cloud).lustre_service for _, place in context.places} - {""}
    for service in sorted(services):
        if TIERINGS.get(storage.lustre.tiering, service) != service:
            own = next((name for name, of in TIERINGS.items() if of == service), "")
            message = f"{SERVICES[service]} has no storage class {storage.lustre.tiering}"
            yield Violation(At() / "blueprint" / "storage" / "lustre" / "tiering", f"set it to ssd or {own}", message)


@rule("S-261", link="https://docs.cloud.google.com/managed-lustre/docs/lustre-csi-driver-new-volume")
def lustre_over_efa_is_of_fsx(context: SpecContext) -> Iterator[Violation]:
    """Clients of Managed Lustre use TCP on their standard interfaces, so `efa` cannot be true."""
    storage = context.spec.blueprint.storage
    services = {profile(place.cloud).lustre_service for _, place in context.places}
    if isinstance(storage, LustreStorage) and storage.lustre.efa and MANAGED_LUSTRE in services:
        fix = "leave it out" if services <= {MANAGED_LUSTRE, ""} else "leave it out, or write one spec per cloud"
        yield Violation(At() / "blueprint" / "storage" / "lustre" / "efa", fix, "`efa` is true, and Managed Lustre has no EFA")


@rule("S-07")
def tpu_pod_needs_google_cloud(context: SpecContext) -> Iterator[Violation]:
    """A tpu-pod requires a place on Google Cloud."""
    if (
        context.spec.blueprint.kind == "tpu-pod"
        and context.places
        and not any("tpu-pod" in profile(place.cloud).blueprints for _, place in context.places)
    ):
        message = "No place is on Google Cloud, which a tpu-pod requires"
        yield Violation(At() / "blueprint" / "kind", "add a place with `cloud: gcp`", message)
