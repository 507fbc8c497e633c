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
from rackwright.workflow.recorded import recorded_instead, recorded_place, recorded_rank, unused_record

if TYPE_CHECKING:
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
    _stacks: "dict[Fit, StackPlan]" = field(default_factory=dict)

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

    def _compiled(self, plan: "SizingPlan", fit: "Fit") -> "StackPlan":
        """The stack of a fit, compiled once. Raises UserError when this release cannot build it."""
        from rackwright.compile.compile import compile_plan

        if fit not in self._stacks:
            with self._located(fit.candidate.place):
                self._stacks[fit] = compile_plan(
                    self.spec,
                    plan,
                    fit,
                    today=self.today,
                    now=self.now,
                    catalog=self.catalog,
                    place=recorded_place(self._readable_record, self.spec),
                )
        return self._stacks[fit]

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
        empty = StackPreview(
            plan=self.plan, recorded=recorded_instead(self._readable_record, fit, self.path), refusals=self.buildability.reasons(self.plan)
        )
        if fit is None:
            return empty
        try:
            stack = self._compiled(self.plan, fit)
        except UserError as error:
            return replace(empty, problems=error.problems)
        return replace(self._outcome(stack, fit), plan=self.plan, recorded=empty.recorded, refusals=empty.refusals)

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
            from rackwright.wording.rejections import rejection_text

            nearest = "; ".join(f"{miss.candidate.label}: {rejection_text(miss.rejections[0])}" for miss in self.plan.rejected[:3])
            reason = f"no machine meets every goal. Nearest: {nearest}"
            raise UserError([Problem("D-no-fit", reason, fix=f"run `rackwright plan {self.path.name}`")], str(self.path))
        decision, stack = self._choice((recorded_rank(self._readable_record, self.plan, self.spec) or 1) if rank is None else rank, upgrade)
        made = self._decided(decision, stack, recorded=False)
        edits = unused_record(self._readable_record, self.plan, self.spec, self.path)
        return replace(made, decision=with_open_items(decision, made.before_you_build), edits=edits)

    def decision_of(self, rank: int) -> "Decision":
        """The decision for a rank, without checks. Raises UserError when no fit has the rank, or this release cannot build it."""
        return self._choice(rank)[0]

    def _choice(self, rank: int, upgrade: bool = False) -> "tuple[Decision, StackPlan]":
        from rackwright.compile.version_pins import with_version_pins
        from rackwright.workflow.decision import fit_of_rank, record

        fit = fit_of_rank(self.plan, rank)
        stack, old = self._compiled(self.plan, fit), self._readable_record
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
            return decision, compiled(decision, self.spec, self.today, self.now, self.catalog), tuple(found)

    def unchecked(self, decision: "Decision", recorded: bool) -> Decided:
        """The stack of a decision, priced and not checked: a teardown must not fail on rules."""
        from rackwright.cost.bill import bill
        from rackwright.workflow.decision import compiled

        stack = self._layered(compiled(decision, self.spec, self.today, self.now, self.catalog))
        return Decided(self.spec, decision, stack, bill(stack, decision.fit, self.spec, self.catalog), recorded)

    def _decided(self, decision: "Decision", stack: "StackPlan", recorded: bool) -> Decided:
        from rackwright.workflow.version_age import age_warnings

        outcome = self._outcome(stack, decision.fit)
        if outcome.errors or outcome.stack is None or outcome.bill is None:
            raise UserError(outcome.problems, self.source)
        release = self._compiled(decision.plan, decision.fit).pins
        problems = (*outcome.problems, *age_warnings(outcome.stack, release, self.path, self.today))
        return Decided(self.spec, decision, outcome.stack, outcome.bill, recorded, problems)

    def _outcome(self, stack: "StackPlan", fit: "Fit") -> "StackPreview":
        """A compiled stack with its bill, quotas and every problem: the same for every command."""
        from rackwright.compile.compile_context import moment
        from rackwright.cost import bill
        from rackwright.spec.quotas import known_quotas
        from rackwright.validation.spec_paths import in_spec
        from rackwright.validation.stack import StackContext, quota_needs, refuse_broken_invariants, stack_problems
        from rackwright.workflow.stack_preview import StackPreview

        stack, place = self._layered(stack), fit.candidate.place
        costs, granted = bill(stack, fit, self.spec, self.catalog), known_quotas(self.spec, place, fit.candidate.region)
        now = moment(self.today, self.now)
        context = StackContext(stack, self.catalog, costs, fit, self.spec, granted, now, self.is_configured)
        found = stack_problems(context, [entry.rule for entry in self.spec.acknowledge])
        refuse_broken_invariants(found)
        open_in_spec = (problem for problem in self.reading.warnings if problem.stage is Stage.BUILD and _concerns(problem, place))
        return StackPreview(
            stack,
            costs,
            quota_needs(stack, self.catalog),
            in_spec((*found, *open_in_spec), self.spec, place, stack, self.content),
            known_quotas={row.code: row for row in self.catalog.quotas if row.code},
        )

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


def _concerns(problem: Problem, place: int) -> bool:
    """Whether a problem of the spec is about the entry of infra that was chosen, or about no entry."""
    return problem.at.steps[:1] != ("infra",) or problem.at.steps[2:3] in ((), (place,))
