"""S-80..S-89: capacity that exists already, fallbacks, and pools beside the sized one."""

import re
from collections.abc import Iterator
from datetime import timedelta

from rackwright.clouds import AWS, supports
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.spec.blueprint import ExtraPool
from rackwright.spec.infra import CapacityBlock, Place, Reservation, existing_capacity
from rackwright.spec.reading.model_fields import did_you_mean
from rackwright.validation.spec.places import BLOCKS, blocks, entries, mode_of, things
from rackwright.validation.spec.registry import SpecContext, rule

RESERVATIONS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html"
GROUPS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-cr-group.html"
DESCRIBE = "`aws ec2 describe-capacity-reservations --capacity-reservation-ids {}` tells"
RESERVATION_ID = re.compile(r"cr-[0-9a-f]{17}")
GROUP_ARN = re.compile(r"arn:aws[a-z-]*:resource-groups:(?P<region>[a-z0-9-]+):(?P<account>[0-9]{12}):group/\S+")
DAY = timedelta(days=1)
SHORT_DAYS, WEEK_DAYS, LONGEST_DAYS = 14, 7, 182
"""A block lasts 1 to 14 days, or whole weeks up to 182 days (catalog/data/capacity_rules.csv, 2026-02-08)."""
LENGTHS = "a block lasts 1 to 14 days, or whole weeks up to 182 days"
POOL_NAMES = ("system", "gpu", "neuron", "default", "accelerator", "accelerators")
"""Names of the stack's own pools, queues and flavors; pools of a fallback go on with a dash: gpu-spot."""


@rule("S-80")
def reservation_is_named_once(context: SpecContext) -> Iterator[Violation]:
    """A reservation is named by its id or by the group it is in, by one of the two."""
    for at, _, said in _reservations(context):
        if bool(said.id) == bool(said.group):
            yield Violation(at, "keep id, and leave group out" if said.id else "such as id: cr-0123456789abcdef0", link=RESERVATIONS)


@rule("S-81", link=RESERVATIONS)
def reservation_is_one_of_aws(context: SpecContext) -> Iterator[Violation]:
    """On AWS a reservation's id is cr- and 17 hexadecimal digits, and its group a resource group of the place's region and account."""
    for at, place, said in _reservations(context):
        if place.cloud != AWS.name:
            if said.group:
                yield Violation(at / "group", "name one reservation by its id", f"{place.cloud} has no groups of reservations")
            continue
        if said.id and not RESERVATION_ID.fullmatch(said.id):
            yield Violation(at / "id", f"such as {_near_id(said.id)}; `aws ec2 describe-capacity-reservations` lists them")
        if said.group and (fix := _wrong_group(said.group, place)):
            yield Violation(at / "group", fix, link=GROUPS)


@rule("S-82", link=RESERVATIONS, on=AWS)
def reservation_says_what_it_holds(context: SpecContext) -> Iterator[Violation]:
    """A reservation of AWS holds machines of one type in one zone, and both must be said: nothing else is launched into it."""
    for at, place, said in _reservations(context):
        lists = DESCRIBE.format(said.id) if said.id else "`aws resource-groups list-group-resources` lists what is in it"
        if said.instance is None and place.pin is None and at.steps[0] == "infra":
            yield Violation(at, f"add instance: {lists}", "the reservation does not say its instance type")
        if said.zone is None and len(place.zones) != 1:
            yield Violation(at, f"add zone: {lists}", "the reservation does not say its zone")


