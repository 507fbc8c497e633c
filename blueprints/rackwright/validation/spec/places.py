"""S-40..S-49, S-90, S-91, S-127: fields of one place, without the catalog."""

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain

from rackwright.catalog import query
from rackwright.clouds import AWS, GCP, profile, profiles, supports
from rackwright.clouds.residency import matches
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.spec.blueprint import ExtraPool
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
from rackwright.spec.reading.model_fields import did_you_mean
from rackwright.spec.reading.quotas_file import FORM, QuotaFileError, read_quotas
from rackwright.validation.spec.registry import SpecContext, rule

BLOCKS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html"
EXAMPLE_REGION = query.REFERENCE_REGIONS[0]
VPC_ID, SUBNET_ID = re.compile(r"vpc-([0-9a-f]{8}|[0-9a-f]{17})"), re.compile(r"subnet-([0-9a-f]{8}|[0-9a-f]{17})")


def entries(at: At, place: Place) -> Iterator[tuple[At, CapacityEntry]]:
    """Every capacity entry of a place with its path."""
    lists = (("ordered", place.capacity.ordered), ("fallback", place.capacity.fallback))
    return ((at / "capacity" / key / i, entry) for key, listed in lists for i, entry in enumerate(listed))


def mode_of(entry: CapacityEntry) -> str:
    """Capacity mode of an entry, which is its key where it is a block or reservation."""
    return "capacity_block" if isinstance(entry, UseBlock) else "reservation" if isinstance(entry, UseReservation) else entry


def modes(at: At, place: Place) -> Iterator[tuple[At, str]]:
    """Every capacity entry of a place with its path and mode."""
    return ((where, mode_of(entry)) for where, entry in entries(at, place))


def existing_entries(context: SpecContext) -> Iterator[tuple[At, Place, CapacityBlock | Reservation]]:
    """Every block and reservation of the places, with path and place."""
    for at, place in context.places:
        for where, entry in entries(at, place):
            if thing := existing_capacity(entry):
                yield where / mode_of(entry), place, thing


def blocks(context: SpecContext) -> Iterator[tuple[At, Place, CapacityBlock]]:
    """Every capacity block with its path and place; blocks of extra pools with the first place that supports them."""
    yield from ((at, place, thing) for at, place, thing in existing_entries(context) if isinstance(thing, CapacityBlock))
    home = place_of_pools(context)
    for at, pool in extra_pools(context):
        if home and isinstance(pool.capacity, UseBlock):
            yield at / "capacity" / "capacity_block", home, pool.capacity.capacity_block


def extra_pools(context: SpecContext) -> Iterator[tuple[At, ExtraPool]]:
    """Extra pools with their paths."""
    pools = context.spec.blueprint.pools
    yield from () if pools == "auto" else ((At() / "blueprint" / "pools" / i, pool) for i, pool in enumerate(pools))


def place_of_pools(context: SpecContext) -> Place | None:
    """The first place on a cloud that supports extra pools."""
    return next((place for _, place in context.places if supports(place.cloud, "blueprint.pools")), None)


@rule("S-40")
def owner_field_matches_cloud(context: SpecContext) -> Iterator[Violation]:
    """`account` is valid for aws only, `project` for gcp only, `inventory` for kubernetes only."""
    for at, place in context.places:
        for owner in profiles():
            key = owner.owner_field
            if getattr(place, key) is not None and key != profile(place.cloud).owner_field:
                message = f"`{key}` is valid for {owner.name} only; this place is on {place.cloud}"
                yield Violation(at / key, f"leave it out, or set cloud: {owner.name}", message, about_key=True)


@rule("S-41")
def owned_machines_have_inventory(context: SpecContext) -> Iterator[Violation]:
    """A kubernetes place requires an inventory, and has no regions, zones or capacity modes."""
    for at, place in context.places:
        if profile(place.cloud).is_owned:
            if place.inventory is None:
                fix = "add inventory: cluster.yaml; `rackwright inventory` writes one"
                yield Violation(at, fix, "This kubernetes place has no `inventory`")
            for key in ("regions", "zones", "capacity"):
                if key in place.model_fields_set:
                    message = f"A kubernetes place has no `{key}`: the inventory lists its machines"
                    yield Violation(at / key, "leave it out", message, about_key=True)


# A warning that stops an update: the stack could be built in another project.
@rule("S-42", Level.WARNING, stage=Stage.BUILD, on=GCP)
def project_is_set(context: SpecContext) -> Iterator[Violation]:
    """Without a project, updates use the default project of the Google Cloud credentials."""
    for at, place in context.places:
        if place.project is None:
            message = "No project is set: updates use the default project of the Google Cloud credentials"
            yield Violation(at, "add project: my-project", message)


