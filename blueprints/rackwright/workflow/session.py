"""One spec on its way through the stages, as a command walks it. Holds no rule and no number."""

from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rackwright.cli.terminal import NOT_FEASIBLE, console, emit, tell, working
from rackwright.diagnostics.errors import UserError

if TYPE_CHECKING:
    from rackwright.sizing.plan import Fit, SizingPlan
    from rackwright.spec.load import Reading
    from rackwright.spec.spec import Spec
    from rackwright.stackplan import StackPlan
    from rackwright.workflow.decision import Decision
    from rackwright.workflow.stack_preview import StackPreview


@dataclass
class Session:
    """Each stage is done once and only when asked for, so that a command pays for what it shows."""

    path: Path
    as_json: bool = False
    today: date = date.min

    @staticmethod
    def of(path: Path, as_json: bool, today: datetime | None) -> "Session":
        return Session(path, as_json, today.date() if today else date.today())

    @cached_property
    def reading(self) -> "Reading":
        """The file as read. Raises UserError with every problem of it."""
        from rackwright.spec.load import examine
        from rackwright.spec.reading.source import read_file

        found = examine(read_file(self.path), str(self.path))
        if found.spec is None:
            raise UserError(found.problems, str(self.path))
        if not self.as_json:
            tell(found.warnings, str(self.path))
        return found

    @cached_property
    def spec(self) -> "Spec":
        spec = self.reading.spec
        assert spec is not None, "reading refuses a file without one"
        return spec

    @cached_property
    def plan(self) -> "SizingPlan":
        from rackwright import size

        with working("sizing", self.as_json):
            return size(self.spec, today=self.today)

    def outlook(self, fit: "Fit | None") -> "StackPreview":
        from rackwright.workflow.stack_preview import stack_preview

        return replace(stack_preview(self.spec, self.plan, fit, self.today), recorded=self._recorded_instead(fit))

    @cached_property
    def recorded(self) -> "Decision | None":
        """The decision beside the spec. Raises UserError when this release cannot read it."""
        from rackwright.workflow.decision import decision_path, read_decision

        return read_decision(decision_path(self.path))

    def choose(self, rank: int | None = None) -> "Decision":
        """The decision for a rank; without one the recorded machines where they still do, else the first.

        Ends the command with the nearest misses when nothing fits. Raises UserError when there is no such rank.
        """
        from rackwright.workflow.decision import choose

        if not self.plan.fits:
            self.show_plan(self.outlook(None), 1)
            raise typer.Exit(NOT_FEASIBLE)
        return choose(self.spec, self.plan, rank or self._kept() or 1, self.today)

    def _recorded_instead(self, fit: "Fit | None") -> str:
        """In words, the recorded machines where they are others than the fit's; a record that cannot be read is none here."""
        from rackwright.sizing.selection.ranking import identity
        from rackwright.workflow.decision import decision_path

        try:
            old = self.recorded.fit.candidate if self.recorded else None
        except UserError:
            return ""
        if old is None or (fit and identity(old) == identity(fit.candidate)):
            return ""
        return f"{decision_path(self.path).name} records {old.label}: `pulumi up` builds that, until `rackwright choose` records another"

    def _kept(self) -> int | None:
        """The rank that the recorded machines have now; a record that cannot be read is there to be renewed."""
        from rackwright.sizing.selection.revalidation import same_machines

        try:
            old = self.recorded.fit.candidate if self.recorded else None
        except UserError:
            return None
        ranks = (rank for rank, fit in enumerate(self.plan.fits, 1) if old and same_machines(fit.candidate, old, self.spec))
        return next(ranks, None)

    def decision(self) -> "Decision":
        """What `pulumi up` would build: the recorded decision, else the first rank. Raises UserError when the record is stale."""
        from rackwright.catalog import Catalog
        from rackwright.diagnostics.problem import Level
        from rackwright.workflow.decision import decision_path
        from rackwright.workflow.revalidation import revalidate

        if self.recorded is None:
            return self.choose()
        now, found = revalidate(self.recorded, self.spec, Catalog.default(), decision_path(self.path), self.today)
        if any(problem.level is Level.ERROR for problem in found):
            raise UserError(found, str(self.path))
        if not self.as_json:
            tell(found, str(self.path))
        return now

    def stack(self, decision: "Decision") -> "StackPlan":
        """The stack of a decision. Raises UserError where this release cannot build it or a rule says that a cloud would refuse it."""
        from rackwright import check
        from rackwright.diagnostics.problem import Level
        from rackwright.workflow.decision import compiled

        made = compiled(decision, self.spec, self.today)
        found = check(made, [entry.rule for entry in self.spec.acknowledge])
        if any(problem.level is Level.ERROR for problem in found):
            raise UserError(found, self.spec.name)
        if not self.as_json:
            tell(found, self.spec.name)
        return made

    def show_plan(self, preview: "StackPreview", top: int) -> None:
        from rackwright.report import plan_json
        from rackwright.report.terminal import plan as plan_text

        if self.as_json:
            emit(plan_json.plan_json(self.plan, preview, self.reading.warnings))
        else:
            plan_text.show_plan(console(), self.plan, self.spec, preview, top, self.path)
