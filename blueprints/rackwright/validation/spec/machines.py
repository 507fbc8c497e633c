"""S-50..S-58: places compared with the catalog."""

from collections.abc import Iterator

from rackwright.catalog.query import missing_facts
from rackwright.clouds import profile
from rackwright.clouds.residency import matches, stays_in
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.spec.infra import Place
from rackwright.spec.reading.model_fields import did_you_mean
from rackwright.validation.spec.places import BLOCKS, blocks, existing_entries, modes
from rackwright.validation.spec.registry import SpecContext, rule
from rackwright.validation.spec.tpu import slice_name

LONG_TERM = {"cud-1y", "cud-3y"}
"""Price commitments, not capacity modes."""


@rule("S-50")
def regions_exist(context: SpecContext) -> Iterator[Violation]:
    """A region must exist in the cloud of its place."""
    for at, place in context.places:
        regions = context.regions.get(place.cloud, [])
        for i, region in enumerate(place.regions):
            if regions and region not in regions:
                other = next((cloud for cloud, names in context.regions.items() if region in names), None)
                near = did_you_mean(region, regions) or "`rackwright catalog` lists them"
                fix = f"set cloud: {other}, which has this region" if other else near
                yield Violation(at / "regions" / i, fix, f"{place.cloud} has no region {quote(region)} in the catalog")


@rule("S-51")
def residency_leaves_a_region(context: SpecContext) -> Iterator[Violation]:
    """Every place must have at least one region inside limits.residency."""
    territory = context.spec.limits.residency
    for at, place in context.places:
        regions = allowed_by_limits(context, place)
        if territory and regions and not any(stays_in(place.cloud, region, territory) for region in regions):
            inside = [region for region in context.regions.get(place.cloud, []) if stays_in(place.cloud, region, territory)]
            where = at / "regions" if place.regions else At() / "limits" / "residency"
            fix = f"use one of {', '.join(inside[:6])}"
            yield Violation(where, fix, f"limits.residency is {territory}, and no allowed region of this place is in {territory}")


@rule("S-52")
def limits_name_a_region(context: SpecContext) -> Iterator[Violation]:
    """Each pattern of limits.regions must match at least one region of the clouds in use."""
    for i, pattern in enumerate(context.spec.limits.regions):
        regions = [region for _, place in context.places for region in context.regions.get(place.cloud, [])]
        if regions and not any(matches(region, (pattern,)) for region in regions):
            fix = did_you_mean(pattern, regions) or "use a pattern such as us-*"
            yield Violation(At() / "limits" / "regions" / i, fix, f"{quote(pattern)} matches no region of the clouds in use")


@rule("S-53")
def machines_exist(context: SpecContext) -> Iterator[Violation]:
    """A named machine must be in the catalog, and belong to the cloud of its place."""
    for at, place, name in named_machines(context):
        machine = context.catalog.machine_by_name.get(name)
        if machine is None and slice_name(name, context.catalog):
            continue  # S-250
        if machine is None:
            names = [m.name for m in context.catalog.machines if m.cloud == place.cloud and m.orderable]
            yield Violation(at, did_you_mean(name, names), f"{quote(name)} is not in the catalog")
        elif machine.cloud != place.cloud:
            fix = f"set cloud: {machine.cloud}, or choose a machine of {place.cloud}"
            yield Violation(at, fix, f"{quote(name)} is a machine of {machine.cloud}")


@rule("S-54")
def machines_are_offered_in_place(context: SpecContext) -> Iterator[Violation]:
    """A named machine must be offered in a region and zone of its place."""
    for at, place, name in named_machines(context):
        sold = [row.region for row in context.catalog.places_by_sku.get(name, ()) if row.cloud == place.cloud]
        known = [region for region in place.regions if region in context.regions.get(place.cloud, [])]
        if sold and known and not set(sold) & set(known):
            near = sorted(sold, key=lambda region: (region.split("-")[0] != known[0].split("-")[0], region))
            message = f"{quote(name)} is not offered in {', '.join(known)}"
            yield Violation(at, f"use one of {', '.join(near[:6])}", message, link=profile(place.cloud).links.get("offerings", ""))
            continue
        zones = [zone for row in context.catalog.places_by_sku.get(name, ()) for zone in row.zones]
        cloud, held = profile(place.cloud), "capacity" in at.steps  # capacity that exists proves its zone
        comparable = cloud.has_zone_names or (not held and place.zones and all(map(cloud.is_zone_id, place.zones)))
        if comparable and zones and place.zones and not set(zones) & set(place.zones):
            near = [zone for zone in zones if not known or context.catalog.region_of_zone(zone) in known]
            yield Violation(at, f"use one of {', '.join(sorted(near)[:6])}", f"{quote(name)} is not offered in {', '.join(place.zones)}")


