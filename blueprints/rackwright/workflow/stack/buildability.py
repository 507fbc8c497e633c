"""Ranks the fits that can be built before those that cannot, and states why these cannot."""

from dataclasses import dataclass, field, replace
from datetime import date, datetime

from rackwright.catalog import Catalog
from rackwright.compile.compile import blueprint_of, compile_plan, refusals
from rackwright.compile.compile_context import CompileContext
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.spec import Spec
from rackwright.wording.rejections import refusal_text


@dataclass
class Buildability:
    """Why fits of a spec cannot be built; each combination of what decides it is compiled once at most."""

    spec: Spec
    catalog: Catalog
    today: date
    now: datetime | None = None
    found: dict[tuple, tuple[Problem, ...]] = field(default_factory=dict)
    compiled: set[tuple] = field(default_factory=set)

    def ordered(self, plan: SizingPlan) -> tuple[Fit, ...]:
        """The fits, in their order, those that can be built first; the others with the reason. Only the first of them is compiled, unless
        that fails.
        """
        reason = self.before_compiling
        for fit in plan.fits:
            if self.before_compiling(plan, fit):
                continue
            if not self._after_compiling(plan, fit):
                break
            reason = self._after_compiling
        marked = (_marked(fit, refusal_text(reason(plan, fit)) or None) for fit in plan.fits)
        return tuple(sorted(marked, key=lambda fit: bool(fit.not_buildable)))

    def reasons(self, plan: SizingPlan) -> tuple[tuple[Problem, ...], ...]:
        """Per rank, why the fit cannot be built; empty where it can."""
        return tuple(self.before_compiling(plan, fit) for fit in plan.fits)

    def before_compiling(self, plan: SizingPlan, fit: Fit) -> tuple[Problem, ...]:
        """Why the fit cannot be built, as far as it shows without compiling it."""
        key = self._key(fit)
        if key not in self.found:
            self.found[key] = tuple(refusals(CompileContext(self.spec, plan, fit, self.today, now=self.now, catalog=self.catalog)))
        return self.found[key]

    def _after_compiling(self, plan: SizingPlan, fit: Fit) -> tuple[Problem, ...]:
        key = self._key(fit)
        if key not in self.compiled:
            self.compiled.add(key)
            self.found[key] = ()
            try:
                compile_plan(self.spec, plan, fit, today=self.today, now=self.now, catalog=self.catalog)
            except UserError as error:
                self.found[key] = error.problems
        return self.found[key]

    def _key(self, fit: Fit) -> tuple:
        """What decides whether a fit can be built: blueprint, place, machine, way to buy, and how many machines a replica or job takes.

        The region decides for an existing network, whose subnets are in one.
        """
        c = fit.candidate
        size = (c.nodes == 1, c.parallelism.accelerators if self.spec.workload.kind == "serve" else 0)
        region = c.region if self.spec.infra.places[c.place].network.existing else ""
        further = tuple((each.candidate.machine, each.candidate.capacity, each.candidate.parallelism.accelerators) for each in fit.further)
        return (blueprint_of(self.spec, fit), c.cloud, c.place, c.machine, c.topology, c.capacity, region, *size, *further)


def _marked(fit: Fit, reason: str | None) -> Fit:
    return fit if fit.not_buildable == reason else replace(fit, not_buildable=reason)
