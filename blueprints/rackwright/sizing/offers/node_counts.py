"""Offers with the numbers of machines to search, computed once per catalog, places and limits."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, lru_cache

from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Accelerator, Fabric, Machine
from rackwright.diagnostics.errors import Bug
from rackwright.estimator.case import Links
from rackwright.estimator.config import accelerators
from rackwright.sizing.assumptions import DEFAULT, Assumptions
from rackwright.sizing.offers.candidates import offers
from rackwright.sizing.offers.offer import Offer, needs_fabric
from rackwright.sizing.rejection import Limit
from rackwright.sizing.search.target import Target, TargetArrays
from rackwright.spec.spec import Spec

UNSEARCHABLE = {Limit.DATA, Limit.BLUEPRINT, Limit.REGION, Limit.CAPACITY}
"""Constraints whose offers are not searched, because their numbers are unknown or they cannot be ordered."""
NEURON_FORMATS = ("bf16", "fp16", "tf32", "fp32")
"""Formats that the Neuron SDK computes in without model conversion: its fp8 is cFP8 on Trainium1 and Inferentia2, MXFP8 on
Trainium3 (Neuron documentation 2.32, data types).
"""


@dataclass(frozen=True)
class NodeCounts:
    """An offer and its counts to search: (machines, index of the target); empty where the offer is not searched."""

    offer: Offer
    counts: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Fleet:
    """entries: in the order of the offers. targets: the distinct ones."""

    entries: tuple[NodeCounts, ...]
    targets: tuple[Target, ...]

    @cached_property
    def machines(self) -> TargetArrays:
        """Targets as arrays; requires at least one."""
        return TargetArrays.of(self.targets)


@dataclass(frozen=True, eq=False)
class _FleetKey:
    """Cache key: the same catalog object, and the same parts of the spec that offers depend on."""

    catalog: Catalog
    spec: Spec
    digest: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FleetKey) and self.catalog is other.catalog and self.digest == other.digest

    def __hash__(self) -> int:
        return hash((id(self.catalog), self.digest))


def searchable_fleet(spec: Spec, catalog: Catalog, a: Assumptions, today: date) -> Fleet:
    """Offers and targets of a spec; depends on places, limits, discounts, blueprint and kind of workload only."""
    digest = spec.model_dump_json(include={"infra", "limits", "pricing", "blueprint"}) + spec.workload.kind
    return _fleet(_FleetKey(catalog, spec, digest), a, today)


@lru_cache(maxsize=16)
def _fleet(same: _FleetKey, a: Assumptions, today: date) -> Fleet:
    place: dict[Target, int] = {}
    entries = []
    for offer in offers(same.spec, same.catalog, a, today):
        counts = []
        if offer.accelerator and not any(r.limit in UNSEARCHABLE for r in offer.rejections):
            chips = offer.slice.chips if offer.slice else 0
            for nodes in _counts(offer, same.spec, a):
                found = target(offer.machine, offer.accelerator, nodes, same.catalog, chips, offer.slices, a)
                found = replace(found, is_whole_machine=bool(offer.slice) and same.spec.workload.kind == "serve")
                counts.append((nodes, place.setdefault(found, len(place))))
        entries.append(NodeCounts(offer, tuple(counts)))
    return Fleet(tuple(entries), tuple(place))


def pinned_nodes(offer: Offer, spec: Spec) -> int | None:
    pin = spec.infra.places[offer.place].pin
    return pin.nodes if pin and offer.pinned else None


def _counts(offer: Offer, spec: Spec, a: Assumptions) -> Iterator[int]:
    """Numbers of machines to search.

    A slice, block or pin fixes the number. Else powers of two up to the first above the limit, the limit, and what the quota allows. A
    server uses one machine. Machines without a fabric get 1, and 2 to record why more are not possible. Own servers get powers of two below
    their number, and all of them.
    """
    kind = spec.workload.kind
    fixed = 1 if kind == "serve" else pinned_nodes(offer, spec) or offer.nodes
    if fixed:
        yield fixed
        return
    each = offer.machine.whole_accelerators
    alone = kind != "batch" and needs_fabric(offer)
    max_nodes = min((spec.limits.accelerators or a.most_accelerators / 2) // each, offer.available or math.inf)
    counts = [1]
    while counts[-1] <= max_nodes and not (alone and len(counts) == 2):
        counts.append(counts[-1] * 2)
    exist = offer.available or math.inf
    limits = [max_nodes if spec.limits.accelerators else exist, offer.quota_nodes if offer.quota_nodes <= max_nodes else math.inf]
    exact = {int(limit) for limit in limits if 0 < limit < math.inf} if not alone else set()
    yield from sorted(count for count in {*counts, *exact} if count <= exist)


def target(
    machine: Machine, accelerator: Accelerator, nodes: int, catalog: Catalog, slice_chips: int = 0, slices: int = 0,
    a: Assumptions = DEFAULT,
) -> Target:  # fmt: skip
    """Search target of a machine. slice_chips: of one TPU slice, 0 for GPUs. a: for the slowdown on divided accelerators.

    A single machine has no network, so that machines that differ only in their network share one search.
    """
    whole = accelerators.of(accelerator, catalog)
    if whole is None:
        raise Bug(f"{accelerator.name} has gaps and was not refused")
    sharing = machine.sharing
    found = (
        whole.part(machine.accelerator_fraction)
        if sharing is None
        else whole.divided(sharing.label, sharing.compute_share, sharing.memory_share)
    )
    linked = found.scale_up_bytes_per_s if machine.scale_up_domain else None
    inside = linked or found.host_bytes_per_s
    network = None if nodes == 1 or machine.fabric is Fabric.ICI else machine.fabric_bytes_per_s or machine.sustained_network_bytes_per_s
    count = machine.accelerator_count
    wires = Links(
        scale_up_bytes_per_s=inside,
        scale_out_bytes_per_s=network / count if network else inside,
        domain=float(slice_chips or machine.scale_up_domain or count),
        per_node=float(slice_chips or count),
        is_linked=float(linked is not None),
    )
    chip = replace(accelerators.chip(found), memory_bytes=float(machine.accelerator_memory_bytes or found.memory_bytes))
    slowdown = a.sharing_slowdown(sharing.strategy) if sharing else 1.0
    flops = tuple(f for f in found.flops if machine.kind != "neuron" or f[0] in NEURON_FORMATS)
    strategy, rate_known = sharing.strategy if sharing else "", slices < 2 or query.slice_rate(catalog, accelerator) is not None
    return Target(found.name, accelerator.vendor, chip, wires, nodes, count, flops, slices, strategy, slowdown, rate_known)
