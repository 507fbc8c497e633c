"""The rules over a whole spec, and what they read."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rackwright.catalog import Catalog
from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.diagnostics.rule import RuleSet
from rackwright.spec.infra import Place
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Workload


@dataclass
class SpecContext:
    """What a check may look at. The catalog is read when first asked for."""

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
        """Cloud -> its regions, as far as the catalog knows machines there."""
        known: dict[str, dict[str, None]] = {}
        for row in self.catalog.availability:
            known.setdefault(row.cloud, {})[row.region] = None
        return {cloud: sorted(regions) for cloud, regions in known.items()}


RULES: RuleSet[SpecContext] = RuleSet()
rule = RULES.rule


def problems_of(context: SpecContext) -> Iterator[tuple[Problem, bool]]:
    """Every problem of a spec, with whether the key is wrong rather than its value. Acknowledged warnings are left out."""
    acknowledged = {entry.rule for entry in context.spec.acknowledge}
    for each in RULES:
        for violation in each.check(context):
            problem = each.problem(violation)
            if problem.level is Level.ERROR or problem.code not in acknowledged:
                yield problem, violation.about_key
