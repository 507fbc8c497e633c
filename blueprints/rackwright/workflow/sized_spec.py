"""The first stages of the pipeline: a spec file, the decision beside it, and the ranked candidates."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.catalog import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.sizing.assumptions import DEFAULT, Assumptions
from rackwright.spec.reading.read_spec import Reading
from rackwright.spec.reading.source import read_file
from rackwright.spec.spec import Spec
from rackwright.workflow.load import examine
from rackwright.workflow.recorded.recorded_choice import running_with

if TYPE_CHECKING:
    from rackwright.sizing.node.file_system import LustreSize
    from rackwright.sizing.node.requirements import NodeRequirements
    from rackwright.sizing.plan import Fit, SizingPlan
    from rackwright.workflow.decision import Decision
    from rackwright.workflow.stack.buildability import Buildability


@dataclass
class SizedSpec:
    """A spec with its plan. Each part is read or computed once, when a caller first needs it.

    path: the spec file; text: its content, read from `path` when None; own_catalog: replaces the embedded one;
    now: the moment, where it is known to more than a day (`clock` returns both).
    """

    path: Path
    today: date
    now: datetime | None = None
    own_catalog: Catalog | None = None
    text: str | None = None
    assumptions: Assumptions = DEFAULT

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
    def _sized(self) -> "SizingPlan":
        from rackwright.sizing.size import size
        from rackwright.workflow.stack.whole_bill import StackPricing

        with self._located():
            built = self.buildability
            pricing = StackPricing(self.spec, self.catalog, self.today, self.now, self._readable_record, built)
            return size(self.spec, self.catalog, today=self.today, assumptions=self.assumptions, rerank=built.ordered, whole_bill=pricing)

    @cached_property
    def plan(self) -> "SizingPlan":
        """The ranked candidates with their sentences, those that can be built first, and the node requirements of the first."""
        return self.plan_for(self._sized.chosen)

    def plan_for(self, fit: "Fit | None") -> "SizingPlan":
        """The plan with the node requirements of a fit, which has the file system that its stack keeps."""
        from rackwright.wording.plan_text import with_text

        kept = running_with(self._readable_record, self.spec, fit, self.catalog).file_system if fit else None
        if fit is None or (fit is self._sized.chosen and kept is None):
            return with_text(self._sized)
        return with_text(replace(self._sized, machine=self._requirements(replace(self._sized, fits=(fit,)), kept)))

    def _requirements(self, plan: "SizingPlan", file_system: "LustreSize | None") -> "NodeRequirements | None":
        from rackwright.sizing.node.node_requirements import node_requirements

        return node_requirements(plan, self.spec, self.catalog, self.assumptions, file_system)

    @cached_property
    def sizing_problems(self) -> tuple[Problem, ...]:
        """Warnings about pinned machines and batches that no fit uses, located in the spec."""
        from rackwright.workflow.infeasible import batch_problems, pin_problems, set_batch

        is_pinned = any(place.pin for place in self.spec.infra.places)
        if not is_pinned and set_batch(self.spec) is None:
            return ()
        pins = pin_problems(self.spec, self.plan, self.content) if is_pinned else ()
        return pins or batch_problems(self.spec, self.plan, self.content)

    @cached_property
    def buildability(self) -> "Buildability":
        from rackwright.workflow.stack.buildability import Buildability

        return Buildability(self.spec, self.catalog, self.today, self.now)

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog with the servers of the spec's inventories."""
        from rackwright.sizing.offers.own_servers import with_own_servers

        return with_own_servers(self.sold_catalog, self.spec)

    @property
    def sold_catalog(self) -> Catalog:
        """The catalog without the servers of inventories."""
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

    @contextmanager
    def _located(self, place: int = 0) -> Generator[None]:
        """Adds line and column of the spec to the problems of a UserError. place: index of the chosen infra entry."""
        from rackwright.validation.spec_paths import in_spec

        try:
            yield
        except UserError as error:
            raise UserError(in_spec(error.problems, self.spec, place, text=self.content), error.source or self.source) from None
