"""S-80..S-89: capacity blocks, reservations, fallbacks and extra pools."""

import re
from collections.abc import Iterator
from datetime import timedelta

from rackwright.catalog.rows import CapacityMode
from rackwright.clouds import CloudProfile, profile, supports
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.spec.infra import CapacityBlock, Place, Reservation, existing_capacity
from rackwright.spec.reading.model_fields import did_you_mean
from rackwright.validation.spec.places import BLOCKS, blocks, entries, existing_entries, extra_pools, mode_of, place_of_pools
from rackwright.validation.spec.registry import SpecContext, rule

RESERVATIONS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html"
GROUPS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-cr-group.html"
GROUP_ARN = re.compile(r"arn:aws[a-z-]*:resource-groups:(?P<region>[a-z0-9-]+):(?P<account>[0-9]{12}):group/\S+")
DAY = timedelta(days=1)
LENGTHS_DAYS = (*range(1, 15), *range(21, 183, 7))
"""Lengths of a block that are sold (catalog/data/capacity_rules.csv, 2026-02-08)."""
LENGTHS = "a block lasts 1 to 14 days, or whole weeks up to 182 days"
POOL_NAMES = ("system", "gpu", "neuron", "default", "accelerator", "accelerators", "preflight")
"""Names of pools, queues and flavors of every stack; pools of a fallback add a suffix: gpu-spot."""


@rule("S-80")
def reservation_has_id_or_group(context: SpecContext) -> Iterator[Violation]:
    """A reservation must have exactly one of `id` and `group`."""
    for at, place, reservation in _reservations(context):
        cloud = profile(place.cloud)
        if bool(reservation.id) == bool(reservation.group):
            message = "`id` and `group` are both set" if reservation.id else "The reservation has neither `id` nor `group`"
            yield Violation(
                at,
                "remove group" if reservation.id else f"add id: {cloud.reservation_form}",
                message,
                link=cloud.links.get("reservations", ""),
            )


@rule("S-81")
def reservation_id_format(context: SpecContext) -> Iterator[Violation]:
    """A reservation ID is cr- and 17 hexadecimal digits on AWS, and a name with its block or project on Google Cloud; a group is an AWS
    resource group in the region and account of the place."""
    for at, place, reservation in _reservations(context):
        cloud = profile(place.cloud)
        if reservation.group and not cloud.has_reservation_groups:
            yield Violation(at / "group", "use the `id` of one reservation", f"{place.cloud} has no groups of reservations")
        if reservation.id and not re.fullmatch(cloud.reservation_id, reservation.id):
            message = f"{quote(reservation.id)} is not the ID of a reservation on {place.cloud}"
            yield Violation(at / "id", f"such as {_near_id(reservation.id, cloud)}", message, link=cloud.links.get("reservations", ""))
        if reservation.group and cloud.has_reservation_groups and (fix := _wrong_group(reservation.group, place)):
            message = f"{reservation.group} is not a resource group in the region and account of this place"
            yield Violation(at / "group", fix, message, link=GROUPS)


@rule("S-82")
def reservation_is_described(context: SpecContext) -> Iterator[Violation]:
    """A reservation requires its instance type and zone, because only matching machines use it."""
    for at, place, reservation in _reservations(context):
        cloud = profile(place.cloud)
        shows = cloud.reservation_lookup.format(reservation.id or "NAME")
        in_group = cloud.has_reservation_groups and not reservation.id
        lists = "`aws resource-groups list-group-resources` lists what is in it" if in_group else shows
        if reservation.instance is None and place.pin is None and at.steps[0] == "infra":
            yield Violation(at, f"add instance: {lists}", "The reservation has no `instance`", link=cloud.links.get("reservations", ""))
        if reservation.zone is None and len(place.zones) != 1:
            yield Violation(at, f"add zone: {lists}", "The reservation has no `zone`", link=cloud.links.get("reservations", ""))