@rule("S-43")
def mode_is_offered(context: SpecContext) -> Iterator[Violation]:
    """The cloud must offer the capacity mode."""
    for at, place in context.places:
        cloud = profile(place.cloud)
        for where, mode in modes(at, place):
            if not cloud.is_owned and not cloud.sells(mode):
                message = f"{place.cloud} does not offer the capacity mode {mode}"
                yield Violation(where, f"{place.cloud} offers {', '.join(cloud.capacity_modes)}", message)


@rule("S-44", link=BLOCKS)
def block_ends_after_start(context: SpecContext) -> Iterator[Violation]:
    """A capacity block must end after it starts."""
    for at, _, block in blocks(context):
        if block.end <= block.start:
            near = block.start + timedelta(days=1, minutes=-30)
            message = f"The block ends {block.end.isoformat()}, before its start {block.start.isoformat()}"
            yield Violation(at / "end", f"copy the end from your order; a block of one day ends {near.isoformat()}", message)


@rule("S-45")
def zones_are_in_regions(context: SpecContext) -> Iterator[Violation]:
    """Zones must be in the regions of their place."""
    for at, place in context.places:
        named = ((at / "zones" / i, zone) for i, zone in enumerate(place.zones))
        of_things = ((where / "zone", thing.zone) for where, other, thing in existing_entries(context) if other is place and thing.zone)
        subnets = enumerate(place.network.existing.subnets if place.network.existing else ())
        entries_at = at / "network" / "existing" / "subnets"
        of_subnets = ((entries_at / i / "zone", s.zone) for i, s in subnets if isinstance(s, ExistingSubnet) and s.zone)
        for where, zone in chain(named, of_things, of_subnets):
            link = profile(place.cloud).links.get("reservations" if "capacity" in where.steps else "regions", "")
            near = _zone_near(context, place, zone)
            if profile(place.cloud).is_zone_id(zone) and zone not in context.catalog.region_by_zone_id:
                yield Violation(where, f"use a zone such as {near}", f"The catalog has no zone ID {zone}", link=link)
            elif place.regions and not any(context.catalog.zone_is_in(zone, region) for region in place.regions):
                message = f"Zone {zone} is not in the regions of this place: {', '.join(place.regions)}"
                yield Violation(where, f"use a zone such as {near}", message, link=link)


def _zone_near(context: SpecContext, place: Place, zone: str) -> str:
    """A zone of the first region, in the form of `zone`; in EXAMPLE_REGION without regions."""
    cloud, region = profile(place.cloud), next(iter(place.regions), EXAMPLE_REGION)
    ids = [row.zone for row in context.catalog.zones_by_region.get(region, ())] if cloud.is_zone_id(zone) else []
    return ids[0] if ids else cloud.zone(region, zone[-1] if zone[-1:].isalpha() else "a")


@rule("R-91", link="https://docs.aws.amazon.com/global-infrastructure/latest/regions/az-ids.html", on=AWS)
def zones_have_one_form(context: SpecContext) -> Iterator[Violation]:
    """The zones of a place are all IDs (use1-az1) or all names (us-east-1a), because a zone name stands for another ID in each account."""
    for at, place in context.places:
        there = place.network.existing
        subnets = [s.zone for s in (there.subnets if there else ()) if isinstance(s, ExistingSubnet) and s.zone]
        things = [thing.zone for _, other, thing in existing_entries(context) if other is place and thing.zone]
        pools = [thing.zone for _, pool in extra_pools(context) if (thing := existing_capacity(pool.capacity)) and thing.zone]
        zones = [*place.zones, *things, *subnets, *(pools if place is place_of_pools(context) else [])]
        ids = [zone for zone in zones if profile(place.cloud).is_zone_id(zone)]
        names = [zone for zone in zones if zone not in ids]
        if ids and names:
            message = f"Zone {names[0]} is a name and zone {ids[0]} is an ID; they can be the same zone"
            region = context.catalog.region_of_zone(ids[0])
            listed = f"`aws ec2 describe-availability-zones --region {region} --query 'AvailabilityZones[].[ZoneName,ZoneId]'`"
            yield Violation(at / "zones" if place.zones else at, f"use only IDs or only names; list both with {listed}", message)


@rule("S-46", link=BLOCKS)
def capacity_is_in_zones(context: SpecContext) -> Iterator[Violation]:
    """A capacity block or reservation must be in one of the zones of its place."""
    for at, place, thing in existing_entries(context):
        if place.zones and thing.zone and thing.zone not in place.zones and _one_form(place, thing.zone, *place.zones):
            message = f"The capacity is in zone {thing.zone}; this place allows {', '.join(place.zones)}"
            yield Violation(at / "zone", f"add {quote(thing.zone)} to `zones`, or leave `zones` out", message)


def _one_form(place: Place, *zones: str) -> bool:
    """Whether zones are all IDs or all names; R-91 reports others."""
    return len({profile(place.cloud).is_zone_id(zone) for zone in zones}) == 1


