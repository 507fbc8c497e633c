"""Rules on a spec, and their input."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

from rackwright.catalog import Catalog
from rackwright.clouds import CloudProfile
from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.diagnostics.rule import RuleSet, Stage, Violation
from rackwright.spec.infra import Place
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Workload


@dataclass
class SpecContext:
    """Input of a rule. The catalog is read on first use."""

    spec: Spec
    folder: Path = Path()
    given: Catalog | None = None

    @cached_property
    def catalog(self) -> Catalog:
        return self.given or Catalog.default()

    @cached_property
    def places(self) -> list[tuple[At, Place]]:
        lists = (("any_of", self.spec.infra.any_of), ("ordered", self.spec.infra.ordered))
        return [(At() / "infra" / key / i, place) for key, places in lists for i, place in enumerate(places)]

    @cached_property
    def workloads(self) -> list[tuple[At, Workload]]:
        return [(At() / "workloads" / i, workload) for i, workload in enumerate(self.spec.workloads)]

    def each(self, *kinds: type) -> Iterator[tuple[At, Any]]:
        """The workloads of these kinds."""
        return ((at, workload) for at, workload in self.workloads if isinstance(workload, kinds))

    @cached_property
    def regions(self) -> dict[str, list[str]]:
        """Cloud -> regions in which the catalog lists machines."""
        known: dict[str, dict[str, None]] = {}
        for row in self.catalog.availability:
            known.setdefault(row.cloud, {})[row.region] = None
        return {cloud: sorted(regions) for cloud, regions in known.items()}

    def on(self, cloud: CloudProfile) -> "SpecContext":
        """The same spec with only its places on one cloud."""
        part = copy(self)
        part.places = [(at, place) for at, place in self.places if place.cloud == cloud.name]
        return part


Check = Callable[[SpecContext], Iterator[Violation]]
RULES: RuleSet[SpecContext] = RuleSet()


def rule(
    code: str, level: Level = Level.ERROR, link: str = "", stage: Stage = Stage.PLAN, on: CloudProfile | None = None
) -> Callable[[Check], Check]:
    """Register a rule. on: the cloud whose places it checks; default: every cloud."""

    def register(check: Check) -> Check:
        @wraps(check)
        def on_its_cloud(context: SpecContext) -> Iterator[Violation]:
            return check(context.on(on) if on else context)

        return RULES.rule(code, level, link, stage)(on_its_cloud)

    return register


def problems_of(context: SpecContext) -> Iterator[tuple[Problem, bool]]:
    """Every problem of a spec and whether it is about the key, without acknowledged warnings."""
    acknowledged = {entry.rule for entry in context.spec.acknowledge}
    for each in RULES:
        for violation in each.check(context):
            problem = each.problem(violation)
            if problem.level is Level.ERROR or problem.code not in acknowledged:
                yield problem, violation.about_key
