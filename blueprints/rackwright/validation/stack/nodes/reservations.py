"""Capacity blocks and reservations: type, zone, number and time of the machines they hold."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from rackwright.catalog.read import Catalog
from rackwright.clouds import AWS
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import CapacityPlan, PoolPlan, StackPlan
from rackwright.stackplan.capacity import RESERVATION_ID, drain_before_end
from rackwright.validation.stack.nodes.capacity import capacity_plans
from rackwright.validation.stack.registry import StackContext, accelerators, catalog_rule, context_rule, manifests, pools, rule

BLOCKS = "https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html"
BLOCK_TIMES = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html"
RESERVATIONS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html"
MARGIN = timedelta(minutes=10)
"""Between the drain and the reclaim."""
PURCHASES = ("CapacityReservation", "CapacityReservationFleet", "CapacityBlockReservation", "FutureReservation", "Reservation")
"""Kinds with which controllers (ACK, Crossplane, Config Connector) purchase capacity."""


@catalog_rule("V-33", Level.ERROR, BLOCKS)
def capacity_block_matches(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """A capacity block has an ID; the machines that use it have its instance type and are in its zone."""
    for at, capacity in capacity_plans(plan):
        if capacity.mode == "capacity-block" and not capacity.reservation_id:
            message = "Capacity mode capacity-block has no ID; rackwright never purchases capacity blocks"
            yield Violation(at / "reservation_id", "set the cr- ID of a block you bought", message)
    for at, pool in accelerators(plan):
        if pool.capacity.mode == "capacity-block" and len(pool.zones) != 1:
            zone = f", {pool.capacity.zone}" if pool.capacity.zone else ""
            message = f"Pool {pool.name} uses a capacity block, but has {len(pool.zones)} zones; a block is in one zone"
            yield Violation(at / "zones", f"set the block's zone{zone}", message)
    yield from _mismatches(plan, "capacity-block")
    known = catalog.machine_by_name
    for at, machine, _, capacity in _machines(plan):
        if capacity.mode == "capacity-block" and machine in known and not known[machine].capacity_block:
            yield Violation(at / "machine", "use on-demand or spot", f"AWS does not sell capacity blocks of {machine}")


@catalog_rule("V-34", Level.WARNING, BLOCKS)
def capacity_block_drains_in_time(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Nodes of a capacity block are drained before EC2 reclaims them 30 minutes before its end (UltraServers 60). The pool's
    minimum is 0."""
    for at, pool in accelerators(plan):
        capacity = pool.capacity
        if capacity.mode != "capacity-block":
            continue
        if pool.nodes_min:
            message = f"Pool {pool.name} keeps {pool.nodes_min} nodes at minimum, but EC2 reclaims the machines of its capacity block"
            yield Violation(at / "nodes_min", "set it to 0", message)
        latest = _time(capacity.ends_at) - drain_before_end(catalog, pool.machine) + MARGIN if capacity.ends_at else None
        if latest and capacity.drains_at and _time(capacity.drains_at) > latest:
            message = f"The drain starts at {capacity.drains_at}, but EC2 reclaims the machines from {_utc(latest)}"
            yield Violation(at / "capacity" / "drains_at", f"set it to {_utc(latest - MARGIN)}", message)


