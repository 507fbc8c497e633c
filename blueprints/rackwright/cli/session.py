"""One spec in the pipeline, with the output of a command."""

from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rackwright.cli.terminal import NOT_FEASIBLE, emit, tell, working
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Level, Problem, Stage
from rackwright.stackplan.plan import layers_of
from rackwright.workflow.clock import clock
from rackwright.workflow.pipeline import Decided, Pipeline

if TYPE_CHECKING:
    from rackwright.sizing.plan import SizingPlan
    from rackwright.spec import Reading, Spec
    from rackwright.stackplan import StackPlan
    from rackwright.workflow.stack.stack_preview import StackPreview


@dataclass(frozen=True)
class Session:
    """A pipeline that prints warnings on standard error, unless the output is JSON."""

    pipeline: Pipeline
    as_json: bool = False

    @staticmethod
    def of(path: Path, as_json: bool, today: datetime | None, layers: str = "", upstream_stack: str = "") -> "Session":
        """layers: names separated by commas, "" for all; upstream_stack: as of Pipeline. Raises UserError for unknown layers."""
        pipeline = Pipeline(path, *clock(today.date() if today else None))
        try:
            pipeline.layers, pipeline.upstream_stack = layers_of(layers), upstream_stack
        except ValueError as error:
            raise UserError([Problem("U-usage", f"--layers has {error}")]) from None
        return Session(pipeline, as_json)

    @property
    def path(self) -> Path:
        return self.pipeline.path

    @property
    def today(self) -> date:
        return self.pipeline.today

    @cached_property
    def reading(self) -> "Reading":
        """The parsed file. Prints warnings that concern planning. Raises UserError with every problem of the file."""
        reading = self.pipeline.reading
        if not self.as_json:
            tell([problem for problem in reading.warnings if problem.stage is Stage.PLAN], str(self.path))
        return reading

    @cached_property
    def spec(self) -> "Spec":
        assert self.reading.spec is not None, "`reading` raises for a file without a spec"
        return self.reading.spec

    @cached_property
    def plan(self) -> "SizingPlan":
        assert self.spec
        with working("sizing", self.as_json):
            plan = self.pipeline.plan
        if not self.as_json:
            tell(self.pipeline.sizing_problems, str(self.path))
        return plan

    @cached_property
    def preview(self) -> "StackPreview":
        assert self.plan
        return self.pipeline.preview()

    def choose(self, rank: int | None = None, *, upgrade: bool = False) -> Decided:
        """The decision for a rank. When rank is None: for the recorded machines if they still fit, else for rank 1.

        upgrade: with the versions of this release instead of the recorded ones.

        Ends the command with the nearest misses if no candidate fits. Raises UserError as `Pipeline.choose`.
        """
        self.require_fits()
        return self._print_problems(self.pipeline.choose(rank, upgrade=upgrade))

    def decided(self) -> Decided:
        """What `pulumi up` builds. Ends the command if no candidate fits. Raises UserError as `Pipeline.decide`."""
        return self._decided

    @cached_property
    def _decided(self) -> Decided:
        """Decided once, so that a command that reads the stack twice prints its warnings once."""
        assert self.spec
        if self.pipeline.recorded is None:
            self.require_fits()
        return self._print_problems(self.pipeline.decide())

    def stack(self) -> "StackPlan":
        """The StackPlan of `decided`. Ends the command and raises as it does."""
        return self.decided().plan

    def source_stack(self) -> "StackPlan":
        """`stack` with charts and images of their sources instead of `registry` of the spec."""
        decided = self.decided()
        return self.pipeline.unmirrored(decided.decision) if self.spec.registry else decided.plan

    def require_fits(self) -> None:
        """Prints the nearest misses and ends the command if no candidate fits."""
        if not self.plan.fits:
            self.show_plan(1)
            raise typer.Exit(NOT_FEASIBLE)

    def of_workload(self, name: str) -> "Session":
        """The session of one workload, as if it had the stack for itself. Raises UserError for an unknown name."""
        names = [workload.name for workload in self.spec.workloads]
        if name not in names:
            raise UserError([Problem("U-usage", f"the spec has no workload {name!r}", fix=f"one of {', '.join(names)}")], str(self.path))
        alone = self.spec.of_workload(names.index(name))
        return replace(self, pipeline=Pipeline.of_spec(alone, self.today, self.pipeline.catalog))

    def require_one_workload(self, command: str, instead: str) -> None:
        """Raises UserError for a spec with several workloads. instead: a sentence about what has the answer."""
        if self.spec.is_several:
            count = len(self.spec.workloads)
            raise UserError(
                [Problem("S-156", f"`{command}` is for one workload; the spec has {count}", At() / "workloads", instead)], str(self.path)
            )

    def show_plan(self, top: int | None = None, full: bool = False) -> None:
        if self.as_json:
            from rackwright.report.plan_json import plan_json

            emit(plan_json(self.plan, self.preview, (*self.reading.warnings, *self.pipeline.sizing_problems), self.spec))
        else:
            from rackwright.report.terminal.layout.console import console
            from rackwright.report.terminal.plan import show_plan

            show_plan(console(), self.plan, self.spec, self.preview, self.path, top, full)

    def _print_problems(self, decided: Decided) -> Decided:
        if not self.as_json:
            tell(decided.edits, str(self.path))
            tell([replace(problem, level=Level.WARNING) for problem in decided.problems], str(self.path))
        return decided
