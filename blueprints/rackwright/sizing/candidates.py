"""Every machine of the catalog in every place and capacity mode the spec looks at, each with what already speaks against it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any

from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Accelerator, CapacityMode, Fabric, Machine, Offering, TpuSlice
from rackwright.sizing import cpu
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.ended import ENDED, refuse_ended, utc
from rackwright.sizing.measures import Limit, Parallelism, Rejection
from rackwright.sizing.plan import Candidate
from rackwright.spec.infra import CapacityEntry, Place, UseBlock, UseReservation, held
from rackwright.spec.residency import matches, stays_in
from rackwright.spec.spec import Spec

SUPPORTED = {"gpu": ("NVIDIA",), "tpu": ("Google",), "neuron": ("AWS",)}
"""Machine kinds, and vendors of their accelerators, that this release has engines and blueprints for."""
CPU = "CPU"
"""What a candidate says in place of an accelerator."""
SERVES_ONLY = ("inf1", "inf2")
"""Neuron families that no trainer is documented for (Neuron documentation 2.31, torch-neuronx training: Trn1, Trn2)."""


@dataclass(frozen=True)
class Offer:
    """One machine in one place, bought in one way; nodes come later. rank: of the place, then of the capacity entry.

    accelerator None: the catalog names none. window_s: seconds a block or a mode gives at most; prepaid_s: seconds paid whatever is used.
    """

    machine: Machine
    accelerator: Accelerator | None
    offering: Offering
    place: int
    rank: tuple[int, int]
    slice: TpuSlice | None = None
    slices: int = 0
    capacity_id: str = ""
    nodes: int | None = None
    window_s: float | None = None
    prepaid_s: float | None = None
    pinned: bool = False
    discount: float = 0.0
    rejections: tuple[Rejection, ...] = ()

    @property
    def price_usd_per_hour(self) -> float | None:
        listed = self.offering.price_usd_per_hour
        return None if listed is None else listed * (1 - self.discount)

    def candidate(self, nodes: int, parallelism: Parallelism, precision: str, replicas: tuple[int, int] = (1, 1)) -> Candidate:
        """Made by the thousand: what the offer says is filled in once, the rest on a copy."""
        made = object.__new__(Candidate)
        told = {"nodes": nodes, "parallelism": parallelism, "precision": precision, "replicas": replicas[0], "max_replicas": replicas[1]}
        made.__dict__.update(self._said, **told)
        return made

    @property
    def _device(self) -> str:
        """A machine without accelerators counts as one device, its processors."""
        return self.accelerator.name if self.accelerator else CPU if self.machine.kind == "cpu" else "none"

    @cached_property
    def _said(self) -> dict[str, Any]:
        o = self.offering
        blank = Candidate(
            cloud=o.cloud, machine=self.machine.name, accelerator=self._device,
            accelerators_per_node=self.machine.accelerator_count or 1, nodes=0, region=o.region, zones=o.zones, capacity=str(o.capacity),
            fabric=str(self.machine.fabric), parallelism=Parallelism(), price_usd_per_hour=self.price_usd_per_hour,
            price_as_of=o.price_as_of, price_source=o.price_source, price_region=o.price_region or "", capacity_id=self.capacity_id,
            slices=self.slices, topology=self.slice.topology if self.slice else "", place=self.place, pinned=self.pinned,
        )  # fmt: skip
        return dict(vars(blank))


def offers(spec: Spec, catalog: Catalog, a: Assumptions, today: date) -> Iterator[Offer]:
    """In order of place, capacity entry, catalog, region. A place that names no regions offers the cheapest one of each machine.

    Raises UserError where capacity blocks are all there is and each of them has ended.
    """
    refuse_ended(spec, today)
    for index, place in enumerate(spec.infra.places):
        if place.cloud == "kubernetes":
            yield from _owned(index, place, spec, catalog)
            continue
        entries = place.capacity.ordered or place.capacity.fallback
        for position, entry in enumerate(entries):
            rank = (index if spec.infra.ordered else 0, position)
            for found in _entry(entry, place, spec, catalog, today, a):
                offer = replace(found, place=index, rank=rank, discount=_discount(spec, found.offering))
                refused = (*offer.rejections, *_standing(offer, spec, place), *_fallback(offer, place), *_pin(offer, place))
                yield replace(offer, rejections=refused, pinned=place.pin is not None and not _pin(offer, place))


def _owned(index: int, place: Place, spec: Spec, catalog: Catalog) -> Iterator[Offer]:
    """An existing cluster: only what is pinned, as its inventory is not read yet."""
    machine = query.machine(catalog, place.pin.instance) if place.pin else None
    if machine is not None:
        for offer in _shapes(query.offer(catalog, machine, "", CapacityMode.ON_DEMAND), catalog):
            offer = replace(offer, place=index, rank=(index if spec.infra.ordered else 0, 0), pinned=True)
            yield replace(offer, rejections=(*offer.rejections, *_standing(offer, spec, place)))


def _discount(spec: Spec, offering: Offering) -> float:
    """The contract's share off list prices; spot and blocks are priced by the market."""
    market = offering.capacity in (CapacityMode.SPOT, CapacityMode.CAPACITY_BLOCK)
    return 0.0 if market else spec.pricing.discounts.get(offering.cloud, 0.0)


