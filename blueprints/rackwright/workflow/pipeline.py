"""The pipeline from a spec to a checked and priced stack: load, size, decide, compile, validate, price.

The only module that joins these stages. Commands, the Pulumi program, the report and the teardown read its results and print them.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.catalog import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Level, Problem, Stage
from rackwright.spec.reading.read_spec import Reading
from rackwright.spec.reading.source import read_file
from rackwright.spec.spec import Spec
from rackwright.workflow.load import examine

if TYPE_CHECKING:
    from rackwright.cost import Bill
    from rackwright.sizing.plan import Fit, SizingPlan
    from rackwright.stackplan import PlacePlan, StackPlan
    from rackwright.workflow.decision import Decision
    from rackwright.workflow.size import Buildability
    from rackwright.workflow.stack_preview import StackPreview


@dataclass(frozen=True)
class Decided:
    """A decision with the stack it compiles to, priced and checked.

    recorded: whether the decision was read from its file; edits: warnings about changes of the spec since;
    problems: of the stack, those that only building needs as they are, every other one a warning.
    """

    spec: Spec
    decision: "Decision"
    plan: "StackPlan"
    bill: "Bill"
    recorded: bool
    problems: tuple[Problem, ...] = ()
    edits: tuple[Problem, ...] = ()

    @property
    def before_you_build(self) -> tuple[Problem, ...]:
        """Open items that must be settled before an update, warnings included."""
        from rackwright.workflow.open_items import open_items

        return open_items(self.problems)

    @property
    def unsettled(self) -> tuple[Problem, ...]:
        """Open items that stop an update, as errors."""
        from rackwright.workflow.open_items import unsettled

        return unsettled(self.problems, self.plan)


@dataclass
class Pipeline:
    """The stages of one spec. Each runs once, when a caller first needs it.

    path: the spec file; text: its content, read from `path` when None; own_catalog: replaces the embedded one;
    now: the moment, where it is known to more than a day; layers, below: what this stack builds, and the stack below it.
    """

    path: Path
    today: date
    now: datetime | None = None
    own_catalog: Catalog | None = None
    text: str | None = None
    layers: tuple[str, ...] = ()
    below: str = ""
    is_configured: Callable[[str], bool] | None = None
    """Whether the stack's configuration has a key, where it can be read."""
    _stacks: "dict[Fit, StackPlan]" = field(default_factory=dict)

    @staticmethod
    def of_spec(spec: Spec, today: date, catalog: Catalog | None = None, plan: "SizingPlan | None" = None) -> "Pipeline":
        """A pipeline that starts at a parsed spec, or at its plan, and reads no file."""
        made = Pipeline(Path(f"{spec.name}.yaml"), today, own_catalog=catalog)
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
        from rackwright.sizing.size import size

        with self._located():
            return size(self.spec, self.catalog, today=self.today, rerank=self.buildability.ordered)

    def _compiled(self, plan: "SizingPlan", fit: "Fit") -> "StackPlan":
        """The stack of a fit, compiled once. Raises UserError when this release cannot build it."""
        from rackwright.compile.compile import compile_plan

        if fit not in self._stacks:
            with self._located(fit.candidate.place):
                self._stacks[fit] = compile_plan(
                    self.spec, plan, fit, today=self.today, now=self.now, catalog=self.catalog, place=self._recorded_place()
                )
        return self._stacks[fit]

    @cached_property
    def buildability(self) -> "Buildability":
        from rackwright.workflow.size import Buildability

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
        try:
            return self.recorded
        except UserError:
            return None

    def preview(self, fit: "Fit | None" = None) -> "StackPreview":
        """The stack of a fit, of the first one when None, priced and checked. Never raises UserError for what is wrong with the stack."""
        from rackwright.workflow.stack_preview import StackPreview

        fit = fit or self.plan.chosen
        empty = StackPreview(recorded=self._recorded_instead(fit), not_buildable=self.buildability.reasons(self.plan))
        if fit is None:
            return empty
        try:
            stack = self._compiled(self.plan, fit)
        except UserError as error:
            return replace(empty, problems=tuple(replace(problem, stage=Stage.BUILD) for problem in error.problems))
        return replace(self._outcome(stack, fit), recorded=empty.recorded, not_buildable=empty.not_buildable)

    def choose(self, rank: int | None = None) -> Decided:
        """The stack of a rank, counted from 1; when None of the recorded machines where they still fit, else of the first rank.

        Raises UserError when no fit has the rank, this release cannot build it, or a rule refuses the stack.
        """
        from rackwright.workflow.decision import with_open_items

        if not self.plan.fits:
            from rackwright.wording.rejections import rejection_text

            nearest = "; ".join(f"{miss.candidate.label}: {rejection_text(miss.rejections[0])}" for miss in self.plan.rejected[:3])
            reason = f"no machine meets every goal. Nearest: {nearest}"
            raise UserError([Problem("D-no-fit", reason, fix=f"run `rackwright plan {self.path.name}`")], str(self.path))
        decision, stack = self._choice((self._recorded_rank() or 1) if rank is None else rank)
        made = self._decided(decision, stack, recorded=False)
        return replace(made, decision=with_open_items(decision, made.before_you_build))

    def decision_of(self, rank: int) -> "Decision":
        """The decision for a rank, without checks. Raises UserError when no fit has the rank, or this release cannot build it."""
        return self._choice(rank)[0]

    def _choice(self, rank: int) -> "tuple[Decision, StackPlan]":
        from rackwright.workflow.decision import fit_of_rank, record

        stack = self._compiled(self.plan, fit_of_rank(self.plan, rank))
        return record(self.spec, self.plan, rank, stack, self.today), stack

    def decide(self) -> Decided:
        """What an update builds: the recorded decision, else the first rank.

        Raises UserError when the record is stale or cannot be read, nothing fits, or a rule refuses the stack.
        """
        from rackwright.workflow.decision import compiled, decision_path
        from rackwright.workflow.revalidation import revalidate

        if self.recorded is None:
            return self.choose()
        now, found = revalidate(self.recorded, self.spec, self.catalog, decision_path(self.path), self.today)
        if any(problem.level is Level.ERROR for problem in found):
            raise UserError(found, str(self.path))
        with self._located(now.fit.candidate.place):
            stack = compiled(now, self.spec, self.today, self.now, self.catalog)
        return replace(self._decided(now, stack, recorded=True), edits=tuple(found))

    def unchecked(self, decision: "Decision", recorded: bool) -> Decided:
        """The stack of a decision, priced and not checked: a teardown must not fail on rules."""
        from rackwright.cost.bill import bill
        from rackwright.workflow.decision import compiled

        stack = self._layered(compiled(decision, self.spec, self.today, self.now, self.catalog))
        return Decided(self.spec, decision, stack, bill(stack, decision.fit, self.spec, self.catalog), recorded)

    def _decided(self, decision: "Decision", stack: "StackPlan", recorded: bool) -> Decided:
        outcome = self._outcome(stack, decision.fit)
        if outcome.errors:
            raise UserError(outcome.problems, self.source)
        assert outcome.stack, "only a compiled stack has an outcome"
        assert outcome.bill, "a compiled stack has a bill"
        return Decided(self.spec, decision, outcome.stack, outcome.bill, recorded, outcome.problems)

    def _outcome(self, stack: "StackPlan", fit: "Fit") -> "StackPreview":
        """A compiled stack with its bill, quotas and every problem: the same for every command."""
        from rackwright.cost import bill, check_budget
        from rackwright.spec.quotas import known_quotas
        from rackwright.validation.spec_paths import in_spec
        from rackwright.validation.stack import check, check_quota, quota_needs, refuse_broken_invariants
        from rackwright.workflow.stack_preview import StackPreview

        stack = self._layered(stack)
        costs = bill(stack, fit, self.spec, self.catalog)
        rules = check(stack, [entry.rule for entry in self.spec.acknowledge], self.catalog)
        refuse_broken_invariants(rules)
        quota = check_quota(stack, known_quotas(self.spec, fit.candidate.place, fit.candidate.region), self.catalog)
        budget = check_budget(costs, stack, fit, self.spec)
        open_in_spec = (problem for problem in self.reading.warnings if problem.stage is Stage.BUILD)
        found = (*rules, *quota, *budget, *open_in_spec, *self._secrets(stack))
        return StackPreview(
            stack,
            costs,
            quota_needs(stack, self.catalog),
            in_spec(found, self.spec, fit.candidate.place, stack, self.content),
            known_quotas={row.code: row for row in self.catalog.quotas if row.code},
        )

    def _secrets(self, stack: "StackPlan") -> Iterator[Problem]:
        """Secrets that the stack's configuration must hold: a warning where the configuration is not known, an error where it lacks one."""
        for name, secret in self.spec.secrets.items() if "workloads" in stack.layers else ():
            if self.is_configured is None or not self.is_configured(secret.config):
                reason = f"Secret {name} is read from the stack's configuration key rackwright:{secret.config}, which must be set"
                fix = f"run `pulumi config set --secret rackwright:{secret.config}`"
                level = Level.ERROR if self.is_configured else Level.WARNING
                yield Problem("D-secret", reason, At() / "secrets" / name, fix, level, stage=Stage.BUILD)

    @contextmanager
    def _located(self, place: int = 0) -> Generator[None]:
        """Adds line and column of the spec to the problems of a UserError. place: index of the chosen infra entry."""
        from rackwright.validation.spec_paths import in_spec

        try:
            yield
        except UserError as error:
            raise UserError(in_spec(error.problems, self.spec, place, text=self.content), error.source or self.source) from None

    def _layered(self, stack: "StackPlan") -> "StackPlan":
        return replace(stack, layers=self.layers or stack.layers, below=self.below) if self.layers or self.below else stack

    def _recorded_instead(self, fit: "Fit | None") -> str:
        """A sentence that names the recorded machines where the fit has others; empty for a record that cannot be read."""
        from rackwright.sizing.selection.ranking import identity
        from rackwright.workflow.decision import decision_path

        old = self._readable_record.fit.candidate if self._readable_record else None
        if old is None or (fit and identity(old) == identity(fit.candidate)):
            return ""
        return f"{decision_path(self.path).name} records {old.label}: `pulumi up` builds that, until `rackwright choose` records another"

    def _recorded_place(self) -> "PlacePlan | None":
        """Where the stack runs, so that choosing again does not move it; None for a record that cannot be read. Zones of the spec may be
        added."""
        place = self._readable_record.place if self._readable_record else None
        named = tuple(zone for entry in self.spec.infra.places for zone in entry.zones)
        return replace(place, further_zones=named) if place else None

    def _recorded_rank(self) -> int | None:
        """The rank that the recorded machines have now; None for a record that cannot be read, so that `choose` renews it."""
        from rackwright.sizing.selection.revalidation import same_machines

        old = self._readable_record.fit.candidate if self._readable_record else None
        ranks = (rank for rank, fit in enumerate(self.plan.fits, 1) if old and same_machines(fit.candidate, old, self.spec))
        return next(ranks, None)