@rule("S-56", link=BLOCKS)
def blocks_are_offered_for_type(context: SpecContext) -> Iterator[Violation]:
    """Capacity Blocks must be available for the instance type."""
    for at, _, block in blocks(context):
        machine = context.catalog.machine_by_name.get(block.instance)
        if machine and profile(machine.cloud).sells("capacity_block") and not machine.capacity_block:
            families = sorted({m.family for m in context.catalog.machines if m.capacity_block})
            message = f"AWS offers no Capacity Blocks for {block.instance}"
            yield Violation(at / "instance", f"use one of the families {', '.join(families)}", message)


@rule("S-113", Level.WARNING)
def pinned_machine_has_published_rates(context: SpecContext) -> Iterator[Violation]:
    """The compute rate, memory and memory bandwidth of a pinned machine should be published, because sizing rejects it without them."""
    for at, place in context.places:
        machine = context.catalog.machine_by_name.get(place.pin.instance) if place.pin else None
        accelerator = context.catalog.accelerator_by_name.get(machine.accelerator.lower()) if machine and machine.accelerator else None
        if machine and accelerator and (missing := missing_facts(machine, accelerator)):
            message = f"{quote(machine.name)} has {accelerator.name}, whose {' and '.join(missing)} are not published"
            yield Violation(at / "pin" / "instance", "pin another machine; `rackwright catalog accelerators` lists their rates", message)


@rule("S-57")
def machine_is_offered_in_mode(context: SpecContext) -> Iterator[Violation]:
    """A pinned machine must be offered in one of the capacity modes of its place."""
    for at, place in context.places:
        machine = context.catalog.machine_by_name.get(place.pin.instance) if place.pin else None
        requested = {mode.replace("_", "-") for _, mode in modes(at, place)}
        sold = {str(mode) for mode in machine.capacity_modes} - LONG_TERM if machine else set()
        sold |= {"reservation"} if profile(place.cloud).reserves_on_demand and "on-demand" in sold else set()
        if machine and machine.cloud == place.cloud and sold and requested and not requested & sold:
            fix = f"use {' or '.join(sorted(sold))}"
            message = f"{quote(machine.name)} is not offered as {', '.join(sorted(requested))}"
            yield Violation(at / "pin" / "instance", fix, message, link=profile(place.cloud).links.get("machines", ""))


@rule("S-58")
def pins_keep_accelerator_limit(context: SpecContext) -> Iterator[Violation]:
    """Pinned machines must not exceed limits.accelerators."""
    limit = context.spec.limits.accelerators
    for at, place in context.places:
        machine = context.catalog.machine_by_name.get(place.pin.instance) if place.pin else None
        if place.pin and machine and limit:
            slices = context.catalog.slices_by_machine.get(machine.name, ())
            hosts = min((piece.hosts for piece in slices if piece.topology == place.pin.topology), default=1)
            have = machine.accelerator_count * (place.pin.nodes or hosts * (place.pin.slices or 1))
            if have > limit:
                message = f"The pinned machines have {have:,} accelerators; limits.accelerators is {limit:,}"
                yield Violation(at / "pin", "pin fewer nodes or a smaller machine, or raise limits.accelerators", message)


def named_machines(context: SpecContext) -> Iterator[tuple[At, Place, str]]:
    """Every machine type in the spec, with its place."""
    for at, place in context.places:
        if place.pin:
            yield at / "pin" / "instance", place, place.pin.instance
    for at, place, thing in existing_entries(context):
        if thing.instance:
            yield at / "instance", place, thing.instance


def allowed_by_limits(context: SpecContext, place: Place) -> list[str]:
    regions = place.regions or tuple(context.regions.get(place.cloud, ()))
    return [region for region in regions if matches(region, context.spec.limits.regions)]