@rule("S-83", Level.WARNING, link=BLOCKS)
def block_has_hours_that_are_sold(context: SpecContext) -> Iterator[Violation]:
    """Capacity blocks last 1 to 14 days, or whole weeks up to 182 days, and end half an hour earlier."""
    for at, _, block in blocks(context):
        days = -((block.start - block.end) // DAY)
        near = _nearest_days(days)
        if block.end > block.start and near != days:
            until = (block.start + near * DAY - timedelta(minutes=30)).isoformat()
            yield Violation(
                at / "end",
                f"the nearest is {near} days, until {until}; your order tells",
                f"{quote(block.id)} would have {days} days; {LENGTHS}",
            )


@rule("S-84", link=BLOCKS)
def block_has_a_size_that_is_sold(context: SpecContext) -> Iterator[Violation]:
    """A capacity block holds 64 instances at most."""
    rules = (r for r in context.catalog.capacity_rules if (r.cloud, r.capacity, r.rule) == (AWS.name, "capacity-block", "most_nodes"))
    most = next((int(rule.value) for rule in rules if rule.value), None)
    for at, _, block in blocks(context):
        if most and block.count > most:
            yield Violation(at / "count", f"{most}, and a block of its own for the others")


@rule("S-85")
def fallback_is_of_one_kind(context: SpecContext) -> Iterator[Violation]:
    """Pools of a fallback run the same work, so what its entries name must be of one instance type and in one zone."""
    for at, place in context.places:
        named = [
            (at / "capacity" / "fallback" / i / mode_of(entry), existing_capacity(entry)) for i, entry in enumerate(place.capacity.fallback)
        ]
        for key in ("instance", "zone"):
            said = [(where / key, value) for where, thing in named if thing and (value := getattr(thing, key))]
            yield from (Violation(where, f"{said[0][1]}, or use `ordered`") for where, value in said if value != said[0][1])


@rule("S-86")
def pools_have_names_of_their_own(context: SpecContext) -> Iterator[Violation]:
    """Pools of a cluster have different names, and system, gpu, neuron, default and accelerators are the stack's own."""
    taken: set[str] = set()
    for at, pool in extra_pools(context):
        own = pool.name in POOL_NAMES or pool.name.startswith(("gpu-", "neuron-"))
        if own or pool.name in taken:
            free = f"extra-{pool.name}" if own else f"{pool.name}-2"
            yield Violation(at / "name", f"such as {free}", f"{quote(pool.name)} is {'a name of the stack itself' if own else 'taken'}")
        taken.add(pool.name)


@rule("S-87")
def pools_are_of_machines_that_are_sold(context: SpecContext) -> Iterator[Violation]:
    """A pool's machine must be one AWS sells in a region of the place, and that has a node image."""
    for at, pool in extra_pools(context):
        machine = context.catalog.machine_by_name.get(pool.instance)
        if machine is None or not supports(machine.cloud, "blueprint.pools") or not machine.orderable or machine.kind == "other":
            names = [m.name for m in context.catalog.machines if m.cloud == AWS.name and m.orderable and m.kind != "other"]
            yield Violation(at / "instance", did_you_mean(pool.instance, names), f"{quote(pool.instance)} is no instance type for a pool")
            continue
        sold = [row.region for row in context.catalog.places_by_sku.get(machine.name, ()) if row.cloud == machine.cloud]
        for _, place in context.places:
            if place.cloud == machine.cloud and sold and place.regions and not set(sold) & set(place.regions):
                words = f"{quote(machine.name)} is sold in none of {', '.join(place.regions)}"
                yield Violation(at / "instance", f"sold in {', '.join(sorted(sold)[:6])}", words)


@rule("S-88")
def pools_hold_what_they_say(context: SpecContext) -> Iterator[Violation]:
    """A pool has as many machines as its bounds and its reservation allow."""
    for at, pool in extra_pools(context):
        if pool.at_least > pool.nodes:
            yield Violation(at / "at_least", f"{pool.nodes}, which is the most", f"{pool.at_least} are more than `nodes`")
        thing = existing_capacity(pool.capacity)
        if thing and thing.count and pool.nodes > thing.count:
            yield Violation(at / "nodes", f"{thing.count}", f"what it is bought from holds {thing.count}")
        if isinstance(thing, CapacityBlock) and pool.at_least:
            yield Violation(at / "at_least", "0", "outside its hours a capacity block has no machines", link=BLOCKS)


@rule("S-89")
def pools_are_bought_as_they_are_sold(context: SpecContext) -> Iterator[Violation]:
    """A pool's capacity must be sold by AWS, for its machine, in the zone of the accelerators."""
    for at, pool in extra_pools(context):
        thing, where, mode = existing_capacity(pool.capacity), at / "capacity", mode_of(pool.capacity)
        if not AWS.sells(mode):
            yield Violation(where, f"{AWS.name} sells {', '.join(AWS.capacity_modes)}", f"{AWS.name} does not sell {mode}")
        if thing is None:
            continue
        where = where / mode
        if thing.instance and thing.instance != pool.instance:
            yield Violation(where / "instance", pool.instance, f"the pool is of {pool.instance}", link=_link(thing))
        for _, place in context.places:
            named = {other.zone for _, its, other in things(context) if its is place and other.zone} or set(place.zones)
            if thing.zone and named and thing.zone not in named:
                words = f"the pools of a cluster share a zone, and the others are in {', '.join(sorted(named))}"
                yield Violation(where / "zone", f"use what lies in {' or '.join(sorted(named))}", words, link=_link(thing))


def extra_pools(context: SpecContext) -> Iterator[tuple[At, ExtraPool]]:
    """Pools of one's own, with their places."""
    pools = context.spec.blueprint.pools
    yield from () if pools == "auto" else ((At() / "blueprint" / "pools" / i, pool) for i, pool in enumerate(pools))


def _reservations(context: SpecContext) -> Iterator[tuple[At, Place, Reservation]]:
    """Every reservation of the spec; those of extra pools with the first place that builds them."""
    for at, place in context.places:
        for where, entry in entries(at, place):
            if isinstance(thing := existing_capacity(entry), Reservation):
                yield where / "reservation", place, thing
    home = next((place for _, place in context.places if supports(place.cloud, "blueprint.pools")), None)
    for at, pool in extra_pools(context):
        if home and isinstance(thing := existing_capacity(pool.capacity), Reservation):
            yield at / "capacity" / "reservation", home, thing


def _near_id(text: str) -> str:
    digits = "".join(re.findall(r"[0-9a-f]", text.lower().removeprefix("cr-")))[:17]
    return "cr-" + (digits + "0" * 17)[:17]


def _wrong_group(arn: str, place: Place) -> str:
    match = GROUP_ARN.fullmatch(arn)
    region, account = place.regions[0] if place.regions else "us-east-1", place.account or "123456789012"
    near = f"such as arn:aws:resource-groups:{region}:{account}:group/my-reservations"
    if match is None:
        return near
    wrong = (place.regions and match["region"] not in place.regions) or (place.account and match["account"] != place.account)
    return near if wrong else ""


def _nearest_days(days: int) -> int:
    weeks = range(SHORT_DAYS, LONGEST_DAYS + 1, WEEK_DAYS)
    return min((*range(1, SHORT_DAYS + 1), *weeks), key=lambda sold: abs(sold - days))


def _link(thing: CapacityBlock | Reservation) -> str:
    return BLOCKS if isinstance(thing, CapacityBlock) else RESERVATIONS
