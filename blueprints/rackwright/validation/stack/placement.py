"""Where machines stand: sold in the zone, close together where that helps, never apart where a fabric joins them."""

from collections.abc import Iterator
from itertools import takewhile

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Fabric, Machine
from rackwright.clouds import AWS, GCP, profile
from rackwright.compile.nodes.pools import RESERVED_MODES
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.validation.stack.registry import accelerators, rule

GROUPS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html"
NOT_IN_GROUPS = ("t2.", "t3.", "t3a.", "t4g.", "mac")
"""Burstable and Mac instances stand in no cluster placement group, nor do those named -flex (AWS's page of placement strategies)."""
COMPACT_MOST = 1500
LIST_AWS = (
    "`aws ec2 describe-instance-type-offerings --location-type availability-zone "
    "--filters Name=instance-type,Values={} --region {} --query InstanceTypeOfferings[].Location`"
)
LIST_GCP = '`gcloud compute machine-types list --filter="name={} AND zone~{}" --format="value(zone)"`'
"""What lists the zones that sell a machine to this account."""
NEAREST = 3
"""Regions that are named when the machine is not sold in the one that is asked."""


@rule("V-28", Level.ERROR, GROUPS, invariant=True, on=AWS)
def a_placement_group_takes_the_machines(plan: StackPlan) -> Iterator[Violation]:
    """A cluster placement group holds machines of one type and one zone, and none that are burstable."""
    for at, pool in accelerators(plan):
        if not pool.adjacent:
            continue
        if len(pool.zones) != 1:
            yield Violation(
                at / "zones", f"name one zone, such as {(*pool.zones, plan.place.zone)[0]}", detail=f"{pool.name} has {len(pool.zones)}"
            )
        machine = Catalog.default().machine_by_name.get(pool.machine)
        if pool.machine.startswith(NOT_IN_GROUPS) or "-flex." in pool.machine or _known_to_refuse(machine):
            yield Violation(at / "adjacent", "set it to false", detail=f"{pool.machine} cannot be placed so")


def _known_to_refuse(machine: Machine | None) -> bool:
    return bool(machine and machine.placement and "cluster" not in machine.placement.split())


@rule("R-81", Level.ERROR, "https://github.com/eksctl-io/eksctl/issues/7949", invariant=True, on=AWS)
def reserved_machines_have_their_place(plan: StackPlan) -> Iterator[Violation]:
    """Machines of a capacity block or a reservation stand where they were reserved, and a placement group of one's own is not there."""
    for at, pool in accelerators(plan):
        if pool.adjacent and pool.capacity.mode in RESERVED_MODES:
            words = f"{pool.name} is bought from a {pool.capacity.mode.replace('-', ' ')}"
            yield Violation(at / "adjacent", "set it to false: a block is close together already", detail=words)


@rule("V-29", Level.WARNING, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html")
def efa_machines_sit_close(plan: StackPlan) -> Iterator[Violation]:
    """Machines that train together on EFA should share a placement group, unless a reservation already keeps them close."""
    for at, pool in accelerators(plan):
        if pool.nics and pool.nodes_max > 1 and not pool.adjacent and pool.capacity.mode not in RESERVED_MODES:
            yield Violation(at / "adjacent", "set it to true")


@rule("V-30", Level.ERROR, "https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-regions.html")
def the_zone_sells_the_machine(plan: StackPlan) -> Iterator[Violation]:
    """The machine is sold in the zone it is wanted in."""
    wanted = [(at / "zones", pool.machine, pool.zones) for at, pool in accelerators(plan)]
    wanted += [(At() / "box" / "zone", plan.box.machine, (plan.box.zone,))] if plan.box else []
    for at, machine, zones in wanted:
        if profile(plan.place.cloud).has_zone_names:
            yield from _sold_by_google(plan, at, machine, zones)
        elif elsewhere := _sold_elsewhere(plan, machine):
            yield Violation(at, f"regions that sell it: {', '.join(elsewhere)}", detail=f"{plan.place.region} has no {machine}")
        elif plan.place.zone_assumed and not plan.network.existing_id:
            yield _guessed(plan, at, machine)


def _sold_elsewhere(plan: StackPlan, machine: str) -> list[str]:
    """The nearest regions that sell a machine this one does not; empty where it does, and where nothing is published."""
    sold = {row.region for row in Catalog.default().places_by_sku.get(machine, ())}
    if plan.place.region in sold:
        return []
    return sorted(sold, key=lambda region: (-_alike(region, plan.place.region), region))[:NEAREST]


def _alike(one: str, other: str) -> int:
    """Letters that two regions' names begin with: eu-west-2 is nearer to eu-west-3 than to eu-north-1."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


def _sold_by_google(plan: StackPlan, at: At, machine: str, zones: tuple[str, ...]) -> Iterator[Violation]:
    sold = [zone for row in Catalog.default().places_by_sku.get(machine, ()) for zone in row.zones]
    if not sold and plan.place.zone_assumed:
        words = f"which zones sell {machine} is not published here, and {plan.place.zone} is a guess"
        fix = f"name one in infra's zones: {LIST_GCP.format(machine, plan.place.region)}"
        yield Violation(at, fix, detail=words, level=Level.WARNING, stage=Stage.BUILD)
    elif sold and not set(zones) <= set(sold):
        here = sorted(zone for zone in sold if zone.startswith(plan.place.region)) or ["none in this region"]
        yield Violation(at, f"zones that sell it: {', '.join(here)}", detail=f"{machine} in {', '.join(zones)}")


def _guessed(plan: StackPlan, at: At, machine: str) -> Violation:
    """AWS publishes zone ids, which map to other names in every account: which letter sells the machine, only the account knows."""
    rows = Catalog.default().places_by_sku.get(machine, ())
    ids = ", ".join(zone for row in rows if row.region == plan.place.region for zone in row.zones)
    words = f"{plan.place.zone} is a guess for {machine}" + (f", sold in {ids}: every account has other letters for these" if ids else "")
    fix = f"name one in infra's zones: {LIST_AWS.format(machine, plan.place.region)}"
    return Violation(at, fix, detail=words, level=Level.WARNING, stage=Stage.BUILD)


@rule("V-31", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html")
def fabric_stays_in_one_zone(plan: StackPlan) -> Iterator[Violation]:
    """A fabric never crosses zones, so all accelerators of a plan share one."""
    zones = {zone for _, pool in accelerators(plan) if pool.fabric not in (Fabric.NONE, Fabric.TCP) for zone in pool.zones}
    if len(zones) > 1:
        yield Violation(At() / "pools", f"use {plan.place.zone} for all", detail=f"got {', '.join(sorted(zones))}")


@rule("V-73", Level.ERROR, "https://cloud.google.com/kubernetes-engine/docs/how-to/compact-placement", on=GCP)
def compact_placement_has_bounds(plan: StackPlan) -> Iterator[Violation]:
    """GKE places machines compactly in one zone only, and 1,500 of them at most."""
    for at, pool in accelerators(plan):
        if pool.adjacent and len(pool.zones) != 1:
            yield Violation(at / "zones", "name one zone", detail=f"{pool.name} has {len(pool.zones)}")
        if pool.adjacent and pool.nodes_max > COMPACT_MOST:
            yield Violation(
                at / "nodes_max", "split it into several pools", detail=f"{pool.name} has {pool.nodes_max}", level=Level.WARNING
            )
