"""Constraints that do not depend on the parallelism search: limits of the spec, zones, blueprint, accelerator, pin; the account's quota."""

from collections.abc import Iterator

from rackwright.catalog.query import missing_facts, quota_code
from rackwright.catalog.read import Catalog
from rackwright.clouds import profile
from rackwright.clouds.residency import matches, stays_in
from rackwright.sizing.blueprint_kind import joins_cluster
from rackwright.sizing.offers.offer import Offer, core_of
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.spec.infra import Place, UseBlock, UseReservation, existing_capacity
from rackwright.spec.reading.quotas_file import known_quotas
from rackwright.spec.spec import Spec

SUPPORTED = {"gpu": ("NVIDIA",), "tpu": ("Google",), "neuron": ("AWS",)}
"""Supported accelerator vendors per machine kind."""


def fallback_rejections(offer: Offer, place: Place, catalog: Catalog) -> Iterator[Rejection]:
    """Pools of a fallback use one machine and one zone: an entry that names them binds the others."""
    entries = [thing for thing in map(existing_capacity, place.capacity.fallback) if thing]
    machine = next((thing.instance for thing in entries if thing.instance), offer.machine.name)
    zone = next((thing.zone for thing in entries if thing.zone), "")
    if offer.machine.name != machine:
        yield Rejection(Limit.CAPACITY, reason=Reason.FALLBACK_MACHINE, subject=machine)
    if zone and not catalog.zone_is_in(zone, offer.offering.region):
        yield Rejection(Limit.CAPACITY, reason=Reason.FALLBACK_ZONE, subject=zone)


def ineligibilities(offer: Offer, spec: Spec, place: Place, catalog: Catalog) -> Iterator[Rejection]:
    """Limits of the organisation, residency, zones, blueprint, and Neuron."""
    region, machine = offer.offering.region, offer.machine
    if region and not matches(region, spec.limits.regions):
        yield Rejection(Limit.ORGANISATION, reason=Reason.REGION_NOT_ALLOWED, subject=", ".join(spec.limits.regions))
    if not stays_in(machine.cloud, region, spec.limits.residency):
        yield Rejection(Limit.RESIDENCY, reason=Reason.RESIDENCY, subject=region, detail=str(spec.limits.residency))
    zones, cloud = offer.offering.zones, profile(machine.cloud)
    alike = {zone for zone in place.zones if zones and cloud.is_zone_id(zone) == cloud.is_zone_id(zones[0])}
    if alike and not set(zones) & alike:
        yield Rejection(Limit.CAPACITY, reason=Reason.ZONE, subject=", ".join(place.zones), remedies=tuple(zones[:3]))
    yield from _blueprint(offer, spec, catalog)
    if machine.kind == "neuron" and machine.name not in machines_named(place):
        yield Rejection(Limit.BLUEPRINT, reason=Reason.NEURON_NOT_PINNED, remedies=(machine.name,))
    if machine.kind == "neuron" and spec.is_training and offer.accelerator and offer.accelerator.serves_only:
        yield Rejection(Limit.BLUEPRINT, reason=Reason.NEURON_SERVES_ONLY, subject=offer.accelerator.name)
    if machine.kind == "neuron" and not spec.is_training and offer.accelerator and not offer.accelerator.neuron_cores:
        yield Rejection(Limit.BLUEPRINT, reason=Reason.NEURON_ENGINE, subject=offer.accelerator.name)


def granted_quota(offer: Offer, spec: Spec, place: int) -> tuple[str, float] | None:
    """Code and available amount of the quota that the machines count towards; None where the place does not list it."""
    code, granted = quota_code(offer.machine, offer.offering.capacity), known_quotas(spec, place, offer.offering.region)
    return (code, granted[code]) if code in granted else None


def machines_named(place: Place) -> set[str]:
    """Machines that the place names: pinned, in a block, or in a reservation."""
    entries = (*place.capacity.ordered, *place.capacity.fallback)
    blocks = {e.capacity_block.instance for e in entries if isinstance(e, UseBlock)}
    reserved = {e.reservation.instance for e in entries if isinstance(e, UseReservation) and e.reservation.instance}
    return blocks | reserved | ({place.pin.instance} if place.pin else set())


def _tpu_serving(offer: Offer, spec: Spec) -> Iterator[Rejection]:
    """Servers run on pinned slices of one host, because another server and fewer models than on GPUs are documented."""
    if spec.workload.kind != "serve":
        yield Rejection(Limit.BLUEPRINT, reason=Reason.TPU_BATCH)
    elif offer.machine.name not in machines_named(spec.infra.places[offer.place]):
        yield Rejection(Limit.BLUEPRINT, reason=Reason.TPU_NOT_PINNED, remedies=(offer.machine.name,))
    elif offer.slice and offer.slice.multi_host:
        yield Rejection(Limit.BLUEPRINT, reason=Reason.TPU_SERVING_HOSTS, subject=offer.slice.topology)


def _blueprint(offer: Offer, spec: Spec, catalog: Catalog) -> Iterator[Rejection]:
    machine, accelerator = offer.machine, offer.accelerator
    if machine.kind == "cpu" and "box" in profile(machine.cloud).blueprints:
        if spec.blueprint.kind not in ("auto", "box"):
            yield Rejection(Limit.BLUEPRINT, reason=Reason.BLUEPRINT_ON_CPU, subject=spec.blueprint.kind)
        elif spec.blueprint.kind == "auto" and joins_cluster(spec):
            yield Rejection(Limit.BLUEPRINT, reason=Reason.CLUSTER_ON_CPU)
        if core_of(machine) is None:
            yield Rejection(Limit.DATA, reason=Reason.CPU_FAMILY, subject=machine.family)
        return
    if accelerator is None or accelerator.vendor not in SUPPORTED.get(machine.kind, ()):
        yield Rejection(Limit.BLUEPRINT, reason=Reason.ACCELERATOR_FAMILY)
        return
    tpu, serves, kind = machine.kind == "tpu", not spec.is_training, spec.blueprint.kind
    if tpu and serves:
        yield from _tpu_serving(offer, spec)
    elif (kind == "tpu-pod") != tpu and kind != "auto":
        device = "TPU" if kind == "tpu-pod" else "GPU"
        yield Rejection(Limit.BLUEPRINT, reason=Reason.BLUEPRINT_DEVICE, subject=kind, detail=device)
    missing = missing_facts(machine, accelerator)
    if not missing and accelerator.generation not in catalog.generation_by_name:
        missing = (f"links of generation {accelerator.generation or 'unknown'}",)
    if missing:
        yield Rejection(Limit.DATA, reason=Reason.UNPUBLISHED, subject=accelerator.name, detail=", ".join(missing))


def pin_rejections(offer: Offer, place: Place) -> tuple[Rejection, ...]:
    pin = place.pin
    if pin is None:
        return ()
    topology, hosts = (offer.slice.topology, offer.nodes) if offer.slice else (None, pin.nodes)
    slices = pin.slices or (1 if pin.topology else None)
    same_slice = pin.topology in (None, topology) and (offer.slice is None or slices in (None, offer.slices))
    if offer.machine.name == pin.instance and same_slice and pin.nodes in (None, hosts):
        return ()
    count = f"with {pin.nodes} hosts" if offer.slice and pin.nodes and offer.machine.name == pin.instance else ""
    count = f"with {pin.slices} slices" if offer.slice and (pin.slices or 1) > 1 else count
    wanted = " ".join(filter(None, (pin.instance, pin.topology, count)))
    return (Rejection(Limit.PIN, reason=Reason.PINNED_ELSEWHERE, subject=wanted),)
