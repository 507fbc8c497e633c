"""S-40..S-49, S-91: one place, without asking the catalog."""

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain

from rackwright.clouds import AWS, GCP, profile, profiles, supports
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.spec.infra import (
    CapacityBlock,
    CapacityEntry,
    ExistingSubnet,
    Place,
    Reservation,
    UseBlock,
    UseReservation,
    existing_capacity,
)
from rackwright.spec.residency import matches
from rackwright.validation.spec.registry import SpecContext, rule

BLOCKS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html"
VPC_ID, SUBNET_ID = re.compile(r"vpc-([0-9a-f]{8}|[0-9a-f]{17})"), re.compile(r"subnet-([0-9a-f]{8}|[0-9a-f]{17})")


def entries(at: At, place: Place) -> Iterator[tuple[At, CapacityEntry]]:
    """Every capacity entry of a place, whichever list it stands in."""
    lists = (("ordered", place.capacity.ordered), ("fallback", place.capacity.fallback))
    return ((at / "capacity" / key / i, entry) for key, listed in lists for i, entry in enumerate(listed))


def mode_of(entry: CapacityEntry) -> str:
    """The mode an entry is, which is also its key where it names something."""
    return "capacity_block" if isinstance(entry, UseBlock) else "reservation" if isinstance(entry, UseReservation) else entry


def modes(at: At, place: Place) -> Iterator[tuple[At, str]]:
    """Every capacity entry of a place with the name of its mode."""
    return ((where, mode_of(entry)) for where, entry in entries(at, place))


def things(context: SpecContext) -> Iterator[tuple[At, Place, CapacityBlock | Reservation]]:
    """Every block and reservation that a place may use, with that place."""
    for at, place in context.places:
        for where, entry in entries(at, place):
            if thing := existing_capacity(entry):
                yield where / mode_of(entry), place, thing


def blocks(context: SpecContext) -> Iterator[tuple[At, Place, CapacityBlock]]:
    """Every capacity block of the spec with its place; those of extra pools with the first place that builds them."""
    yield from ((at, place, thing) for at, place, thing in things(context) if isinstance(thing, CapacityBlock))
    pools = context.spec.blueprint.pools
    home = next((place for _, place in context.places if supports(place.cloud, "blueprint.pools")), None)
    for i, pool in enumerate(() if pools == "auto" else pools):
        if home and isinstance(pool.capacity, UseBlock):
            yield At() / "blueprint" / "pools" / i / "capacity" / "capacity_block", home, pool.capacity.capacity_block


@rule("S-40")
def fields_suit_the_cloud(context: SpecContext) -> Iterator[Violation]:
    """account belongs to aws, project to gcp, inventory to kubernetes."""
    for at, place in context.places:
        for key in dict.fromkeys(cloud.owner_field for cloud in profiles()):
            if getattr(place, key) is not None and key != profile(place.cloud).owner_field:
                yield Violation(at / key, f"leave it out; this place is on {place.cloud}", about_key=True)


@rule("S-41")
def owned_machines_are_described(context: SpecContext) -> Iterator[Violation]:
    """A kubernetes place needs an inventory, and has no regions, zones or capacity modes."""
    for at, place in context.places:
        if profile(place.cloud).is_owned:
            if place.inventory is None:
                yield Violation(at, "add inventory: cluster.yaml; `rackwright inventory` writes one")
            for key in ("regions", "zones", "capacity"):
                if key in place.model_fields_set:
                    yield Violation(at / key, "leave it out: the inventory says what there is", about_key=True)


@rule("S-42", Level.WARNING, on=GCP)
def project_is_named(context: SpecContext) -> Iterator[Violation]:
    """Without a project, Google Cloud's default of whoever runs the update is used."""
    for at, place in context.places:
        if place.project is None:
            yield Violation(at, "add project: my-project")


@rule("S-43")
def mode_is_sold(context: SpecContext) -> Iterator[Violation]:
    """The cloud must sell the capacity mode."""
    for at, place in context.places:
        cloud = profile(place.cloud)
        for where, mode in modes(at, place):
            if not cloud.is_owned and not cloud.sells(mode):
                yield Violation(where, f"{place.cloud} sells {', '.join(cloud.capacity_modes)}", f"{place.cloud} does not sell {mode}")


@rule("S-44", link=BLOCKS)
def block_has_a_length(context: SpecContext) -> Iterator[Violation]:
    """A capacity block must end after it starts."""
    for at, _, block in blocks(context):
        if block.end <= block.start:
            near = block.start + timedelta(days=1, minutes=-30)
            yield Violation(at / "end", f"it starts {block.start.isoformat()}: a day of it ends {near.isoformat()}; your order tells")


