"""What a recorded decision means for a new choice. record: None without a file, or for one that this release cannot read.

Nothing of a file that was edited by hand is used: a new choice takes place, machines and versions from the spec and the catalog.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.diagnostics.problem import Level, Problem

if TYPE_CHECKING:
    from rackwright.sizing.plan import Fit, SizingPlan
    from rackwright.spec.spec import Spec
    from rackwright.stackplan import PlacePlan
    from rackwright.workflow.decision import Decision


def recorded_instead(record: "Decision | None", fit: "Fit | None", path: Path) -> str:
    """A sentence that names the recorded machines where the fit has others, else "". path: of the spec."""
    from rackwright.sizing.selection.ranking import identity
    from rackwright.workflow.decision import decision_path

    if record is None or (fit and identity(record.fit.candidate) == identity(fit.candidate)):
        return ""
    machines = record.fit.candidate.label
    if record.by_hand:
        return f"{decision_path(path).name} was edited by hand: `pulumi up` stops until `rackwright choose` records another"
    if fit is None:
        return f"{decision_path(path).name} records {machines}, and no candidate meets the goals: `pulumi up` stops unless they still do"
    return f"{decision_path(path).name} records {machines}: `pulumi up` builds that, until `rackwright choose` records another"


def recorded_place(record: "Decision | None", spec: "Spec") -> "PlacePlan | None":
    """Where the stack runs, so that choosing again does not move it, with the zones of the spec."""
    if record is None or record.by_hand or record.place is None:
        return None
    return replace(record.place, further_zones=tuple(zone for entry in spec.infra.places for zone in entry.zones))


def recorded_rank(record: "Decision | None", plan: "SizingPlan", spec: "Spec") -> int | None:
    """The rank that the recorded machines have now; None where they are no longer a fit, and for a file that was edited by hand."""
    return None if record is None or record.by_hand else _rank_of_machines(record, plan, spec)


def unused_record(record: "Decision | None", plan: "SizingPlan", spec: "Spec", path: Path) -> tuple[Problem, ...]:
    """A warning that a file edited by hand was not used, with the rank of its machines. path: of the spec."""
    from rackwright.workflow.decision import decision_path

    if record is None or not record.by_hand:
        return ()
    rank, machines = _rank_of_machines(record, plan, spec), record.fit.candidate.label
    reason = f"{decision_path(path).name} was edited by hand: its place, machines ({machines}) and versions are not used"
    fix = f"`rackwright choose {path.name} {rank}` chooses these machines" if rank else "restore the file to keep the machines of a stack"
    return (Problem("D-by-hand", reason, level=Level.WARNING, fix=fix),)


def _rank_of_machines(record: "Decision", plan: "SizingPlan", spec: "Spec") -> int | None:
    from rackwright.sizing.selection.revalidation import same_machines

    old = record.fit.candidate
    return next((rank for rank, fit in enumerate(plan.fits, 1) if same_machines(fit.candidate, old, spec)), None)
