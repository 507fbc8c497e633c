"""S-40..S-49: one place, without asking the catalog."""

from collections.abc import Iterator
from itertools import chain

from rackwright.problems import At, Level
from rackwright.spec.base import quote
from rackwright.spec.checks.registry import Context, Finding, check
from rackwright.spec.infra import CapacityBlock, CapacityEntry, Place, UseBlock, UseReservation
from rackwright.spec.residency import matches

OWN_FIELDS = {"account": "aws", "project": "gcp", "inventory": "kubernetes"}
SELLERS = {
    "on-demand": ("aws", "gcp"),
    "spot": ("aws", "gcp"),
    "capacity_block": ("aws",),
    "flex-start": ("gcp",),
    "calendar": ("gcp",),
    "reservation": ("aws", "gcp"),
}
"""Capacity mode -> clouds that sell it."""


def entries(at: At, place: Place) -> Iterator[tuple[At, CapacityEntry]]:
    """Every capacity entry of a place, whichever list it stands in."""
    lists = (("ordered", place.capacity.ordered), ("fallback", place.capacity.fallback))
    return ((at / "capacity" / key / i, entry) for key, listed in lists for i, entry in enumerate(listed))


def modes(at: At, place: Place) -> Iterator[tuple[At, str]]:
    """Every capacity entry of a place with the name of its mode."""
    for where, entry in entries(at, place):
        yield where, "capacity_block" if isinstance(entry, UseBlock) else "reservation" if isinstance(entry, UseReservation) else entry


def blocks(context: Context) -> Iterator[tuple[At, Place, CapacityBlock]]:
    """Every capacity block of the spec with its place."""
    for at, place in context.places:
        for where, entry in entries(at, place):
            if isinstance(entry, UseBlock):
                yield where / "capacity_block", place, entry.capacity_block


@check("S-40")
def fields_suit_the_cloud(context: Context) -> Iterator[Finding]:
    """account belongs to aws, project to gcp, inventory to kubernetes."""
    for at, place in context.places:
        for key, cloud in OWN_FIELDS.items():
            if getattr(place, key) is not None and place.cloud != cloud:
                yield Finding(at / key, f"leave it out; this place is on {place.cloud}", about_key=True)


@check("S-41")
def owned_machines_are_described(context: Context) -> Iterator[Finding]:
    """A kubernetes place needs an inventory, and has no regions, zones or capacity modes."""
    for at, place in context.places:
        if place.cloud == "kubernetes":
            if place.inventory is None:
                yield Finding(at, "add inventory: cluster.yaml; `rackwright inventory` writes one")
            for key in ("regions", "zones", "capacity"):
                if key in place.model_fields_set:
                    yield Finding(at / key, "leave it out: the inventory says what there is", about_key=True)


@check("S-42", Level.WARNING)
def project_is_named(context: Context) -> Iterator[Finding]:
    """Without a project, Google Cloud's default of whoever runs the update is used."""
    for at, place in context.places:
        if place.cloud == "gcp" and place.project is None:
            yield Finding(at, "add project: my-project")


@check("S-43")
def mode_is_sold(context: Context) -> Iterator[Finding]:
    """The cloud must sell the capacity mode."""
    for at, place in context.places:
        for where, mode in modes(at, place):
            if place.cloud in ("aws", "gcp") and place.cloud not in SELLERS[mode]:
                sold = ", ".join(name for name, clouds in SELLERS.items() if place.cloud in clouds)
                yield Finding(where, f"{place.cloud} sells {sold}", f"{place.cloud} does not sell {mode}")


@check("S-44")
def block_has_a_length(context: Context) -> Iterator[Finding]:
    """A capacity block must end after it starts."""
    for at, _, block in blocks(context):
        if block.end <= block.start:
            yield Finding(at / "end", f"it starts {block.start.isoformat()}")


@check("S-45")
def zones_lie_in_the_regions(context: Context) -> Iterator[Finding]:
    """Zones must lie in the regions of their place."""
    for at, place in context.places:
        named = ((at / "zones" / i, zone) for i, zone in enumerate(place.zones))
        of_blocks = ((where / "zone", block.zone) for where, other, block in blocks(context) if other is place)
        for where, zone in chain(named, of_blocks):
            if place.regions and not any(zone.startswith(region) and zone != region for region in place.regions):
                yield Finding(where, f"regions are {', '.join(place.regions)}")


@check("S-46")
def block_lies_in_the_zones(context: Context) -> Iterator[Finding]:
    """A capacity block must lie in one of the zones of its place."""
    for at, place, block in blocks(context):
        if place.zones and block.zone not in place.zones:
            yield Finding(at / "zone", f"add {quote(block.zone)} to zones, or leave zones out")


@check("S-47")
def pin_agrees_with_its_blocks(context: Context) -> Iterator[Finding]:
    """A pin must agree with the capacity it is to run in."""
    for at, place in context.places:
        held = [block for _, other, block in blocks(context) if other is place]
        if place.pin is None or len(held) < len(place.capacity.ordered + place.capacity.fallback) or not held:
            continue
        if place.pin.instance not in {block.instance for block in held}:
            yield Finding(at / "pin" / "instance", f"the capacity blocks hold {', '.join(block.instance for block in held)}")
        elif place.pin.nodes and place.pin.nodes > (most := max(b.count for b in held if b.instance == place.pin.instance)):
            yield Finding(at / "pin" / "nodes", f"the capacity block holds {most}")


@check("S-48")
def named_once(context: Context) -> Iterator[Finding]:
    """A region, zone or capacity mode must be listed once."""
    for at, place in context.places:
        listed = {"regions": place.regions, "zones": place.zones}
        named = [(at / key / i, value) for key, values in listed.items() for i, value in enumerate(values)]
        seen: set[object] = set()
        for where, value in [*named, *((where, mode) for where, mode in modes(at, place) if mode in ("on-demand", "spot", "flex-start"))]:
            if value in seen:
                yield Finding(where, "leave the second out")
            seen.add(value)


@check("S-49")
def limits_allow_a_region(context: Context) -> Iterator[Finding]:
    """limits.regions must allow at least one region of every place that names some."""
    patterns = context.spec.limits.regions
    for at, place in context.places:
        if patterns and place.regions and not any(matches(region, patterns) for region in place.regions):
            yield Finding(at / "regions", f"limits.regions is {', '.join(patterns)}")
