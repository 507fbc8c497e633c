"""Machines that were bought before: what a block or a reservation holds, and when."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from rackwright.catalog.read import Catalog
from rackwright.clouds import AWS
from rackwright.compile.nodes.capacity import drain_before_end
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import CapacityPlan, StackPlan
from rackwright.validation.spec.capacity import RESERVATION_ID
from rackwright.validation.stack.capacity import wants
from rackwright.validation.stack.registry import accelerators, manifests, pools, rule

BLOCKS = "https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html"
RESERVATIONS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html"
MARGIN = timedelta(minutes=10)
"""Between the drain and the reclaim."""
BUYS = ("CapacityReservation", "CapacityReservationFleet", "CapacityBlockReservation", "FutureReservation", "Reservation")
"""Kinds with which controllers (ACK, Crossplane, Config Connector) buy machines ahead."""


@rule("V-33", Level.ERROR, BLOCKS)
def block_is_named_and_in_one_zone(plan: StackPlan) -> Iterator[Violation]:
    """A capacity block is named by its id, and machines bought from it are of its type and sit in its one zone."""
    for at, want in wants(plan):
        if want.mode == "capacity-block" and not want.reservation_id:
            yield Violation(at / "reservation_id", "give the block's cr- id; rackwright never buys one")
    for at, pool in accelerators(plan):
        if pool.capacity.mode == "capacity-block" and len(pool.zones) != 1:
            yield Violation(at / "zones", f"name the block's zone{_said(pool.capacity.zone)}", detail=f"{pool.name} has {len(pool.zones)}")
    yield from _elsewhere(plan, "capacity-block")
    known = Catalog.default().machine_by_name
    for at, machine, _, want in _bought(plan):
        if want.mode == "capacity-block" and machine in known and not known[machine].capacity_block:
            yield Violation(at / "machine", "buy it on demand or spot", detail=f"no block is sold for {machine}")


@rule("V-34", Level.WARNING, BLOCKS)
def block_drains_before_its_end(plan: StackPlan) -> Iterator[Violation]:
    """The cloud reclaims a block's machines from 30 minutes before its end (60 of an UltraServer), so the pool can be empty and is
    drained earlier."""
    for at, pool in accelerators(plan):
        want = pool.capacity
        if want.mode != "capacity-block":
            continue
        if pool.nodes_min:
            yield Violation(at / "nodes_min", "set it to 0", detail=f"it is {pool.nodes_min}")
        latest = _time(want.ends_at) - drain_before_end(pool.machine) + MARGIN if want.ends_at else None
        if latest and want.drains_at and _time(want.drains_at) > latest:
            yield Violation(at / "capacity" / "drains_at", f"drain at {_utc(latest - MARGIN)}", detail=f"drains at {want.drains_at}")


@rule("R-10", Level.ERROR, BLOCKS)
def block_has_not_ended(plan: StackPlan) -> Iterator[Violation]:
    """Machines are bought from a capacity block before it ends: its last 40 minutes (70 of an UltraServer) are for leaving them."""
    for at, want in wants(plan):
        if want.mode == "capacity-block" and want.ends_at and not want.drains_at:
            fix = "name a later block, or another mode, in the place's capacity; to take the stack down set rackwright:teardown"
            yield Violation(at / "ends_at", fix, detail=f"{want.reservation_id} ended {_utc(_time(want.ends_at))}")


@rule("R-11", Level.ERROR, RESERVATIONS)
def reservation_holds_the_machines(plan: StackPlan) -> Iterator[Violation]:
    """A reservation serves machines of its own type, in its own zone, and no more than it holds."""
    yield from _elsewhere(plan, "reservation")
    for at, pool in pools(plan):
        held = pool.capacity.count
        if held and pool.nodes_max > held:
            yield Violation(
                at / "nodes_max", f"{held}, or a larger reservation", detail=f"{pool.name} may have {pool.nodes_max}, and it holds {held}"
            )


@rule("R-12", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-cr-group.html", on=AWS)
def reservations_are_named_as_the_cloud_names_them(plan: StackPlan) -> Iterator[Violation]:
    """On AWS reservations and blocks are cr- ids, and a group of reservations is a resource group of the stack's region."""
    for at, want in wants(plan):
        if want.reservation_id and not RESERVATION_ID.fullmatch(want.reservation_id):
            yield Violation(at / "reservation_id", "such as cr-0123456789abcdef0", detail=f"got {want.reservation_id}")
        if want.group_arn and f":resource-groups:{plan.place.region}:" not in want.group_arn:
            account = plan.place.account or "123456789012"
            near = f"such as arn:aws:resource-groups:{plan.place.region}:{account}:group/my-reservations"
            yield Violation(at / "group_arn", near, detail=f"got {want.group_arn}")


@rule("V-110", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-purchase.html", invariant=True)
def nothing_buys_capacity(plan: StackPlan) -> Iterator[Violation]:
    """Capacity that is bought ahead is paid whatever is used and never given back, so a stack names what was bought and buys none."""
    for at, manifest in manifests(plan, *BUYS):
        fix = "buy it by hand, and name its id in the place's capacity: {reservation: {id: ...}} or {capacity_block: ...}"
        yield Violation(at / "kind", fix, detail=f"{manifest.body['kind']} buys machines")


def _bought(plan: StackPlan) -> Iterator[tuple[At, str, tuple[str, ...], CapacityPlan]]:
    """Place, machine, zones and purchase of all that is not the system's."""
    if plan.box:
        yield At() / "box", plan.box.machine, (plan.box.zone,), plan.box.capacity
    yield from ((at, pool.machine, pool.zones, pool.capacity) for at, pool in pools(plan))


def _elsewhere(plan: StackPlan, mode: str) -> Iterator[Violation]:
    """Machines of another type or zone than what they are bought from, as far as its owner says."""
    for at, machine, zones, want in _bought(plan):
        if want.mode != mode:
            continue
        name = want.reservation_id or want.group_arn
        if want.machine and machine != want.machine:
            yield Violation(
                at / "machine", f"use {want.machine}, or name a reservation of {machine}", detail=f"{name} is of {want.machine}"
            )
        if want.zone and set(zones) != {want.zone}:
            yield Violation(
                at / _zones_key(at), f"use {want.zone}", detail=f"{name} is in {want.zone}, and the machines are in {', '.join(zones)}"
            )


def _zones_key(at: At) -> str:
    return "zone" if at == At() / "box" else "zones"


def _said(zone: str) -> str:
    return f", {zone}" if zone else ""


def _utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
