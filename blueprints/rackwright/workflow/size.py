"""Sizing with the fits that this release can build ranked before those that it cannot."""

from dataclasses import dataclass, field
from datetime import date, datetime

from rackwright.catalog import Catalog
from rackwright.compile.compile import PATHS, blueprint_of, compile_plan, no_path
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.unsupported import unsupported_problems
from rackwright.diagnostics.errors import UserError
from rackwright.sizing import size as sizing
from rackwright.sizing.assumptions import DEFAULT, Assumptions
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.spec import Spec
from rackwright.wording.plan_text import with_text


def size(spec: Spec, catalog: Catalog | None = None, *, today: date | None = None, assumptions: Assumptions = DEFAULT) -> SizingPlan:
    """Ranked candidates for the first workload of the spec, those that this release can build first, and the rejected ones.

    `fits` is empty when nothing fits. Raises UserError when the model is unknown. today: date at which capacity blocks are evaluated; the
    current date by default.
    """
    catalog, today = catalog or Catalog.default(), today or date.today()
    return with_text(sizing.size(spec, catalog, today=today, assumptions=assumptions, rerank=Buildability(spec, catalog, today).ordered))


@dataclass
class Buildability:
    """Why fits of a spec cannot be built in this release; each combination of what decides it is compiled once at most."""

    spec: Spec
    catalog: Catalog
    today: date
    now: datetime | None = None
    found: dict[tuple, str] = field(default_factory=dict)
    compiled: set[tuple] = field(default_factory=set)

    def ordered(self, plan: SizingPlan) -> tuple[Fit, ...]:
        """The fits, in their order, those that can be built first. Only the first of them is compiled, unless that fails."""
        reason = self._before_compiling
        for fit in plan.fits:
            if self._before_compiling(plan, fit):
                continue
            if not self._after_compiling(plan, fit):
                break
            reason = self._after_compiling
        return tuple(sorted(plan.fits, key=lambda fit: bool(reason(plan, fit))))

    def reasons(self, plan: SizingPlan) -> tuple[str, ...]:
        """Per rank, why the fit cannot be built; empty where it can."""
        return tuple(self._before_compiling(plan, fit) for fit in plan.fits)

    def _before_compiling(self, plan: SizingPlan, fit: Fit) -> str:
        key = self._key(fit)
        if key not in self.found:
            kind = blueprint_of(self.spec, fit)
            if (kind, fit.candidate.cloud) not in PATHS:
                found = [no_path(kind, fit.candidate.cloud)]
            else:
                context = CompileContext(self.spec, plan, fit, self.today, now=self.now, catalog=self.catalog)
                found = unsupported_problems(context, kind)
            self.found[key] = "; ".join(problem.reason for problem in found)
        return self.found[key]

    def _after_compiling(self, plan: SizingPlan, fit: Fit) -> str:
        key = self._key(fit)
        if key not in self.compiled:
            self.compiled.add(key)
            self.found[key] = ""
            try:
                compile_plan(self.spec, plan, fit, today=self.today, now=self.now, catalog=self.catalog)
            except UserError as error:
                self.found[key] = "; ".join(problem.reason for problem in error.problems)
        return self.found[key]

    def _key(self, fit: Fit) -> tuple:
        """What decides whether a fit can be built: blueprint, place, machine, way to buy, and how many machines a replica or job takes."""
        c = fit.candidate
        size = (c.nodes == 1, c.parallelism.accelerators if self.spec.workload.kind == "serve" else 0)
        return (blueprint_of(self.spec, fit), c.cloud, c.place, c.machine, c.topology, c.capacity, *size)
