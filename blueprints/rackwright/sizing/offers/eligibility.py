"""What speaks against an offer whatever is searched: the spec's limits, the zones, the blueprint, the accelerator, the pin."""

from collections.abc import Iterator

from rackwright.catalog.rows import Accelerator, CapacityMode, Machine
from rackwright.sizing.metrics import Limit, Rejection
from rackwright.sizing.offers.offer import Offer
from rackwright.sizing.search import cpu_roofline
from rackwright.spec.infra import Place, UseBlock, UseReservation, existing_capacity
from rackwright.spec.residency import matches, stays_in
from rackwright.spec.spec import Spec

SUPPORTED = {"gpu": ("NVIDIA",), "tpu": ("Google",), "neuron": ("AWS",)}
"""Machine kinds, and vendors of their accelerators, that this release has engines and blueprints for."""
SERVES_ONLY = ("inf1", "inf2")
"""Neuron families that no trainer is documented for (Neuron documentation 2.31, torch-neuronx training: Trn1, Trn2)."""


def fallback(offer: Offer, place: Place) -> Iterator[Rejection]:
    """Pools of a fallback are alike and share a zone: what one entry names binds the others."""
    things = [thing for thing in map(existing_capacity, place.capacity.fallback) if thing]
    machine = next((thing.instance for thing in things if thing.instance), offer.machine.name)
    zone = next((thing.zone for thing in things if thing.zone), offer.offering.region)
    if offer.machine.name != machine:
        yield Rejection(Limit.CAPACITY, None, None, words=f"the fallback is for {machine}", remedy="capacity: ordered")
    if not zone.startswith(offer.offering.region):
        yield Rejection(Limit.CAPACITY, None, None, words=f"the fallback is in {zone}", remedy="capacity: ordered")


def standing(offer: Offer, spec: Spec, place: Place) -> Iterator[Rejection]:
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
    if machine.name not in machines_named(place):
        words = "runs what the Neuron SDK compiled, which nobody asked for"
        yield Rejection(Limit.BLUEPRINT, None, None, words=words, remedy=f"pin: {{instance: {machine.name}}}")
    if spec.is_training and machine.family in SERVES_ONLY:
        words = f"no trainer is documented for {offer.accelerator.name if offer.accelerator else machine.family}"
        yield Rejection(Limit.BLUEPRINT, None, None, words=words, remedy="pin: {instance: trn1.32xlarge}")


def machines_named(place: Place) -> set[str]:
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
    if offer.machine.family not in cpu_roofline.CORES:
        words = f"what a vCPU of {offer.machine.family} computes is not published"
        yield Rejection(
            Limit.DATA, None, None, words=words, remedy=f"pin: {{instance: m7i.4xlarge}}, or one of {', '.join(cpu_roofline.CORES)}"
        )


def _needed(machine: Machine, accelerator: Accelerator) -> dict[str, float | None]:
    return {
        "FLOP/s": accelerator.bf16_flops or accelerator.fp16_flops,
        "memory bandwidth": accelerator.memory_bandwidth_bytes_per_s,
        "memory": machine.accelerator_memory_bytes or accelerator.memory_bytes,
    }


def against_the_pin(offer: Offer, place: Place) -> tuple[Rejection, ...]:
    pin = place.pin
    if pin is None:
        return ()
    topology = offer.slice.topology if offer.slice else None
    if offer.machine.name == pin.instance and pin.topology in (None, topology):
        return ()
    wanted = " ".join(filter(None, (pin.instance, pin.topology)))
    return (Rejection(Limit.PIN, None, None, words=f"the place is pinned to {wanted}", remedy="drop the pin"),)
