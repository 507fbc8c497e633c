"""Regions, zones and placement groups of machines."""

from collections.abc import Iterator
from itertools import takewhile

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Fabric
from rackwright.clouds import AWS, GCP, profile
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import BlueprintKind, StackPlan, is_zone_id
from rackwright.stackplan.capacity import ADJACENT_MODES
from rackwright.validation.stack.registry import StackContext, accelerators, catalog_rule, context_rule, rule

GROUPS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html"
LIST_AWS = (
    "`aws ec2 describe-instance-type-offerings --location-type availability-zone "
    "--filters Name=instance-type,Values={} --region {} --query InstanceTypeOfferings[].Location`"
)
LIST_GCP = '`gcloud compute machine-types list --filter="name={} AND zone~{}" --format="value(zone)"`'
"""Commands that list the zones which offer a machine type to this account."""
NEAREST = 3
"""Number of regions to suggest when a region does not offer the machine."""


@catalog_rule("V-28", Level.ERROR, GROUPS, invariant=True, on=AWS)
def placement_group_fits(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """A cluster placement group has machines in one zone, of a type that supports it; burstable types do not."""
    for at, pool in accelerators(plan):
        if not pool.adjacent:
            continue
        if len(pool.zones) != 1:
            message = f"Pool {pool.name} uses a cluster placement group, but has {len(pool.zones)} zones; a group is in one zone"
            yield Violation(at / "zones", f"set one zone, such as {(*pool.zones, plan.place.zone)[0]}", message)
        machine = catalog.machine_by_name.get(pool.machine)
        if machine and machine.placement and "cluster" not in machine.placement.split():
            yield Violation(at / "adjacent", "set it to false", f"{pool.machine} does not support cluster placement groups")


@rule("R-81", Level.ERROR, "https://github.com/eksctl-io/eksctl/issues/7949", invariant=True, on=AWS)
def reserved_machines_have_no_group(plan: StackPlan) -> Iterator[Violation]:
    """Machines of a capacity block or a reservation use no additional placement group, because their location is already fixed."""
    for at, pool in accelerators(plan):
        if pool.adjacent and pool.capacity.mode in ADJACENT_MODES:
            message = (
                f"Pool {pool.name} uses a {pool.capacity.mode.replace('-', ' ')}, whose machines cannot start in a new placement group"
            )
            yield Violation(at / "adjacent", "set it to false; a block is already placed together", message)


@rule("V-29", Level.WARNING, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html")
def efa_pools_use_a_placement_group(plan: StackPlan) -> Iterator[Violation]:
    """EFA pools with several machines use a placement group, unless a reservation already places them together."""
    for at, pool in accelerators(plan):
        if pool.nics and pool.nodes_max > 1 and not pool.adjacent and pool.capacity.mode not in ADJACENT_MODES:
            message = f"Pool {pool.name} has up to {pool.nodes_max} EFA machines without a placement group, which increases latency"
            yield Violation(at / "adjacent", "set it to true", message)


# A zone chosen by default does not stop an update: EC2 rejects a wrong zone, and builds nothing wrong.
@catalog_rule("V-30", Level.ERROR, "https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-regions.html")
def zone_offers_machine(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """The region and zone offer the machine type. Reserved machines exist, so their zone is not checked on AWS."""
    used = [(at / "zones", pool.machine, pool.zones, pool.capacity.mode) for at, pool in accelerators(plan)]
    used += [(At() / "box" / "zone", plan.box.machine, (plan.box.zone,), plan.box.capacity.mode)] if plan.box else []
    region = plan.place.region
    for at, machine, zones, mode in used:
        regions = {row.region for row in catalog.places_by_sku.get(machine, ())}
        if profile(plan.place.cloud).has_zone_names:
            yield from _google_zones(plan, catalog, at, machine, zones)
        elif regions and region not in regions:
            near = sorted(regions, key=lambda other: (-_shared_letters(other, region), other))[:NEAREST]
            yield Violation(at, f"use a region that does, such as {', '.join(near)}", f"{region} does not offer {machine}")
        elif plan.place.zone_assumed:
            yield from [] if plan.network.existing_id else [_assumed_zone(plan, catalog, at, machine)]
        elif mode not in ADJACENT_MODES:
            yield from _zone_ids(plan, catalog, at, machine, zones)


def _shared_letters(one: str, other: str) -> int:
    """Letters that two region names start with: eu-west-2 is nearer to eu-west-3 than to eu-north-1."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


def _google_zones(plan: StackPlan, catalog: Catalog, at: At, machine: str, zones: tuple[str, ...]) -> Iterator[Violation]:
    offered = [zone for row in catalog.places_by_sku.get(machine, ()) for zone in row.zones]
    if not offered and plan.place.zone_assumed:
        message = f"Zone {plan.place.zone} was chosen by default, and the catalog has no zones that offer {machine}"
        fix = f"set zones in infra; list them with {LIST_GCP.format(machine.partition('+')[0], plan.place.region)}"
        yield Violation(at, fix, message, level=Level.WARNING, stage=Stage.BUILD, blocks_update=False)
    elif offered and not set(zones) <= set(offered):
        here = sorted(zone for zone in offered if zone.startswith(plan.place.region))
        fix = f"use {' or '.join(here)}" if here else "use another region"
        yield Violation(at, fix, f"Zone {', '.join(zones)} does not offer {machine}")


def _zone_ids(plan: StackPlan, catalog: Catalog, at: At, machine: str, zones: tuple[str, ...]) -> Iterator[Violation]:
    offered = _offered_ids(plan, catalog, machine)
    if wrong := [zone for zone in zones if is_zone_id(zone) and offered and zone not in offered]:
        yield Violation(at, f"use {' or '.join(offered)}", f"Zone {', '.join(wrong)} does not offer {machine}")


def _offered_ids(plan: StackPlan, catalog: Catalog, machine: str) -> list[str]:
    return [zone for row in catalog.places_by_sku.get(machine, ()) if row.region == plan.place.region for zone in row.zones]


def _assumed_zone(plan: StackPlan, catalog: Catalog, at: At, machine: str) -> Violation:
    """A zone without a source: no zones are published for the machine, or an earlier release chose a zone name."""
    ids = _offered_ids(plan, catalog, machine)
    message = f"Zone {plan.place.zone} was chosen by default, but {machine} is offered in zone ID{'s' * (len(ids) > 1)} {', '.join(ids)}, "
    message += "and a zone name stands for another zone ID in each account"
    if not ids:
        message = f"Zone {plan.place.zone} was chosen by default, and AWS does not publish which zones offer {machine}"
    fix = f"set `zones` in infra; list them with {LIST_AWS.format(machine, plan.place.region)}"
    return Violation(at, fix, message, level=Level.WARNING, stage=Stage.BUILD, blocks_update=False)


@rule("V-31", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html")
def fabric_is_in_one_zone(plan: StackPlan) -> Iterator[Violation]:
    """All pools with an RDMA fabric are in one zone, because a fabric does not span zones."""
    zones = {zone for _, pool in accelerators(plan) if pool.fabric not in (Fabric.NONE, Fabric.TCP) for zone in pool.zones}
    if len(zones) > 1:
        message = f"Pools with an RDMA fabric are in {len(zones)} zones: {', '.join(sorted(zones))}"
        yield Violation(At() / "pools", f"use {plan.place.zone} for all", message)


@context_rule("V-139", Level.WARNING, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html")
def replicas_over_machines_use_one_zone(context: StackContext) -> Iterator[Violation]:
    """A fleet uses every zone of the spec, except where its replicas span machines, whose fabric and placement group are in one zone."""
    plan = context.plan
    if context.spec is None or context.fit is None or plan.kind is not BlueprintKind.INFERENCE_FLEET:
        return
    place = context.spec.infra.places[context.fit.candidate.place]
    unused = [zone for zone in place.zones if context.catalog.zone_is_in(zone, plan.place.region) and zone != plan.place.zone]
    if unused and any(pool.fabric != Fabric.NONE for _, pool in accelerators(plan)):
        message = f"Machines of a replica are in one zone, {plan.place.zone}; the fleet does not use {', '.join(unused)}"
        yield Violation(At() / "place" / "zone", "set one zone in `zones`, or use a machine that holds a whole replica", message)


@catalog_rule("V-73", Level.ERROR, "https://cloud.google.com/kubernetes-engine/docs/how-to/compact-placement", on=GCP)
def compact_placement_limits(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """GKE supports compact placement in one zone and for at most 1,500 machines."""
    limit = catalog.capacity_rule(plan.place.cloud, None, "most_adjacent_nodes")
    for at, pool in accelerators(plan):
        if pool.adjacent and len(pool.zones) != 1:
            message = f"Pool {pool.name} uses compact placement, but has {len(pool.zones)} zones; one is allowed"
            yield Violation(at / "zones", "set one zone", message)
        if pool.adjacent and limit and pool.nodes_max > limit:
            message = f"Pool {pool.name} uses compact placement for {pool.nodes_max} machines; the limit is {limit:.0f}"
            yield Violation(at / "nodes_max", "split it into several pools", message, level=Level.WARNING)