@catalog_rule("R-10", Level.ERROR, BLOCKS)
def capacity_block_has_not_ended(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Machines start in a capacity block before its last 40 minutes (70 of an UltraServer), in which nodes are drained."""
    for at, capacity in capacity_plans(plan):
        if capacity.mode == "capacity-block" and capacity.ends_at and not capacity.drains_at:
            fix = "set a later block or another capacity mode; to delete the stack, set rackwright:teardown"
            minutes, end = drain_before_end(catalog, capacity.machine).seconds // 60, _utc(_time(capacity.ends_at))
            message = (
                f"Capacity block {capacity.reservation_id} cannot start machines: it ends at {end} and drains {minutes} minutes earlier"
            )
            yield Violation(at / "ends_at", fix, message)


# EC2 rejects the launch of a box before its block; the nodes of a cluster are scheduled for it.
@context_rule("C-block", Level.ERROR, BLOCK_TIMES, Stage.BUILD, on=AWS)
def block_of_a_box_has_started(context: StackContext) -> Iterator[Violation]:
    """The capacity block of a box has started, because a box starts immediately"""
    capacity = context.plan.box.capacity if context.plan.box else None
    if capacity and capacity.drains_at and context.now and _time(capacity.starts_at) > context.now:
        reason = f"A box starts immediately, but capacity block {capacity.reservation_id} starts at {capacity.starts_at}"
        fix = "build it then, or set kind to training-cluster, whose pool starts with the block"
        yield Violation(At() / "blueprint" / "kind", fix, reason)


@rule("R-11", Level.ERROR, RESERVATIONS)
def reservation_matches(plan: StackPlan) -> Iterator[Violation]:
    """Machines that use a reservation have its instance type and zone, and do not exceed its number of machines."""
    yield from _mismatches(plan, "reservation")
    for at, pool in pools(plan):
        held = pool.capacity.count
        if held and pool.nodes_max > held:
            message = f"Pool {pool.name} has up to {pool.nodes_max} nodes, but its reservation holds {held}"
            yield Violation(at / "nodes_max", f"set it to {held}, or use a larger reservation", message)
    for together in _pools_by_reservation(plan).values():
        nodes, held = sum(pool.nodes_max for _, pool in together), together[0][1].capacity.count
        if held and nodes > held and len(together) > 1 and all(pool.nodes_max <= held for _, pool in together):
            names = ", ".join(pool.name for _, pool in together)
            message = f"Pools {names} have up to {nodes} nodes together, but their reservation holds {held}"
            yield Violation(together[-1][0] / "nodes_max", "use fewer machines, or a larger reservation", message)


def _pools_by_reservation(plan: StackPlan) -> dict[str, list[tuple[At, PoolPlan]]]:
    """Pools of each reservation, such as the slices of one stack."""
    found: dict[str, list[tuple[At, PoolPlan]]] = {}
    for at, pool in pools(plan):
        if pool.capacity.reservation_id:
            found.setdefault(pool.capacity.reservation_id, []).append((at, pool))
    return found


@rule("R-12", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-cr-group.html", on=AWS)
def reservation_id_format(plan: StackPlan) -> Iterator[Violation]:
    """On AWS, reservations and blocks have cr- IDs, and a reservation group is a resource group ARN in the stack's region."""
    for at, capacity in capacity_plans(plan):
        if capacity.reservation_id and not RESERVATION_ID.fullmatch(capacity.reservation_id):
            message = f"{capacity.reservation_id} is not a reservation ID"
            yield Violation(at / "reservation_id", "use an ID such as cr-0123456789abcdef0", message)
        if capacity.group_arn and f":resource-groups:{plan.place.region}:" not in capacity.group_arn:
            account = plan.place.account or "123456789012"
            form = f"use an ARN such as arn:aws:resource-groups:{plan.place.region}:{account}:group/my-reservations"
            yield Violation(at / "group_arn", form, f"{capacity.group_arn} is not the ARN of a resource group in {plan.place.region}")


@rule("V-110", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-purchase.html", invariant=True)
def stack_purchases_no_capacity(plan: StackPlan) -> Iterator[Violation]:
    """rackwright never purchases capacity blocks or reservations, because they cannot be returned; a stack references purchased ones by
    ID."""
    for at, manifest in manifests(plan, *PURCHASES):
        fix = "purchase it yourself and set its ID in infra capacity: {reservation: {id: ...}} or {capacity_block: ...}"
        yield Violation(at / "kind", fix, f"An object of kind {manifest.body['kind']} would purchase capacity")


def _machines(plan: StackPlan) -> Iterator[tuple[At, str, tuple[str, ...], CapacityPlan]]:
    """Path, instance type, zones and capacity of the box and every pool."""
    if plan.box:
        yield At() / "box", plan.box.machine, (plan.box.zone,), plan.box.capacity
    yield from ((at, pool.machine, pool.zones, pool.capacity) for at, pool in pools(plan))


def _mismatches(plan: StackPlan, mode: str) -> Iterator[Violation]:
    """Machines of another type or zone than their reservation, where the spec describes it."""
    for at, machine, zones, capacity in _machines(plan):
        if capacity.mode != mode:
            continue
        name = capacity.reservation_id or capacity.group_arn
        if capacity.machine and machine != capacity.machine:
            message = f"Reservation {name} holds {capacity.machine}, but the machine is {machine}"
            yield Violation(at / "machine", f"use {capacity.machine}, or a reservation of {machine}", message)
        if capacity.zone and set(zones) != {capacity.zone}:
            key = "zone" if at == At() / "box" else "zones"
            message = f"Reservation {name} is in {capacity.zone}, but the machines are in {', '.join(zones)}"
            yield Violation(at / key, f"use {capacity.zone}", message)


def _utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
