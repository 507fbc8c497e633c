"""A check is a function on a whole spec: id, level, law (its docstring), the places where it is broken, and a fix for each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rackwright.catalog import Catalog
from rackwright.problems import At, Level, Problem
from rackwright.spec.infra import Place
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Workload


@dataclass(frozen=True)
class Finding:
    """One place where a law is broken. `reason`, `link` replace the law's own; `about_key`: the key is at fault, not its value."""

    at: At
    fix: str = ""
    reason: str = ""
    about_key: bool = False
    link: str = ""


@dataclass
class Context:
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


Finder = Callable[[Context], Iterator[Finding]]


@dataclass(frozen=True)
class Check:
    id: str
    level: Level
    law: str
    find: Finder
    link: str = ""


@dataclass
class Registry:
    """Checks by id, in the order they were written."""

    checks: dict[str, Check] = field(default_factory=dict)

    def check(self, id: str, level: Level = Level.ERROR, link: str = "") -> Callable[[Finder], Finder]:
        def register(find: Finder) -> Finder:
            if id in self.checks:
                raise ValueError(f"check {id} is there twice")
            law = " ".join((find.__doc__ or "").split()).rstrip(".")
            self.checks[id] = Check(id, level, law[:1].lower() + law[1:] if law[1:2].islower() or law[1:2] == " " else law, find, link)
            return find

        return register


REGISTRY = Registry()
check = REGISTRY.check


def problems_of(context: Context) -> Iterator[tuple[Problem, bool]]:
    """Everything the checks find, with whether a key is meant. Warnings that the spec acknowledges are left out."""
    accepted = {entry.rule for entry in context.spec.acknowledge}
    for rule in REGISTRY.checks.values():
        for finding in rule.find(context):
            if rule.level is Level.WARNING and rule.id in accepted:
                continue
            reason, link = finding.reason or rule.law, finding.link or rule.link
            yield Problem(rule.id, reason, finding.at, finding.fix, rule.level, link), finding.about_key
