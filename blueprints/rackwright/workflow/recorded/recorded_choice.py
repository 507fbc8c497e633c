"""What a recorded decision means for a new choice. record: None without a file, or for one that this release cannot read.

A file that was edited by hand places nothing: a new choice takes place, machines and versions from the spec and the catalog. Only how its
cluster was created is read from it, because another access of the creator fails the update of a running cluster.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.diagnostics.problem import Level, Problem, Stage

if TYPE_CHECKING:
    from rackwright.catalog.read import Catalog
    from rackwright.compile.compile_context import RunningStack
    from rackwright.sizing.node.file_system import LustreSize
    from rackwright.sizing.plan import Fit, SizingPlan
    from rackwright.spec.spec import Spec
    from rackwright.stackplan import PlacePlan, StackPlan
    from rackwright.workflow.decision import Decision


FIXED = ("account", "region", "zone")
"""Parts of a place that cannot change without replacing machines and data. Setting a part that was empty changes nothing."""


def recorded_instead(record: "Decision | None", fit: "Fit | None", path: Path) -> str:
    """A sentence that names the recorded machines, which an update builds, where the fit has others; else "". path: of the spec."""
    from rackwright.workflow.decision import decision_path

    if record is None or (fit and _identities(record.fit) == _identities(fit)):
        return ""
    machines = record.fit.label
    if fit is None:
        return f"{decision_path(path).name} records {machines}: `pulumi up` builds that; no candidate of today meets the goals"
    return f"{decision_path(path).name} records {machines}: `pulumi up` builds that, until `rackwright choose` records another"


def _identities(fit: "Fit") -> list[tuple]:
    """Identity of the candidate of every workload."""
    from rackwright.sizing.selection.ranking import identity

    return [identity(each.candidate) for each in fit.each_workload]


def moved(was: "PlacePlan | None", now: "PlacePlan") -> str:
    """`Moving from zone use1-az1 to zone use1-az2 replaces every resource of the stack`; "" where the place stays."""
    parts = [part for part in FIXED if was and getattr(was, part) and getattr(was, part) != getattr(now, part)]
    old, new = (", ".join(f"{part} {getattr(place, part)}" for part in parts) for place in (was, now))
    return f"Moving from {old} to {new} replaces every resource of the stack" if parts else ""


def replaced_place(record: "Decision | None", decision: "Decision") -> tuple[Problem, ...]:
    """A warning about a new decision that moves the recorded stack."""
    is_running = record is not None and not record.by_hand and record.spec == decision.spec
    reason = moved(record.place, decision.place) if record and is_running and decision.place else ""
    if not reason:
        return ()
    fix = "copy what is needed from its disks and file systems first, or restore the decision file from version control"
    return (Problem("D-moved", reason, level=Level.WARNING, fix=fix),)


def running_stack(record: "Decision | None", spec: "Spec") -> "RunningStack":
    """What of the recorded stack stays in every new choice: where it runs, with zones of the spec, its creator's access and pod logs."""
    from rackwright.compile.compile_context import NEW_STACK, RunningStack

    if record is None:
        return NEW_STACK
    cluster = RunningStack(
        creator_is_admin=record.creator_is_admin,
        has_pod_logs=record.has_pod_logs,
        has_ungated_queue=record.has_ungated_queue,
        queue_flavor=record.queue_flavor,
    )
    kept = cluster if record.spec == spec.name else NEW_STACK
    if record.by_hand or record.place is None:
        return kept
    return replace(kept, place=replace(record.place, further_zones=tuple(zone for entry in spec.infra.places for zone in entry.zones)))


def running_with(record: "Decision | None", spec: "Spec", fit: "Fit", catalog: "Catalog") -> "RunningStack":
    """As `running_stack`, with what stays when a fit is chosen: versions with the recorded machines, the file system in its region."""
    from rackwright.workflow.decision import recorded_file_system

    pins = record.pins if record and record.has_versions_for(spec, fit) else None
    is_running = record is not None and not record.by_hand and record.spec == spec.name
    file_system = recorded_file_system(record, spec, catalog) if record and is_running and _same_region(record, fit) else None
    return replace(running_stack(record, spec), pins=pins, file_system=file_system)


def _same_region(record: "Decision", fit: "Fit") -> bool:
    here, there = record.fit.candidate, fit.candidate
    return (here.cloud, here.region) == (there.cloud, there.region)


