"""Every offer with the numbers of machines worth asking about: made once for catalog, places and limits, shared by all that is asked."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache

from rackwright.catalog.read import Catalog
from rackwright.diagnostics.errors import Bug
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.offers.candidates import offers
from rackwright.sizing.offers.offer import Offer, needs_fabric
from rackwright.sizing.offers.targets import target
from rackwright.sizing.rejection import Limit
from rackwright.sizing.search.target import Target, TargetArrays
from rackwright.spec.spec import Spec

UNASKABLE = {Limit.DATA, Limit.BLUEPRINT, Limit.REGION, Limit.CAPACITY}
"""Offers refused for these are not searched: there is nothing to compute with, or nothing to buy."""


@dataclass(frozen=True)
class NodeCounts:
    """One offer and the counts asked about: (machines, index of the target). Nothing is asked of one that nothing can be said of."""

    offer: Offer
    counts: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Fleet:
    """asked: in the order of offers; targets: the different ones, none where nothing can be asked of any offer."""

    asked: tuple[NodeCounts, ...]
    targets: tuple[Target, ...]

    @cached_property
    def machines(self) -> TargetArrays:
        """As arrays; there must be targets."""
        return TargetArrays.of(self.targets)


@dataclass(frozen=True, eq=False)
class _Same:
    """A catalog and a spec that are the same when they are the same object, or say the same of offers."""

    catalog: Catalog
    spec: Spec
    said: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.catalog is other.catalog and self.said == other.said

    def __hash__(self) -> int:
        return hash((id(self.catalog), self.said))


def fleet(spec: Spec, catalog: Catalog, a: Assumptions, today: date) -> Fleet:
    """Reads of the spec its places, limits, discounts, blueprint and kind of workload, and nothing else."""
    said = spec.model_dump_json(include={"infra", "limits", "pricing", "blueprint"}) + spec.workload.kind
    return _fleet(_Same(catalog, spec, said), a, today)


@lru_cache(maxsize=4)
def _fleet(same: _Same, a: Assumptions, today: date) -> Fleet:
    place: dict[Target, int] = {}
    asked = []
    for offer in offers(same.spec, same.catalog, a, today):
        askable = offer.accelerator is not None and not any(r.limit in UNASKABLE for r in offer.rejections)
        made = ((nodes, _target(offer, nodes)) for nodes in _counts(offer, same.spec, a)) if askable else ()
        asked.append(NodeCounts(offer, tuple((nodes, place.setdefault(found, len(place))) for nodes, found in made)))
    return Fleet(tuple(asked), tuple(place))


def _target(offer: Offer, nodes: int) -> Target:
    if offer.accelerator is None:
        raise Bug(f"{offer.machine.name} has no accelerator and was not refused")
    return target(offer.machine, offer.accelerator, nodes, offer.slice.chips if offer.slice else 0, offer.slices)


def pinned_nodes(offer: Offer, spec: Spec) -> int | None:
    pin = spec.infra.places[offer.place].pin
    return pin.nodes if pin and offer.pinned else None


def _counts(offer: Offer, spec: Spec, a: Assumptions) -> Iterator[int]:
    """What a slice, block or pin fixes; else powers of two up to the first over the organisation's limit, and the limit itself. A
    server's machine is asked alone. Machines without a fabric are asked twice for one job: alone, and as a pair that cannot work
    together."""
    kind = spec.workload.kind
    fixed = 1 if kind == "serve" else pinned_nodes(offer, spec) or offer.nodes
    if fixed:
        yield fixed
        return
    each = offer.machine.accelerator_count
    alone = kind != "batch" and needs_fabric(offer)
    most = (spec.limits.accelerators or a.most_accelerators / 2) // each
    counts = [1]
    while counts[-1] <= most and not (alone and len(counts) == 2):
        counts.append(counts[-1] * 2)
    exact = {int(most)} if spec.limits.accelerators and most and not alone else set()
    yield from sorted({*counts, *exact})