@rule("S-45")
def zones_lie_in_the_regions(context: SpecContext) -> Iterator[Violation]:
    """Zones must lie in the regions of their place."""
    for at, place in context.places:
        named = ((at / "zones" / i, zone) for i, zone in enumerate(place.zones))
        of_things = ((where / "zone", thing.zone) for where, other, thing in things(context) if other is place and thing.zone)
        for where, zone in chain(named, of_things, _of_subnets(at, place)):
            if place.regions and not any(zone.startswith(region) and zone != region for region in place.regions):
                link = BLOCKS if "capacity" in where.steps else profile(place.cloud).links.get("regions", "")
                yield Violation(where, f"regions are {', '.join(place.regions)}: such as {_near_zone(zone, place)}", link=link)


def _of_subnets(at: At, place: Place) -> Iterator[tuple[At, str]]:
    listed = place.network.existing.subnets if place.network.existing else ()
    where = at / "network" / "existing" / "subnets"
    return ((where / i / "zone", subnet.zone) for i, subnet in enumerate(listed) if isinstance(subnet, ExistingSubnet) and subnet.zone)


def _near_zone(zone: str, place: Place) -> str:
    """The same letter in the first region of the place."""
    letter = zone[-1] if zone[-1:].isalpha() else "a"
    return profile(place.cloud).zone(place.regions[0], letter)


@rule("S-46", link=BLOCKS)
def block_lies_in_the_zones(context: SpecContext) -> Iterator[Violation]:
    """A capacity block or reservation must lie in one of the zones of its place."""
    for at, place, thing in things(context):
        if place.zones and thing.zone and thing.zone not in place.zones:
            yield Violation(at / "zone", f"add {quote(thing.zone)} to zones, or leave zones out")


@rule("S-47", link=BLOCKS)
def pin_agrees_with_what_is_bought(context: SpecContext) -> Iterator[Violation]:
    """A pin must agree with the capacity it is to run in."""
    for at, place in context.places:
        bought = [(where, thing) for where, other, thing in things(context) if other is place and place.pin]
        for where, thing in bought:
            if place.pin and thing.instance and thing.instance != place.pin.instance:
                yield Violation(where / "instance", f"the pin is {place.pin.instance}: pin {thing.instance}, or leave the entry out")
        counts = [thing.count for _, thing in bought if place.pin and thing.instance in (None, place.pin.instance)]
        every = len(counts) == len(place.capacity.ordered + place.capacity.fallback)
        if place.pin and place.pin.nodes and every and None not in counts and place.pin.nodes > (most := max(c or 0 for c in counts)):
            yield Violation(
                at / "pin" / "nodes", f"{most}, which it holds", f"{place.pin.nodes} machines are more than what is bought holds"
            )


@rule("S-91", link="https://docs.aws.amazon.com/vpc/latest/userguide/resource-ids.html", on=AWS)
def networks_are_named_by_their_ids(context: SpecContext) -> Iterator[Violation]:
    """On AWS a network is named by its id, vpc- and 8 or 17 hexadecimal digits, and each of its subnets once by its own, subnet-."""
    for at, place in context.places:
        there, known = place.network.existing, set[str]()
        if there is None:
            continue
        where = at / "network" / "existing"
        if isinstance(there.vpc, str) and not VPC_ID.fullmatch(there.vpc):
            yield Violation(
                where / "vpc", "such as vpc-0123456789abcdef0; `aws ec2 describe-vpcs` lists them", _no_id(there.vpc, "network")
            )
        for i, subnet in enumerate(there.subnets):
            described = isinstance(subnet, ExistingSubnet)
            given, place_of = subnet.id if isinstance(subnet, ExistingSubnet) else subnet, where / "subnets" / i
            if not isinstance(given, str):
                continue
            place_of = place_of / "id" if described else place_of
            if not SUBNET_ID.fullmatch(given):
                lists = "`aws ec2 describe-subnets` lists them"
                yield Violation(place_of, f"such as subnet-0123456789abcdef0; {lists}", _no_id(given, "subnet"))
            elif given in known:
                yield Violation(place_of, "leave the second out", f"{quote(given)} is there twice")
            known.add(given)


def _no_id(text: str, what: str) -> str:
    return f"{quote(text)} is no id of a {what}"


@rule("S-48")
def named_once(context: SpecContext) -> Iterator[Violation]:
    """A region, zone or capacity mode must be listed once."""
    for at, place in context.places:
        listed = {"regions": place.regions, "zones": place.zones}
        named = [(at / key / i, value) for key, values in listed.items() for i, value in enumerate(values)]
        seen: set[object] = set()
        for where, value in [*named, *((where, mode) for where, mode in modes(at, place) if mode in ("on-demand", "spot", "flex-start"))]:
            if value in seen:
                yield Violation(where, "leave the second out")
            seen.add(value)


@rule("S-49")
def limits_allow_a_region(context: SpecContext) -> Iterator[Violation]:
    """limits.regions must allow at least one region of every place that names some."""
    patterns = context.spec.limits.regions
    for at, place in context.places:
        if patterns and place.regions and not any(matches(region, patterns) for region in place.regions):
            yield Violation(at / "regions", f"limits.regions is {', '.join(patterns)}")