@rule("S-47", link=BLOCKS)
def pin_matches_capacity(context: SpecContext) -> Iterator[Violation]:
    """A pin must match the instance type and the count of the capacity block or reservation."""
    for at, place in context.places:
        bought = [(where, thing) for where, other, thing in existing_entries(context) if other is place and place.pin]
        for where, thing in bought:
            if place.pin and thing.instance and thing.instance != place.pin.instance:
                message = f"The pin is {place.pin.instance}, but this capacity holds {thing.instance}"
                yield Violation(where / "instance", f"pin {thing.instance}, or remove this capacity entry", message)
        counts = [thing.count for _, thing in bought if place.pin and thing.instance in (None, place.pin.instance)]
        every = len(counts) == len(place.capacity.ordered + place.capacity.fallback)
        held = max((count or 0 for count in counts), default=0)
        if place.pin and place.pin.nodes and counts and every and None not in counts and place.pin.nodes > held:
            message = f"The pin requires {place.pin.nodes} machines; the capacity entries hold {held}"
            yield Violation(at / "pin" / "nodes", f"set {held}", message)


@rule("S-91", link="https://docs.aws.amazon.com/vpc/latest/userguide/resource-ids.html", on=AWS)
def network_id_format(context: SpecContext) -> Iterator[Violation]:
    """An existing AWS network is given by its VPC ID, and each subnet once by its subnet ID (8 or 17 hexadecimal digits)."""
    for at, place in context.places:
        there, known = place.network.existing, set[str]()
        if there is None:
            continue
        where = at / "network" / "existing"
        if isinstance(there.vpc, str) and not VPC_ID.fullmatch(there.vpc):
            yield Violation(where / "vpc", "such as vpc-0123456789abcdef0; `aws ec2 describe-vpcs` lists them", _no_id(there.vpc, "VPC"))
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
                yield Violation(place_of, "remove one", f"{quote(given)} is listed twice")
            known.add(given)


def _no_id(text: str, what: str) -> str:
    return f"{quote(text)} is not a {what} ID"


@rule("S-48")
def entries_are_unique(context: SpecContext) -> Iterator[Violation]:
    """A region, zone or capacity mode must be listed once."""
    for at, place in context.places:
        listed = {"regions": place.regions, "zones": place.zones}
        named = [(at / key / i, value) for key, values in listed.items() for i, value in enumerate(values)]
        seen: set[object] = set()
        for where, value in [*named, *((where, mode) for where, mode in modes(at, place) if mode in ("on-demand", "spot", "flex-start"))]:
            if value in seen:
                yield Violation(where, "remove one", f"{quote(value)} is listed twice")
            seen.add(value)


@rule("S-49")
def limits_allow_a_region(context: SpecContext) -> Iterator[Violation]:
    """limits.regions must allow at least one region of every place that lists regions."""
    patterns = context.spec.limits.regions
    for at, place in context.places:
        if patterns and place.regions and not any(matches(region, patterns) for region in place.regions):
            message = f"None of {', '.join(place.regions)} matches limits.regions"
            yield Violation(at / "regions", f"add a region that matches {' or '.join(patterns)}", message)


@rule("S-90", link="https://docs.aws.amazon.com/servicequotas/latest/userguide/gs-request-quota.html")
def quota_file_is_valid(context: SpecContext) -> Iterator[Violation]:
    """A quota file must exist, and list what the account grants per region and quota code."""
    for at, place in context.places:
        if isinstance(place.quotas, str):
            try:
                read_quotas(context.folder / place.quotas)
            except QuotaFileError as error:
                yield Violation(at / "quotas", FORM, error.problems[0].reason)


@rule("S-127", link="https://docs.aws.amazon.com/servicequotas/latest/userguide/intro.html")
def quotas_are_of_the_regions(context: SpecContext) -> Iterator[Violation]:
    """`quotas` must list a region that its place allows: quotas of another region do not apply."""
    for at, place in context.places:
        listed, known = _quota_regions(context, place), context.regions.get(place.cloud, [])
        unknown = [region for region in listed if region not in known] if isinstance(place.quotas, dict) and known else []
        for region in unknown:
            message = f"{place.cloud} has no region {quote(region)} in the catalog"
            yield Violation(at / "quotas" / region, did_you_mean(region, known) or "remove it", message, about_key=True)
        if listed and not unknown and place.regions and not any(matches(region, place.regions) for region in listed):
            message = f"The quotas are of {', '.join(listed)}; this place allows {', '.join(place.regions)}"
            fix = f"list the quotas of {place.regions[0]}; `rackwright lookup SPEC --write-quotas FILE` writes them"
            yield Violation(at / "quotas", fix, message)


def _quota_regions(context: SpecContext, place: Place) -> tuple[str, ...]:
    """Regions whose quotas a place lists; () without quotas, or with a file that S-90 reports."""
    if isinstance(place.quotas, str):
        try:
            return tuple(read_quotas(context.folder / place.quotas))
        except QuotaFileError:
            return ()
    return tuple(place.quotas or ())