def _entry(entry: CapacityEntry, place: Place, spec: Spec, catalog: Catalog, today: date, a: Assumptions) -> Iterator[Offer]:
    if isinstance(entry, UseBlock):
        return _block(entry, catalog, today, a)
    if isinstance(entry, UseReservation):
        return _reservation(entry, place, spec, catalog)
    return _mode(CapacityMode(entry), place, spec, catalog)


def _mode(mode: CapacityMode, place: Place, spec: Spec, catalog: Catalog) -> Iterator[Offer]:
    asked = (place.cloud, mode, "longest_run_s", "")
    longest = next((r.value for r in catalog.capacity_rules if (r.cloud, r.capacity, r.rule, r.family) == asked), None)
    by_machine: dict[str, list[Offering]] = {}
    named = _named(place)
    for offering in query.offerings(catalog, place.cloud, place.regions, (mode,)):
        by_machine.setdefault(offering.machine.name, []).append(offering)
    for machine in catalog.machines:
        if machine.cloud != place.cloud or not (machine.accelerator_count or machine.name in named):
            continue
        found = by_machine.get(machine.name, [])
        if not place.regions and len(found) > 1:
            found = [min(found, key=lambda o: (not _allowed(o, spec), *_cheapness(o)))]
        for offering in (*found, *_absent(machine, mode, place, found)):
            yield from _shapes(offering, catalog, window_s=longest)


def _allowed(o: Offering, spec: Spec) -> bool:
    return matches(o.region, spec.limits.regions) and stays_in(o.cloud, o.region, spec.limits.residency)


def _cheapness(o: Offering) -> tuple:
    return (o.price_is_reference, o.price_usd_per_hour or float("inf"), o.region not in query.REFERENCE_REGIONS, o.region)


def _absent(machine: Machine, mode: CapacityMode, place: Place, found: list[Offering]) -> Iterator[Offering]:
    """Regions the place names where this machine cannot be had: kept, so that the plan can say so."""
    asked = place.regions or (() if found else ("any region",))
    for region in (r for r in asked if not any(matches(o.region, (r,)) for o in found)):
        yield Offering(machine, machine.cloud, region, (), mode)


def _shapes(offering: Offering, catalog: Catalog, **more) -> Iterator[Offer]:
    """A GPU machine as it is; a TPU host as every slice that is built from it, and two of the largest."""
    machine = offering.machine
    accelerator = query.accelerator(catalog, machine.accelerator) if machine.accelerator else None
    base = Offer(machine, accelerator, offering, 0, (0, 0), rejections=tuple(_not_sold(offering, catalog)), **more)
    if machine.kind != "tpu":
        yield base
        return
    listed = [s for s in query.slices(catalog, machine.name) if s.listed]
    for piece in listed:
        yield replace(base, slice=piece, slices=1, nodes=piece.hosts)
    if listed and listed[-1].multi_host:
        refusal = Rejection(Limit.DATA, None, None, words="bandwidth between slices is not published", remedy="one slice")
        yield replace(base, slice=listed[-1], slices=2, nodes=2 * listed[-1].hosts, rejections=(*base.rejections, refusal))


def _not_sold(offering: Offering, catalog: Catalog) -> Iterator[Rejection]:
    machine = offering.machine
    if not machine.orderable:
        inside = f"only inside {machine.unit_machine}" if machine.unit_machine else "no name to order it by is published"
        yield Rejection(Limit.CAPACITY, None, None, words=f"not sold by itself: {inside}")
        return
    if machine.cloud == "kubernetes":
        return
    mode = offering.capacity
    if machine.cloud == "aws" and mode is CapacityMode.RESERVATION:
        mode = CapacityMode.ON_DEMAND  # what is sold on demand can be reserved
    if mode not in machine.capacity_modes:
        modes = ", ".join(m for m in machine.capacity_modes if not m.startswith("cud")) or "none published"
        yield Rejection(Limit.CAPACITY, None, None, words=f"not sold {offering.capacity}", remedy=f"capacity: {modes}")
    sold = sorted(p.region for p in catalog.places_by_sku.get(machine.name, ()))
    if not sold:
        yield Rejection(Limit.REGION, None, None, words="where it is sold is not published")
    elif offering.region not in sold:
        remedy = f"regions: [{', '.join(_near(offering.region, sold))}]"
        yield Rejection(Limit.REGION, None, None, words=f"not sold in {offering.region}", remedy=remedy)


