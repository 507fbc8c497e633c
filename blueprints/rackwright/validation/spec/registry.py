"""Rules on a spec, and their input."""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rackwright.catalog import Catalog
from rackwright.clouds import CloudProfile
from rackwright.diagnostics.problem import At, Problem
from rackwright.diagnostics.rule import RuleSet
from rackwright.sizing.blueprint_kind import blueprint_kind, possible_kinds
from rackwright.sizing.offers.own_servers import with_own_servers
from rackwright.sizing.plan import Candidate
from rackwright.spec.infra import Place
from rackwright.spec.inventory import Inventory, ServerGroup
from rackwright.spec.reading.inventory_file import InventoryError, inventory_of
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Workload


@dataclass
class SpecContext:
    """Input of a rule. The catalog is read on first use. candidate: whose stack is checked; None: the spec without a choice."""

    spec: Spec
    folder: Path = Path()
    given: Catalog | None = None
    candidate: Candidate | None = None

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog with the servers of the inventories that can be read."""
        lists = {
            key: tuple(place.model_copy(update={"inventory": self.inventory(place)}) for place in getattr(self.spec.infra, key))
            for key in ("any_of", "ordered")
        }
        read = self.spec.model_copy(update={"infra": self.spec.infra.model_copy(update=lists)})
        return with_own_servers(self.given or Catalog.default(), read)

    def inventory(self, place: Place) -> Inventory | None:
        """The inventory of a place; None without one, and where S-186 reports it."""
        try:
            return inventory_of(place, self.folder)
        except InventoryError:
            return None

    @cached_property
    def server_groups(self) -> list[tuple[At, ServerGroup]]:
        """Groups of the inventories, with the path of their inventory."""
        read = ((at, self.inventory(place)) for at, place in self.places)
        return [(at / "inventory", group) for at, inventory in read if inventory for group in inventory.servers]

    @cached_property
    def places(self) -> list[tuple[At, Place]]:
        lists = (("any_of", self.spec.infra.any_of), ("ordered", self.spec.infra.ordered))
        found = [(At() / "infra" / key / i, place) for key, places in lists for i, place in enumerate(places)]
        return found if self.candidate is None else [found[self.candidate.place]]

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Blueprints that the spec can lead to: one for a candidate."""
        return possible_kinds(self.spec) if self.candidate is None else frozenset({blueprint_kind(self.spec, self.candidate)})

    @property
    def kind(self) -> str:
        """One of `kinds`, for messages."""
        return min(self.kinds)

    @cached_property
    def workloads(self) -> list[tuple[At, Workload]]:
        return [(At() / "workloads" / i, workload) for i, workload in enumerate(self.spec.workloads)]

    def each(self, *kinds: type) -> Iterator[tuple[At, Any]]:
        """The workloads of these kinds."""
        return ((at, workload) for at, workload in self.workloads if isinstance(workload, kinds))

    @property
    def regions(self) -> Mapping[str, tuple[str, ...]]:
        """Cloud -> regions in which the catalog lists machines."""
        return self.catalog.regions_by_cloud

    def on(self, cloud: CloudProfile) -> "SpecContext":
        """The same spec with only its places on one cloud."""
        part = copy(self)
        part.places = [(at, place) for at, place in self.places if place.cloud == cloud.name]
        return part


RULES: RuleSet[SpecContext] = RuleSet(SpecContext.on)
rule = RULES.rule


def spec_problems(context: SpecContext) -> list[Problem]:
    """Every problem of a spec, without acknowledged warnings; what is not supported comes after what is wrong."""
    problems = RULES.problems(context, {entry.rule for entry in context.spec.acknowledge})
    return sorted(problems, key=lambda problem: problem.code.startswith("N-"))


def candidate_problems(spec: Spec, candidate: Candidate, catalog: Catalog) -> list[Problem]:
    """Problems of a spec that depend on the candidate: on its blueprint, place or machine."""
    context = SpecContext(spec, given=catalog, candidate=candidate)
    return [problem for each in RULES if each.of_candidate for problem in each.problems(context)]