def replaced_file_system(was: "LustreSize | None", stack: "StackPlan", path: Path, *, at_choice: bool) -> tuple[Problem, ...]:
    """A problem where the stack deletes the recorded file system: an update stops, and a new choice accepts it. path: of the spec.

    FSx changes neither storage class nor network, never shrinks SSD, and keeps the tier with EFA:
    https://docs.aws.amazon.com/fsx/latest/LustreGuide/managing-throughput-capacity.html and efa-file-systems.html
    Managed Lustre keeps its tier: https://docs.cloud.google.com/managed-lustre/docs/increase-capacity
    """
    from rackwright.compile.storage.lustre import file_system_of
    from rackwright.workflow.decision import decision_path, renewal

    new = file_system_of(stack.lustre)
    if was is None or (new and not _is_replaced(was, new)):
        return ()
    change = f"replaces the recorded file system and its data: {_shown(was)} becomes {_shown(new)}" if new else f"deletes {_shown(was)}"
    if at_choice:
        fix = "copy its data first, or restore the storage of the spec and the decision file from version control"
        return (Problem("D-file-system-replaced", f"This choice {change}", level=Level.WARNING, fix=fix),)
    fix = f"{renewal(decision_path(path), 'copy its data and replace')}, or revert the edit"
    return (Problem("D-file-system-replaced", f"The edited spec {change}", fix=fix, stage=Stage.BUILD),)


def _is_replaced(was: "LustreSize", new: "LustreSize") -> bool:
    if (bool(was.ssd_tier), was.efa) != (bool(new.ssd_tier), new.efa):
        return True
    return bool(was.ssd_tier) and (new.capacity_gib < was.capacity_gib or (was.keeps_tier and new.volume != was.volume))


def _shown(size: "LustreSize") -> str:
    return f"{size.volume} of {size.capacity_gib:,} GiB{' over EFA' if size.efa and not size.ssd_tier else ''}"


def kept_file_system(was: "LustreSize | None", stack: "StackPlan", fresh: "StackPlan", path: Path) -> tuple[Problem, ...]:
    """A warning where the recorded file system stays and a new stack would get another tier or network. path: of the spec."""
    from rackwright.compile.storage.lustre import file_system_of
    from rackwright.workflow.decision import decision_path

    kept, new = file_system_of(stack.lustre), file_system_of(fresh.lustre)
    if was is None or kept is None or new is None or (kept.volume, kept.efa) != (was.volume, was.efa) or _is_replaced(was, kept):
        return ()
    if (kept.volume, kept.efa) == (new.volume, new.efa):
        return ()
    grows = f" and grows to {kept.capacity_gib:,} GiB" if kept.ssd_tier and kept.capacity_gib > was.capacity_gib else ""
    reason = f"The recorded file system, {_shown(was)}, is kept{grows}; a new stack would get {new.volume}"
    fix = f"copy the data, remove the stack and {decision_path(path).name}, and choose again; or keep it"
    return (Problem("D-file-system", reason, fix=fix, level=Level.WARNING),)


def recorded_rank(record: "Decision | None", plan: "SizingPlan", spec: "Spec") -> int | None:
    """The rank that the recorded machines have now; None where they are no longer a fit, and for a file that was edited by hand."""
    return None if record is None or record.by_hand else _rank_of_machines(record, plan, spec)


def unused_record(record: "Decision | None", plan: "SizingPlan", spec: "Spec", path: Path) -> tuple[Problem, ...]:
    """A warning that a file edited by hand was not used, with the rank of its machines. path: of the spec."""
    from rackwright.workflow.decision import decision_path

    if record is None or not record.by_hand:
        return ()
    rank, machines = _rank_of_machines(record, plan, spec), record.fit.label
    reason = f"{decision_path(path).name} was edited by hand: its place, machines ({machines}) and versions are not used"
    fix = f"`rackwright choose {path.name} {rank}` chooses these machines" if rank else "restore the file to keep the machines of a stack"
    return (Problem("D-by-hand", reason, level=Level.WARNING, fix=fix),)


def _rank_of_machines(record: "Decision", plan: "SizingPlan", spec: "Spec") -> int | None:
    from rackwright.sizing.selection.revalidation import same_machines

    def is_recorded(fit: "Fit") -> bool:
        now, was = fit.each_workload, record.fit.each_workload
        alike = [each.workload for each in now] == [each.workload for each in was]
        return alike and all(same_machines(a.candidate, b.candidate, spec) for a, b in zip(now, was, strict=True))

    return next((rank for rank, fit in enumerate(plan.fits, 1) if is_recorded(fit)), None)