def _near(region: str, sold: list[str]) -> list[str]:
    """Up to three regions, those of the same part of the world first."""
    return sorted(sold, key=lambda r: (r.split("-")[0] != region.split("-")[0], r))[:3]


def _block(entry: UseBlock, catalog: Catalog, today: date, a: Assumptions) -> Iterator[Offer]:
    """The block's own machines, paid for the whole window; the last half hour of it is lost."""
    block = entry.capacity_block
    machine = query.machine(catalog, block.instance)
    if machine is None:
        return
    region = block.zone.rstrip("abcdefgh")
    offering = query.offer(catalog, machine, region, CapacityMode.CAPACITY_BLOCK, (block.zone,))
    now = datetime(today.year, today.month, today.day, tzinfo=UTC)
    window_s = (block.end - max(block.start, now)).total_seconds() - a.capacity_block_drain_s
    words = f"the block ended {utc(block.end)} ({ENDED})"
    over = () if window_s > 0 else (Rejection(Limit.CAPACITY, None, None, words=words, remedy="a later block"),)
    paid = (block.end - block.start).total_seconds()
    for offer in _shapes(offering, catalog, capacity_id=block.id, nodes=block.count, window_s=max(window_s, 0.0), prepaid_s=paid):
        yield replace(offer, nodes=block.count, rejections=(*offer.rejections, *over))


def _reservation(entry: UseReservation, place: Place, spec: Spec, catalog: Catalog) -> Iterator[Offer]:
    """The reserved machines where they or a pin name them, else every machine that can be reserved; billed like on-demand."""
    said = entry.reservation
    name, zones = said.id or said.group or "", (said.zone,) if said.zone else ()
    instance = said.instance or (place.pin.instance if place.pin else None)
    if instance is None:
        for offer in _mode(CapacityMode.RESERVATION, place, spec, catalog):
            yield replace(offer, capacity_id=name)
        return
    machine = query.machine(catalog, instance)
    if machine is None:
        return
    regions = [r for r in place.regions if not said.zone or said.zone.startswith(r)] or [(said.zone or "").rstrip("abcdefgh").rstrip("-")]
    for region in regions:
        offering = query.offer(catalog, machine, region, CapacityMode.RESERVATION, zones)
        for offer in _shapes(offering, catalog, capacity_id=name):
            yield replace(offer, nodes=offer.nodes if offer.slice else said.count)


def _fallback(offer: Offer, place: Place) -> Iterator[Rejection]:
    """Pools of a fallback are alike and share a zone: what one entry names binds the others."""
    things = [thing for thing in map(held, place.capacity.fallback) if thing]
    machine = next((thing.instance for thing in things if thing.instance), offer.machine.name)
    zone = next((thing.zone for thing in things if thing.zone), offer.offering.region)
    if offer.machine.name != machine:
        yield Rejection(Limit.CAPACITY, None, None, words=f"the fallback is for {machine}", remedy="capacity: ordered")
    if not zone.startswith(offer.offering.region):
        yield Rejection(Limit.CAPACITY, None, None, words=f"the fallback is in {zone}", remedy="capacity: ordered")


def _standing(offer: Offer, spec: Spec, place: Place) -> Iterator[Rejection]:
    """What no search changes: the organisation's regions, residency, zones, and whether this release knows the accelerator at all."""
    region, machine = offer.offering.region, offer.machine
    if region and not matches(region, spec.limits.regions):
        yield Rejection(Limit.ORGANISATION, None, None, words=f"limits.regions allows {', '.join(spec.limits.regions)}")
    if not stays_in(machine.cloud, region, spec.limits.residency):
        yield Rejection(Limit.RESIDENCY, None, None, words=f"{region} is outside {spec.limits.residency}")
    zones = offer.offering.zones
    if place.zones and zones and zones[0].startswith(region) and not set(zones) & set(place.zones):
        yield Rejection(Limit.CAPACITY, None, None, words=f"not in {', '.join(place.zones)}", remedy=f"zones: [{', '.join(zones[:3])}]")
    yield from _blueprint(offer, spec)
    yield from _over_quota(offer, place)
    if machine.kind == "neuron":
        yield from _neuron(offer, spec, place)