@rule("S-83", Level.WARNING, link=BLOCKS)
def block_length_exists(context: SpecContext) -> Iterator[Violation]:
    """A Capacity Block lasts 1 to 14 days, or whole weeks up to 182 days, minus 30 minutes."""
    for at, _, block in blocks(context):
        days = -((block.start - block.end) // DAY)
        near = min(LENGTHS_DAYS, key=lambda sold: abs(sold - days))
        if block.end > block.start and near != days:
            until = (block.start + near * DAY - timedelta(minutes=30)).isoformat()
            fix = f"copy the end from your order; the nearest valid length is {near} days, until {until}"
            yield Violation(at / "end", fix, f"{quote(block.id)} lasts {days} days; {LENGTHS}")


@rule("S-84", link=BLOCKS)
def block_size_exists(context: SpecContext) -> Iterator[Violation]:
    """A Capacity Block has at most 64 instances."""
    for at, place, block in blocks(context):
        limit = context.catalog.capacity_rule(place.cloud, CapacityMode.CAPACITY_BLOCK, "most_nodes")
        if limit and block.count > limit:
            message = f"The block has {block.count} instances; the maximum is {limit:.0f}"
            yield Violation(at / "count", f"set {limit:.0f} or less, and add a second block", message)


@rule("S-85")
def fallback_entries_are_alike(context: SpecContext) -> Iterator[Violation]:
    """The entries of a fallback must have the same instance type and zone, because their pools run the same work."""
    for at, place in context.places:
        named = [
            (at / "capacity" / "fallback" / i / mode_of(entry), existing_capacity(entry)) for i, entry in enumerate(place.capacity.fallback)
        ]
        for key in ("instance", "zone"):
            listed = [(where / key, value) for where, thing in named if thing and (value := getattr(thing, key))]
            yield from (
                Violation(where, f"use {listed[0][1]}, or `ordered`", f"This entry is for {value}, the first one for {listed[0][1]}")
                for where, value in listed
                if value != listed[0][1]
            )


@rule("S-86")
def pool_names_are_unique(context: SpecContext) -> Iterator[Violation]:
    """Pools have different names, and none is reserved: system, gpu, neuron, default, accelerator, accelerators, preflight."""
    taken: set[str] = set()
    for at, pool in extra_pools(context):
        own = pool.name in POOL_NAMES or pool.name.startswith(("gpu-", "neuron-"))
        if own or pool.name in taken:
            free = f"extra-{pool.name}" if own else f"{pool.name}-2"
            yield Violation(at / "name", f"such as {free}", f"Pool name {quote(pool.name)} is {'reserved' if own else 'used twice'}")
        taken.add(pool.name)


@rule("S-87")
def pool_machine_is_offered(context: SpecContext) -> Iterator[Violation]:
    """The machine of an extra pool must be an instance type with a node image, offered in a region of its place."""
    clouds = {place.cloud for _, place in context.places if supports(place.cloud, "blueprint.pools")}
    for at, pool in extra_pools(context) if clouds else ():
        machine = context.catalog.machine_by_name.get(pool.instance)
        if machine is None or machine.cloud not in clouds or not machine.orderable or machine.kind in ("other", "tpu"):
            able = (m for m in context.catalog.machines if m.cloud in clouds and m.kind != "tpu")
            names = [m.name for m in able if m.orderable and m.kind != "other"]
            message = f"{quote(pool.instance)} is not an instance type for extra pools"
            fix = did_you_mean(pool.instance, names) or f"use a machine of {' or '.join(sorted(clouds))}, such as {names[0]}"
            yield Violation(at / "instance", fix, message)
            continue
        sold = [row.region for row in context.catalog.places_by_sku.get(machine.name, ()) if row.cloud == machine.cloud]
        for _, place in context.places:
            if place.cloud == machine.cloud and sold and place.regions and not set(sold) & set(place.regions):
                message = f"{quote(machine.name)} is not offered in {', '.join(place.regions)}"
                yield Violation(at / "instance", f"use one of {', '.join(sorted(sold)[:6])}", message)


@rule("S-88")
def pool_node_counts_are_valid(context: SpecContext) -> Iterator[Violation]:
    """at_least must not exceed nodes, and nodes must not exceed the machines of the pool's block or reservation."""
    for at, pool in extra_pools(context):
        if pool.at_least > pool.nodes:
            yield Violation(at / "at_least", f"set {pool.nodes} or less", f"at_least ({pool.at_least}) exceeds nodes ({pool.nodes})")
        thing = existing_capacity(pool.capacity)
        if thing and thing.count and pool.nodes > thing.count:
            message = f"nodes ({pool.nodes}) exceeds the {thing.count} machines of the block or reservation"
            yield Violation(at / "nodes", f"set {thing.count} or less", message)
        if isinstance(thing, CapacityBlock) and pool.at_least:
            yield Violation(at / "at_least", "set 0", "A Capacity Block has no machines outside its hours", link=BLOCKS)


@rule("S-89")
def pool_capacity_is_offered(context: SpecContext) -> Iterator[Violation]:
    """The capacity of an extra pool must be offered by the cloud, for its machine, in the zone of the other pools."""
    home = place_of_pools(context)
    cloud = profile(home.cloud) if home else None
    for at, pool in extra_pools(context):
        thing, where, mode = existing_capacity(pool.capacity), at / "capacity", mode_of(pool.capacity)
        if cloud and not cloud.sells(mode):
            yield Violation(where, f"{cloud.name} offers {', '.join(cloud.capacity_modes)}", f"{cloud.name} does not offer {mode}")
        if thing is None:
            continue
        where = where / mode
        if thing.instance and thing.instance != pool.instance:
            message = f"The capacity is for {thing.instance}, the pool uses {pool.instance}"
            yield Violation(where / "instance", f"use {pool.instance}", message, link=_link(thing))
        for _, place in context.places:
            named = {other.zone for _, its, other in existing_entries(context) if its is place and other.zone} or set(place.zones)
            if thing.zone and named and thing.zone not in named:
                message = f"The capacity is in {thing.zone}; the other pools are in {', '.join(sorted(named))}, and all pools share a zone"
                yield Violation(where / "zone", f"use capacity in {' or '.join(sorted(named))}", message, link=_link(thing))


def _reservations(context: SpecContext) -> Iterator[tuple[At, Place, Reservation]]:
    """Every reservation with its path and place; reservations of extra pools with the first place that supports them."""
    for at, place in context.places:
        for where, entry in entries(at, place):
            if isinstance(thing := existing_capacity(entry), Reservation):
                yield where / "reservation", place, thing
    home = place_of_pools(context)
    for at, pool in extra_pools(context):
        if home and isinstance(thing := existing_capacity(pool.capacity), Reservation):
            yield at / "capacity" / "reservation", home, thing


def _near_id(text: str, cloud: CloudProfile) -> str:
    """On AWS the ID with the digits of `text`; elsewhere the forms of an ID."""
    if not cloud.has_reservation_groups:
        return cloud.reservation_form
    digits = "".join(re.findall(r"[0-9a-f]", text.lower().removeprefix("cr-")))
    return f"cr-{(digits + '0' * 17)[:17]}; `aws ec2 describe-capacity-reservations` lists them"


def _wrong_group(arn: str, place: Place) -> str:
    match = GROUP_ARN.fullmatch(arn)
    region, account = place.regions[0] if place.regions else "us-east-1", place.account or "123456789012"
    near = f"such as arn:aws:resource-groups:{region}:{account}:group/my-reservations"
    if match is None:
        return near
    wrong = (place.regions and match["region"] not in place.regions) or (place.account and match["account"] != place.account)
    return near if wrong else ""


def _link(thing: CapacityBlock | Reservation) -> str:
    return BLOCKS if isinstance(thing, CapacityBlock) else RESERVATIONS
