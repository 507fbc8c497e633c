"""The pipeline from a spec to a checked and priced stack: load, size (sized_spec.py), decide, compile, validate, price.

The only module that joins these stages. Commands, the Pulumi program, the report and the teardown read its results and print them.
"""

from collections.abc import Callable
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
from rackwright.spec.spec import Spec
from rackwright.workflow.decided import Decided
from rackwright.workflow.recorded.recorded_choice import (
    kept_file_system,
    recorded_instead,
    recorded_rank,
    replaced_file_system,
    replaced_place,
    running_stack,
    running_with,
    unused_record,
)
from rackwright.workflow.sized_spec import SizedSpec

if TYPE_CHECKING:
    from rackwright.compile.compile_context import RunningStack
    from rackwright.sizing.node.file_system import LustreSize
    from rackwright.sizing.plan import Fit, SizingPlan
    from rackwright.stackplan import StackPlan
    from rackwright.workflow.decision import Decision
    from rackwright.workflow.stack.stack_preview import StackPreview


@dataclass
class Pipeline(SizedSpec):
    """The stages of one spec. Each runs once, when a caller first needs it.

    layers, upstream_stack: what this stack builds, and the stack that it builds on; the rest as of SizedSpec.
    """

    layers: tuple[str, ...] = ()
    upstream_stack: str = ""
    is_configured: Callable[[str], bool] | None = None
    """Whether the stack's configuration has a key, where it can be read."""
    _stacks: "dict[tuple[Fit, RunningStack], StackPlan]" = field(default_factory=dict)

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
        vars(made).update(parsed | ({"plan": plan, "_sized": plan} if plan else {}))
        return made

    def _compiled(self, plan: "SizingPlan", fit: "Fit", running: "RunningStack | None" = None) -> "StackPlan":
        """The stack of a fit, compiled once; when `running` is None in the recorded place, with the parts of a new stack.

        Raises UserError when this release cannot build it.
        """
        from rackwright.compile.compile import compile_plan

        running = running or running_stack(self._readable_record, self.spec)
        if (fit, running) not in self._stacks:
            with self._located(fit.candidate.place):
                self._stacks[fit, running] = compile_plan(
                    self.spec, plan, fit, today=self.today, now=self.now, catalog=self.catalog, running=running
                )
        return self._stacks[fit, running]

    def preview(self, fit: "Fit | None" = None) -> "StackPreview":
        """The stack of a fit, of the first one when None, priced and checked. Never raises UserError for what is wrong with the stack."""
        from rackwright.workflow.stack.stack_preview import StackPreview

        fit = fit or self.plan.chosen
        refused = self.record_refusal
        recorded = "" if refused else recorded_instead(self._readable_record, fit, self.path)
        empty = StackPreview(plan=self.plan, recorded=recorded, refusals=self.buildability.reasons(self.plan), problems=refused)
        if fit is None:
            return empty
        running = running_with(self._readable_record, self.spec, fit, self.catalog)
        try:
            stack = self._compiled(self.plan, fit, running)
            found = self._outcome(stack, fit)
        except UserError as error:
            return replace(empty, problems=(*error.problems, *refused))
        replaced = replaced_file_system(running.file_system, stack, self.path, at_choice=True) if not refused else ()
        kept = self._kept_file_system(running.file_system, stack, self.plan, fit)
        problems = (*found.problems, *refused, *replaced, *kept)
        return replace(found, plan=empty.plan, recorded=recorded, refusals=empty.refusals, problems=problems)

    def _running_file_system(self, decision: "Decision") -> "LustreSize | None":
        """What the stack of a recorded decision has, before an edit of its spec."""
        from rackwright.workflow.decision import recorded_file_system

        return recorded_file_system(decision, self.spec, self.catalog)

    def _kept_file_system(self, was: "LustreSize | None", stack: "StackPlan", plan: "SizingPlan", fit: "Fit") -> tuple[Problem, ...]:
        return kept_file_system(was, stack, self._compiled(plan, fit), self.path) if was else ()

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
        from rackwright.workflow.stack.stack_preview import StackPreview

        try:
            if self.recorded is None:
                found = self.preview()
            else:
                decision, stack, edits = self._recorded_stack()
                found = self._outcome(stack, decision.fit)
                was = self._running_file_system(decision)
                kept = self._kept_file_system(was, stack, decision.plan, decision.fit)
                plan = replace(decision.plan, machine=self._requirements(decision.plan, was))
                found = replace(found, plan=plan, problems=(*edits, *found.problems, *kept))
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

            raise UserError([no_fit(self.plan, self.path), *self.sizing_problems], str(self.path))
        if rank is None:
            rank = recorded_rank(self._readable_record, self.plan, self.spec) or 1
            rank = 1 if self.buildability.reasons(self.plan)[rank - 1] else rank
        decision, stack = self._choice(rank, upgrade)
        was = running_with(self._readable_record, self.spec, decision.fit, self.catalog).file_system
        made = self._decided(decision, stack, was, recorded=False)
        found = unused_record(self._readable_record, self.plan, self.spec, self.path)
        replaced = replaced_file_system(was, stack, self.path, at_choice=True)
        edits = (*found, *replaced_place(self._readable_record, decision), *replaced)
        return replace(made, decision=with_open_items(decision, made.before_you_build), edits=edits)

    def decision_of(self, rank: int) -> "Decision":
        """The decision for a rank, without checks. Raises UserError when no fit has the rank, or this release cannot build it."""
        return self._choice(rank)[0]

    def _choice(self, rank: int, upgrade: bool = False) -> "tuple[Decision, StackPlan]":
        from rackwright.workflow.decision import fit_of_rank, record

        fit = fit_of_rank(self.plan, rank)
        plan = self.plan if rank == 1 else self.plan_for(fit)
        running = running_with(self._readable_record, self.spec, fit, self.catalog)
        stack = self._compiled(plan, fit, replace(running, pins=None) if upgrade else running)
        made = record(self.spec, plan, rank, stack, self.today)
        return replace(made, queue_flavor=running.queue_flavor or made.queue_flavor), stack

    def decide(self) -> Decided:
        """What an update builds: the recorded decision, else the first rank.

        Raises UserError when the record is stale or cannot be read, nothing fits, or a rule refuses the stack.
        """
        if self.recorded is None:
            return self.choose()
        decision, stack, found = self._recorded_stack()
        was = self._running_file_system(decision)
        made = self._decided(decision, stack, was, recorded=True)
        edits, refused = (tuple(p for p in found if p.stage is stage) for stage in (Stage.PLAN, Stage.BUILD))
        return replace(made, edits=edits, problems=(*refused, *made.problems))

    def _recorded_stack(self) -> "tuple[Decision, StackPlan, tuple[Problem, ...]]":
        """The recorded decision, its stack, and what revalidation found. Raises UserError for a stale or unreadable record."""
        from rackwright.workflow.decision import compiled, decision_path
        from rackwright.workflow.recorded.revalidation import revalidate

        assert self.recorded, "only a recorded decision has a stack"
        with self._located(self.recorded.fit.candidate.place):
            decision, found = revalidate(self.recorded, self.spec, self.catalog, decision_path(self.path), self.today)
        if any(problem.level is Level.ERROR and problem.stage is Stage.PLAN for problem in found):
            raise UserError(found, str(self.path))
        with self._located(decision.fit.candidate.place):
            stack = compiled(decision, self.spec, self.today, self.now, catalog=self.catalog)
        was = self._running_file_system(decision)
        return decision, stack, (*found, *replaced_file_system(was, stack, self.path, at_choice=False))

    def unmirrored(self, decision: "Decision") -> "StackPlan":
        """The stack of a decision with charts and images of their sources, not of `registry`."""
        from rackwright.workflow.decision import compiled

        return compiled(decision, self.spec.model_copy(update={"registry": None}), self.today, self.now, catalog=self.catalog)

    def unchecked(self, decision: "Decision", recorded: bool) -> Decided:
        """The stack of a decision, priced and not checked: a teardown must not fail on rules."""
        from rackwright.cost.bill import bill
        from rackwright.workflow.decision import compiled

        stack = self._layered(compiled(decision, self.spec, self.today, self.now, catalog=self.catalog))
        return Decided(self.spec, decision, stack, bill(stack, decision.fit, self.spec, self.catalog), recorded)

    def _decided(self, decision: "Decision", stack: "StackPlan", was: "LustreSize | None", *, recorded: bool) -> Decided:
        """The checked stack of a decision. was: the file system of the running stack."""
        from rackwright.workflow.recorded.version_age import age_warnings

        outcome = self._outcome(stack, decision.fit)
        if outcome.errors or outcome.stack is None or outcome.bill is None:
            raise UserError(outcome.problems, self.source)
        fresh = self._compiled(decision.plan, decision.fit)
        differs = kept_file_system(was, outcome.stack, fresh, self.path)
        problems = (*outcome.problems, *differs, *age_warnings(outcome.stack, fresh.pins, self.path, self.today, decision.chosen_on))
        return Decided(self.spec, decision, outcome.stack, outcome.bill, recorded, problems)

    def _outcome(self, stack: "StackPlan", fit: "Fit") -> "StackPreview":
        from rackwright.compile.compile_context import moment
        from rackwright.workflow.stack.checked_stack import checked

        now = moment(self.today, self.now)
        return checked(self._layered(stack), fit, self.spec, self.catalog, now, self.reading, self.content, self.is_configured)

    def _layered(self, stack: "StackPlan") -> "StackPlan":
        """The stack with only the layers of this pipeline."""
        if not self.layers and not self.upstream_stack:
            return stack
        return replace(stack, layers=self.layers or stack.layers, below=self.upstream_stack)