def _over_quota(offer: Offer, place: Place) -> Iterator[Rejection]:
    """One machine already takes more than the account is granted; how many are taken is checked on the plan (V-115)."""
    granted = place.quotas.get(offer.offering.region, {}) if isinstance(place.quotas, dict) else {}
    machine, mode = offer.machine, offer.offering.capacity
    code = {CapacityMode.SPOT: machine.quota_spot, CapacityMode.CAPACITY_BLOCK: machine.quota_capacity_block}.get(
        mode, machine.quota_on_demand
    )
    least = (offer.nodes or 1) * (machine.vcpus or 0)
    if code in granted and granted[code] < least:
        yield Rejection(Limit.QUOTA, least, granted[code], "vCPU", remedy=f"ask for {least - granted[code]:g} more of {code}")


def _neuron(offer: Offer, spec: Spec, place: Place) -> Iterator[Rejection]:
    """Programs are compiled for these chips by their own SDK, and no run on them has calibrated the estimate: never chosen silently."""
    machine = offer.machine
    if machine.name not in _named(place):
        words = "runs what the Neuron SDK compiled, which nobody asked for"
        yield Rejection(Limit.BLUEPRINT, None, None, words=words, remedy=f"pin: {{instance: {machine.name}}}")
    if spec.is_training and machine.family in SERVES_ONLY:
        words = f"no trainer is documented for {offer.accelerator.name if offer.accelerator else machine.family}"
        yield Rejection(Limit.BLUEPRINT, None, None, words=words, remedy="pin: {instance: trn1.32xlarge}")


def _named(place: Place) -> set[str]:
    """Machines the place asks for by name: pinned, or bought already."""
    entries = (*place.capacity.ordered, *place.capacity.fallback)
    blocks = {e.capacity_block.instance for e in entries if isinstance(e, UseBlock)}
    reserved = {e.reservation.instance for e in entries if isinstance(e, UseReservation) and e.reservation.instance}
    return blocks | reserved | ({place.pin.instance} if place.pin else set())


def _blueprint(offer: Offer, spec: Spec) -> Iterator[Rejection]:
    machine, accelerator = offer.machine, offer.accelerator
    if machine.kind == "cpu" and machine.cloud == "aws":
        yield from _processors(offer, spec)
        return
    if accelerator is None or accelerator.vendor not in SUPPORTED.get(machine.kind, ()):
        yield Rejection(Limit.BLUEPRINT, None, None, words="no blueprint for this accelerator in this release")
        return
    tpu, serves, kind = machine.kind == "tpu", not spec.is_training, spec.blueprint.kind
    if tpu and serves:
        yield Rejection(Limit.BLUEPRINT, None, None, words="serving on TPU is not in this release")
    elif (kind == "tpu-pod") != tpu and kind != "auto":
        runs_on = "TPU" if kind == "tpu-pod" else "GPU"
        yield Rejection(Limit.BLUEPRINT, None, None, words=f"blueprint {kind} runs on {runs_on}", remedy="blueprint.kind: auto")
    if machine.accelerator_fraction < 1:
        yield Rejection(Limit.DATA, None, None, words="a share of a device: what it computes is not published")
    missing = [name for name, value in _needed(machine, accelerator).items() if not value]
    if missing:
        yield Rejection(Limit.DATA, None, None, words=f"{', '.join(missing)} not published")


def _processors(offer: Offer, spec: Spec) -> Iterator[Rejection]:
    """Machines without accelerators, looked at only where they are named: one box, of a family whose processor is known."""
    if spec.blueprint.kind not in ("auto", "box"):
        words = f"blueprint {spec.blueprint.kind} runs on accelerators"
        yield Rejection(Limit.BLUEPRINT, None, None, words=words, remedy="blueprint.kind: box")
    if offer.machine.family not in cpu.CORES:
        words = f"what a vCPU of {offer.machine.family} computes is not published"
        yield Rejection(Limit.DATA, None, None, words=words, remedy=f"pin: {{instance: m7i.4xlarge}}, or one of {', '.join(cpu.CORES)}")


def _needed(machine: Machine, accelerator: Accelerator) -> dict[str, float | None]:
    return {
        "FLOP/s": accelerator.bf16_flops or accelerator.fp16_flops,
        "memory bandwidth": accelerator.memory_bandwidth_bytes_per_s,
        "memory": machine.accelerator_memory_bytes or accelerator.memory_bytes,
    }


def _pin(offer: Offer, place: Place) -> tuple[Rejection, ...]:
    pin = place.pin
    if pin is None:
        return ()
    topology = offer.slice.topology if offer.slice else None
    if offer.machine.name == pin.instance and pin.topology in (None, topology):
        return ()
    wanted = " ".join(filter(None, (pin.instance, pin.topology)))
    return (Rejection(Limit.PIN, None, None, words=f"the place is pinned to {wanted}", remedy="drop the pin"),)


def needs_fabric(offer: Offer) -> bool:
    """Whether several of these machines have no documented way to work on one job."""
    return offer.machine.fabric is Fabric.NONE
