"""The pipeline from a spec to a checked and priced stack: load, size, decide, compile, validate, price.

The only module that joins these stages. Commands, the Pulumi program, the report and the teardown read its results and print them.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.catalog import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level, Problem, Stage
from rackwright.sizing.assumptions import DEFAULT, Assumptions
from rackwright.spec.reading.read_spec import Reading
from rackwright.spec.reading.source import read_file
from rackwright.spec.spec import Spec
from rackwright.workflow.decided import Decided
from rackwright.workflow.load import examine
from rackwright.workflow.recorded import (
    file_system_warnings,
    kept_file_system,
    recorded_instead,
    recorded_rank,
    replaced_place,
    running_stack,
    unused_record,
)

if TYPE_CHECKING:
    from rackwright.sizing.node.file_system import LustreSize
    from rackwright.sizing.plan import Fit, SizingPlan
    from rackwright.stackplan import StackPlan
    from rackwright.workflow.buildability import Buildability
    from rackwright.workflow.decision import Decision
    from rackwright.workflow.stack_preview import StackPreview


@dataclass
class Pipeline:
    """The stages of one spec. Each runs once, when a caller first needs it.

    path: the spec file; text: its content, read from `path` when None; own_catalog: replaces the embedded one;
    now: the moment, where it is known to more than a day (`clock` returns both); layers, upstream_stack: what this stack builds, and the
    stack that it builds on.
    """

    path: Path
    today: date
    now: datetime | None = None
    own_catalog: Catalog | None = None
    text: str | None = None
    layers: tuple[str, ...] = ()
    upstream_stack: str = ""
    assumptions: Assumptions = DEFAULT
    is_configured: Callable[[str], bool] | None = None
    """Whether the stack's configuration has a key, where it can be read."""
    _stacks: "dict[tuple[Fit, LustreSize | None], StackPlan]" = field(default_factory=dict)

    @staticmethod
    def of_spec(
        spec: Spec,
        today: date,
        catalog: Catalog | None = None,
        plan: "SizingPlan | None" = None,
        now: datetime | None = None,
        assumptions: Assumptions = DEFAULT,
    ) -> "Pipeline":
        """A pipeline that starts at a parsed spec, or at its plan, and reads no file."""
        made = Pipeline(Path(f"{spec.name}.yaml"), today, now, catalog, assumptions=assumptions)
        parsed = {"content": "", "spec": spec, "reading": Reading(spec, ()), "recorded": None}
        vars(made).update(parsed | ({"plan": plan} if plan else {}))
        return made

    @cached_property
    def content(self) -> str:
        """Text of the spec file; empty for a spec that was not read from a file."""
        return read_file(self.path) if self.text is None else self.text

    @property
    def source(self) -> str:
        """What messages name as the source of the spec."""
        return str(self.path) if self.content else self.spec.name

    @cached_property
    def reading(self) -> Reading:
        """The parsed file. Raises UserError with every problem of it."""
        found = examine(self.content, str(self.path), self.own_catalog)
        if found.spec is None:
            raise UserError(found.problems, str(self.path))
        return found

    @cached_property
    def spec(self) -> Spec:
        """Raises UserError with every problem of the file."""
        assert self.reading.spec is not None, "`reading` raises for a file without a spec"
        return self.reading.spec

    @cached_property
    def plan(self) -> "SizingPlan":
        """The ranked candidates with their sentences, those that can be built first."""
        from rackwright.sizing.size import size
        from rackwright.wording.plan_text import with_text

        rerank = self.buildability.ordered
        with self._located():
            return with_text(size(self.spec, self.catalog, today=self.today, assumptions=self.assumptions, rerank=rerank))

    @cached_property
    def pin_problems(self) -> tuple[Problem, ...]:
        """Warnings about pinned machines that no fit uses, located in the spec."""
        from rackwright.workflow.infeasible import pin_problems

        is_pinned = any(place.pin for place in self.spec.infra.places)
        return pin_problems(self.spec, self.plan, self.content) if is_pinned else ()

    def _compiled(self, plan: "SizingPlan", fit: "Fit", file_system: "LustreSize | None" = None) -> "StackPlan":
        """The stack of a fit, compiled once. Raises UserError when this release cannot build it."""
        from rackwright.compile.compile import compile_plan

        if (fit, file_system) not in self._stacks:
            running = replace(running_stack(self._readable_record, self.spec), file_system=file_system)
            with self._located(fit.candidate.place):
                self._stacks[fit, file_system] = compile_plan(
                    self.spec, plan, fit, today=self.today, now=self.now, catalog=self.catalog, running=running
                )
        return self._stacks[fit, file_system]

    @cached_property
    def buildability(self) -> "Buildability":
        from rackwright.workflow.buildability import Buildability

        return Buildability(self.spec, self.catalog, self.today, self.now)

    @property
    def catalog(self) -> Catalog:
        return self.own_catalog or Catalog.default()

    @cached_property
    def recorded(self) -> "Decision | None":
        """The decision beside the spec. Raises UserError when this release cannot read it."""
        from rackwright.workflow.decision import decision_path, read_decision

        return read_decision(decision_path(self.path))

    @property
    def _readable_record(self) -> "Decision | None":
        """The decision beside the spec; None for a file that this release cannot read."""
        try:
            return self.recorded
        except UserError:
            return None

    def preview(self, fit: "Fit | None" = None) -> "StackPreview":
        """The stack of a fit, of the first one when None, priced and checked. Never raises UserError for what is wrong with the stack."""
        from rackwright.workflow.stack_preview import StackPreview

        fit = fit or self.plan.chosen
        refused = self.record_refusal
        recorded = "" if refused else recorded_instead(self._readable_record, fit, self.path)
        empty = StackPreview(plan=self.plan, recorded=recorded, refusals=self.buildability.reasons(self.plan), problems=refused)
        if fit is None:
            return empty
        try:
            found = self._outcome(self._compiled(self.plan, fit), fit)
        except UserError as error:
            return replace(empty, problems=(*error.problems, *refused))
        return replace(found, plan=empty.plan, recorded=recorded, refusals=empty.refusals, problems=(*found.problems, *refused))

    @cached_property
    def record_refusal(self) -> tuple[Problem, ...]:
        """Why an update refuses the recorded decision: warnings, and open items of a file that was edited by hand."""
        try:
            found = self._recorded_stack()[2] if self.recorded else ()
        except UserError as error:
            return tuple(replace(problem, level=Level.WARNING) for problem in error.problems if problem.level is Level.ERROR)
        return tuple(problem for problem in found if problem.stage is Stage.BUILD)

    def update_preview(self) -> "StackPreview":
        """What an update builds, with every problem of the file, the decision and the stack. Raises UserError for an invalid file."""
        from rackwright.workflow.stack_preview import StackPreview

        try:
            if self.recorded is None:
                found = self.preview()
            else:
                decision, stack, edits = self._recorded_stack()
                found = self._outcome(stack, decision.fit)
                found = replace(found, plan=decision.plan, problems=(*edits, *found.problems))
        except UserError as error:
            found = StackPreview(problems=error.problems)
        return replace(found, problems=tuple(dict.fromkeys((*self.reading.warnings, *found.problems))))

    def choose(self, rank: int | None = None, *, upgrade: bool = False) -> Decided:
        """The stack of a rank, counted from 1; when None of the recorded machines where they still fit, else of the first rank.

        upgrade: take the versions of this release instead of the recorded ones.
        Raises UserError when no fit has the rank, this release cannot build it, or a rule refuses the stack.
        """
        from rackwright.workflow.decision import with_open_items

        if not self.plan.fits:
            from rackwright.workflow.infeasible import no_fit

            raise UserError([no_fit(self.plan, self.path), *self.pin_problems], str(self.path))
        if rank is None:
            rank = recorded_rank(self._readable_record, self.plan, self.spec) or 1
            rank = 1 if self.buildability.reasons(self.plan)[rank - 1] else rank
        decision, stack = self._choice(rank, upgrade)
        made = self._decided(decision, stack, recorded=False)
        found = unused_record(self._readable_record, self.plan, self.spec, self.path)
        edits = (*found, *replaced_place(self._readable_record, decision))
        return replace(made, decision=with_open_items(decision, made.before_you_build), edits=edits)

    def decision_of(self, rank: int) -> "Decision":
        """The decision for a rank, without checks. Raises UserError when no fit has the rank, or this release cannot build it."""
        return self._choice(rank)[0]

    def _choice(self, rank: int, upgrade: bool = False) -> "tuple[Decision, StackPlan]":
        from rackwright.compile.version_pins import with_version_pins
        from rackwright.workflow.decision import fit_of_rank, record

        fit = fit_of_rank(self.plan, rank)
        old = self._readable_record
        stack = self._compiled(self.plan, fit, kept_file_system(old, self.spec, fit, self.catalog))
        if old and not upgrade and old.has_versions_for(self.spec, fit):
            stack = with_version_pins(stack, old.pins)
        return record(self.spec, self.plan, rank, stack, self.today), stack

    def decide(self) -> Decided:
        """What an update builds: the recorded decision, else the first rank.

        Raises UserError when the record is stale or cannot be read, nothing fits, or a rule refuses the stack.
        """
        if self.recorded is None:
            return self.choose()
        decision, stack, found = self._recorded_stack()
        made = self._decided(decision, stack, recorded=True)
        edits, refused = (tuple(p for p in found if p.stage is stage) for stage in (Stage.PLAN, Stage.BUILD))
        return replace(made, edits=edits, problems=(*refused, *made.problems))

    def _recorded_stack(self) -> "tuple[Decision, StackPlan, tuple[Problem, ...]]":
        """The recorded decision, its stack, and what revalidation found. Raises UserError for a stale or unreadable record."""
        from rackwright.workflow.decision import compiled, decision_path
        from rackwright.workflow.revalidation import revalidate

        assert self.recorded, "only a recorded decision has a stack"
        with self._located(self.recorded.fit.candidate.place):
            decision, found = revalidate(self.recorded, self.spec, self.catalog, decision_path(self.path), self.today)
        if any(problem.level is Level.ERROR and problem.stage is Stage.PLAN for problem in found):
            raise UserError(found, str(self.path))
        with self._located(decision.fit.candidate.place):
            return decision, compiled(decision, self.spec, self.today, self.now, catalog=self.catalog), tuple(found)

    def unchecked(self, decision: "Decision", recorded: bool) -> Decided:
        """The stack of a decision, priced and not checked: a teardown must not fail on rules."""
        from rackwright.cost.bill import bill
        from rackwright.workflow.decision import compiled

        stack = self._layered(compiled(decision, self.spec, self.today, self.now, catalog=self.catalog))
        return Decided(self.spec, decision, stack, bill(stack, decision.fit, self.spec, self.catalog), recorded)

    def _decided(self, decision: "Decision", stack: "StackPlan", recorded: bool) -> Decided:
        from rackwright.workflow.version_age import age_warnings

        outcome = self._outcome(stack, decision.fit)
        if outcome.errors or outcome.stack is None or outcome.bill is None:
            raise UserError(outcome.problems, self.source)
        fresh = self._compiled(decision.plan, decision.fit)
        differs = file_system_warnings(outcome.stack, fresh, self.path)
        problems = (*outcome.problems, *differs, *age_warnings(outcome.stack, fresh.pins, self.path, self.today))
        return Decided(self.spec, decision, outcome.stack, outcome.bill, recorded, problems)

    def _outcome(self, stack: "StackPlan", fit: "Fit") -> "StackPreview":
        from rackwright.compile.compile_context import moment
        from rackwright.workflow.checked_stack import checked

        now = moment(self.today, self.now)
        return checked(self._layered(stack), fit, self.spec, self.catalog, now, self.reading, self.content, self.is_configured)

    @contextmanager
    def _located(self, place: int = 0) -> Generator[None]:
        """Adds line and column of the spec to the problems of a UserError. place: index of the chosen infra entry."""
        from rackwright.validation.spec_paths import in_spec

        try:
            yield
        except UserError as error:
            raise UserError(in_spec(error.problems, self.spec, place, text=self.content), error.source or self.source) from None

    def _layered(self, stack: "StackPlan") -> "StackPlan":
        """The stack with only the layers of this pipeline."""
        if not self.layers and not self.upstream_stack:
            return stack
        return replace(stack, layers=self.layers or stack.layers, below=self.upstream_stack)
