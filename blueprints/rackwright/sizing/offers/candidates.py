"""Offers: every machine of the catalog in every place and capacity mode of the spec, with its rejections so far."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime

from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import CapacityMode, Offering
from rackwright.clouds import profile
from rackwright.clouds.residency import matches, stays_in
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.offers.eligibility import fallback_rejections, granted_quota, ineligibilities, machines_named, pin_rejections
from rackwright.sizing.offers.expired_blocks import check_expired_blocks, utc
from rackwright.sizing.offers.offer import Offer, contract_discount
from rackwright.sizing.offers.own_servers import own_node_cost, server_watts, servers_of
from rackwright.sizing.offers.sharing import already_divided, divided_machines
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.spec.infra import Pin, Place, UseBlock, UseReservation
from rackwright.spec.spec import Spec

SLICE_COUNTS = (2, 4)
"""Numbers of the largest slice of a host type that are searched; others are pinned."""


def offers(spec: Spec, catalog: Catalog, a: Assumptions, today: date) -> Iterator[Offer]:
    """Offers by place, capacity entry, catalog and region. A place without regions uses the cheapest region of each machine.

    Raises UserError when every capacity entry is a capacity block that has ended.
    """
    check_expired_blocks(spec, today)
    for index, place in enumerate(spec.infra.places):
        if profile(place.cloud).is_owned:
            yield from _own_servers(index, place, spec, catalog, a)
            continue
        entries = place.capacity.ordered or place.capacity.fallback
        for position, entry in enumerate(entries):
            rank = (index if spec.infra.ordered else 0, position)
            if isinstance(entry, UseBlock):
                made = _block(entry, catalog, today, a)
            elif isinstance(entry, UseReservation):
                made = _reservation(entry, place, spec, catalog)
            else:
                made = _mode(CapacityMode(entry), place, spec, catalog)
            for found in (each for whole in made for each in _with_divisions(whole, spec, catalog, a)):
                offer = replace(
                    found, place=index, rank=rank, discount=contract_discount(spec, found.offering.cloud, found.offering.capacity)
                )
                pin = pin_rejections(offer, place)
                fallback = fallback_rejections(offer, place, catalog)
                refused = (*offer.rejections, *ineligibilities(offer, spec, place, catalog), *fallback, *pin)
                is_pinned, quota = place.pin is not None and not pin, granted_quota(offer, spec, index)
                yield replace(offer, rejections=refused, pinned=is_pinned, quota=quota)


def _own_servers(index: int, place: Place, spec: Spec, catalog: Catalog, a: Assumptions) -> Iterator[Offer]:
    """Offers of the servers in the inventory of a place; of the pinned machine alone where the inventory is not read."""
    groups = servers_of(spec, index)
    named = {g.machine: g for g in groups} or ({place.pin.instance: None} if place.pin else {})
    for name, group in named.items():
        machine = query.machine(catalog, name)
        if machine is None:  # servers without GPUs, and GPUs that the catalog lacks (S-188)
            continue
        for made in _shapes(query.offer(catalog, machine, "", CapacityMode.OWNED), catalog):
            offer = replace(made, place=index, rank=(index if spec.infra.ordered else 0, 0), available=group and group.count)
            cost = own_node_cost(place.node_cost, server_watts(group.group, catalog)) if group else None
            pin = pin_rejections(offer, place)
            refused = (*offer.rejections, *ineligibilities(offer, spec, place, catalog), *pin)
            made_offer = replace(offer, rejections=refused, pinned=place.pin is not None and not pin, own_cost=cost)
            parts = group and already_divided(offer.machine, offer.accelerator, group.group, catalog)
            yield from [replace(made_offer, machine=parts)] if parts else _with_divisions(made_offer, spec, catalog, a)


def _with_divisions(offer: Offer, spec: Spec, catalog: Catalog, a: Assumptions) -> Iterator[Offer]:
    """The offer, and those of its machine with divided accelerators."""
    yield offer
    for machine in divided_machines(offer.machine, offer.accelerator, spec, catalog, a):
        yield replace(offer, machine=machine)


def _mode(mode: CapacityMode, place: Place, spec: Spec, catalog: Catalog) -> Iterator[Offer]:
    longest = catalog.capacity_rule(place.cloud, mode, "longest_run_s")
    by_machine: dict[str, list[Offering]] = {}
    named = machines_named(place)
    for offering in query.offerings(catalog, place.cloud, place.regions, (mode,)):
        by_machine.setdefault(offering.machine.name, []).append(offering)
    for machine in catalog.machines:
        if machine.cloud != place.cloud or not (machine.accelerator_count or machine.name in named):
            continue
        found = by_machine.get(machine.name, [])
        if not place.regions and len(found) > 1:
            found = [min(found, key=lambda o: _place_order(o, spec))]
        requested = place.regions or (() if found else ("any region",))
        absent = (region for region in requested if not any(matches(o.region, (region,)) for o in found))
        for offering in (*found, *(Offering(machine, machine.cloud, region, (), mode) for region in absent)):  # kept for their rejection
            yield from _shapes(offering, catalog, place.pin, window_s=longest)


def _place_order(o: Offering, spec: Spec) -> tuple:
    """Allowed places first, then the cheapest."""
    is_allowed = matches(o.region, spec.limits.regions) and stays_in(o.cloud, o.region, spec.limits.residency)
    return (not is_allowed, o.price_is_reference, o.price_usd_per_hour or float("inf"), o.region not in query.REFERENCE_REGIONS, o.region)


def _shapes(offering: Offering, catalog: Catalog, pin: Pin | None = None, **more) -> Iterator[Offer]:
    """One offer per GPU machine, and per TPU slice of a host type; of the largest, and of the pinned one, several slices too.

    Smaller slices are not multiplied: one larger slice has the same chips and a faster network.
    """
    machine = offering.machine
    accelerator = query.accelerator(catalog, machine.accelerator) if machine.accelerator else None
    base = Offer(machine, accelerator, offering, 0, (0, 0), rejections=tuple(_unavailable(offering, catalog)), **more)
    if machine.kind != "tpu":
        yield base
        return
    mine = pin if pin and pin.instance == machine.name else None
    known = [s for s in query.slices(catalog, machine.name) if s.listed or (mine and mine.topology == s.topology)]
    several = {(piece, count) for piece in known[-1:] for count in SLICE_COUNTS if piece.multi_host}
    several |= {(piece, mine.slices) for piece in known if mine and mine.slices and mine.topology == piece.topology}
    rate = query.slice_rate(catalog, accelerator) if accelerator else None
    for piece in known:
        yield replace(base, slice=piece, slices=1, nodes=piece.hosts)
    for piece, count in sorted(several - {(piece, 1) for piece in known}, key=lambda made: (made[0].chips, made[1])):
        yield replace(base, slice=piece, slices=count, nodes=count * piece.hosts, slice_rate=rate)


def _unavailable(offering: Offering, catalog: Catalog) -> Iterator[Rejection]:
    machine = offering.machine
    if not machine.orderable:
        yield Rejection(Limit.CAPACITY, reason=Reason.NOT_ORDERABLE, subject=machine.unit_machine or "")
        return
    if profile(machine.cloud).is_owned:
        return
    mode = offering.capacity
    if mode is CapacityMode.RESERVATION and profile(machine.cloud).reserves_on_demand:
        mode = CapacityMode.ON_DEMAND  # what is sold on demand can be reserved
    if mode not in machine.capacity_modes:
        modes = tuple(str(m) for m in machine.capacity_modes if not m.startswith("cud")) or ("none published",)
        yield Rejection(Limit.CAPACITY, reason=Reason.CAPACITY_MODE, subject=str(offering.capacity), remedies=modes)
    sold = sorted(p.region for p in catalog.places_by_sku.get(machine.name, ()))
    if not sold:
        yield Rejection(Limit.REGION, reason=Reason.REGIONS_UNKNOWN)
    elif offering.region not in sold:
        geography = offering.region.split("-")[0]
        near = sorted(sold, key=lambda r: (r.split("-")[0] != geography, r))[:3]
        yield Rejection(Limit.REGION, reason=Reason.REGION_NOT_OFFERED, subject=offering.region, remedies=tuple(near))


def _block(entry: UseBlock, catalog: Catalog, today: date, a: Assumptions) -> Iterator[Offer]:
    """Offers of a capacity block, paid for its whole window; its last 30 minutes cannot be used."""
    block = entry.capacity_block
    machine = query.machine(catalog, block.instance)
    if machine is None:
        return
    region = catalog.region_of_zone(block.zone)
    offering = query.offer(catalog, machine, region, CapacityMode.CAPACITY_BLOCK, (block.zone,))
    now = datetime(today.year, today.month, today.day, tzinfo=UTC)
    window_s = (block.end - max(block.start, now)).total_seconds() - a.capacity_block_drain_s
    over = () if window_s > 0 else (Rejection(Limit.CAPACITY, reason=Reason.BLOCK_ENDED, subject=utc(block.end)),)
    paid = (block.end - block.start).total_seconds()
    for offer in _shapes(offering, catalog, capacity_id=block.id, nodes=block.count, window_s=max(window_s, 0.0), prepaid_s=paid):
        yield replace(offer, nodes=block.count, rejections=(*offer.rejections, *over))


def _reservation(entry: UseReservation, place: Place, spec: Spec, catalog: Catalog) -> Iterator[Offer]:
    """Offers of a reservation: the named machines, else every machine that can be reserved; billed like on-demand."""
    reservation = entry.reservation
    name, zones = reservation.id or reservation.group or "", (reservation.zone,) if reservation.zone else ()
    instance = reservation.instance or (place.pin.instance if place.pin else None)
    if instance is None:
        for offer in _mode(CapacityMode.RESERVATION, place, spec, catalog):
            yield replace(offer, capacity_id=name)
        return
    machine = query.machine(catalog, instance)
    if machine is None:
        return
    regions = [r for r in place.regions if not reservation.zone or catalog.zone_is_in(reservation.zone, r)] or [
        catalog.region_of_zone(reservation.zone or "")
    ]
    for region in regions:
        offering = query.offer(catalog, machine, region, CapacityMode.RESERVATION, zones)
        for offer in _shapes(offering, catalog, place.pin, capacity_id=name):
            yield replace(offer, nodes=offer.nodes if offer.slice else reservation.count)
