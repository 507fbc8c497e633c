"""Capacity modes: what each mode requires and excludes, and which modes a machine is sold in."""

from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.clouds import profile
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import CapacityPlan, StackPlan
from rackwright.stackplan.capacity import flex_start_max_run_s
from rackwright.validation.stack.registry import accelerators, catalog_rule, manifests, pools, rule

FLEX = "https://cloud.google.com/kubernetes-engine/docs/concepts/dws"
FLEX_BOX_LEAST_S = 600
"""https://docs.cloud.google.com/ai-hypercomputer/docs/create/create-mig"""
QUEUED = "https://cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest"
RESERVED_MODES = ("capacity-block", "reservation", "calendar")
ON_DEMAND_MODES = ("reservation", "calendar")
"""Reservations hold machines that are sold on demand."""
PRICE_MODES = ("cud-1y", "cud-3y")
"""Prices, not ways to obtain a machine."""


@rule("V-32", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html")
def capacity_mode_is_consistent(plan: StackPlan) -> Iterator[Violation]:
    """On-demand, spot and flex-start machines use no reservation, and a capacity mode belongs to the stack's cloud."""
    for at, capacity in capacity_plans(plan):
        for field in ("reservation_id", "group_arn"):
            if (value := getattr(capacity, field)) and capacity.mode not in RESERVED_MODES:
                message = f"Capacity mode {capacity.mode} cannot use the reservation {value}"
                link = profile(plan.place.cloud).links.get("reservations", "")
                yield Violation(at / field, "remove it, or use capacity mode reservation", message, link=link)
        if capacity.reservation_id and capacity.group_arn:
            message = f"Both a reservation ({capacity.reservation_id}) and a reservation group ({capacity.group_arn}) are set"
            yield Violation(at / "group_arn", f"remove it and keep {capacity.reservation_id}", message)
        if not profile(plan.place.cloud).sells(capacity.mode):
            message = f"Capacity mode {capacity.mode} does not exist on {plan.place.cloud}"
            yield Violation(at / "mode", "use on-demand, spot or a reservation", message)


@catalog_rule("R-90", Level.ERROR, "https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-types.html")
def machine_is_offered_in_mode(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """The cloud offers the machine in its capacity mode."""
    used = [(at / "capacity" / "mode", pool.machine, pool.capacity.mode) for at, pool in pools(plan)]
    used += [(At() / "box" / "capacity" / "mode", plan.box.machine, plan.box.capacity.mode)] if plan.box else []
    for at, name, mode in used:
        machine = catalog.machine_by_name.get(name)
        sold = [str(way) for way in machine.capacity_modes if way not in PRICE_MODES] if machine else []
        if sold and mode not in sold and not (mode in ON_DEMAND_MODES and "on-demand" in sold):
            yield Violation(at, f"use {' or '.join(sold)}", f"{name} is not sold in capacity mode {mode}")


@rule("V-67", Level.ERROR, "https://cloud.google.com/kubernetes-engine/docs/how-to/consuming-reservations")
def reservation_is_identified(plan: StackPlan) -> Iterator[Violation]:
    """Reserved capacity is identified by one reservation, or one group of reservations."""
    for at, capacity in capacity_plans(plan):
        if capacity.mode in ("reservation", "calendar") and not (capacity.reservation_id or capacity.group_arn):
            message = f"Capacity mode {capacity.mode} is set without a reservation"
            yield Violation(at / "reservation_id", "set the reservation's name", message)


@catalog_rule("V-69", Level.ERROR, FLEX)
def flex_start_scales_from_zero(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Flex-start pools start with 0 nodes. They, and a flex-start box, set a maximum run time of at most 7 days; a box of 10 minutes at
    least."""
    longest_s, box = flex_start_max_run_s(catalog), plan.box
    if box and box.capacity.mode == "flex-start" and not FLEX_BOX_LEAST_S <= (box.capacity.max_run_s or 0) <= longest_s:
        run = "no maximum run time" if box.capacity.max_run_s is None else f"a maximum run time of {box.capacity.max_run_s} s"
        message = f"The flex-start box has {run}; the range is {FLEX_BOX_LEAST_S} to {longest_s} s ({longest_s // 86400} days)"
        near = min(max(box.capacity.max_run_s or longest_s, FLEX_BOX_LEAST_S), longest_s)
        yield Violation(At() / "box" / "capacity" / "max_run_s", f"set it to {near}", message)
    for at, pool in accelerators(plan):
        capacity = pool.capacity
        if capacity.mode != "flex-start":
            continue
        if pool.nodes_min or pool.nodes_start:
            message = f"Flex-start pool {pool.name} has {pool.nodes_min} nodes at minimum and {pool.nodes_start} at start; both must be 0"
            yield Violation(at / "nodes_min", "set both to 0", message)
        if capacity.max_run_s is None or capacity.max_run_s > longest_s:
            run = "no maximum run time" if capacity.max_run_s is None else f"a maximum run time of {capacity.max_run_s} s"
            message = f"Flex-start pool {pool.name} has {run}; the limit is {longest_s} s ({longest_s // 86400} days)"
            yield Violation(at / "capacity" / "max_run_s", f"set it to {longest_s} or less", message)


@rule("V-70", Level.ERROR, QUEUED)
def queued_pools_are_empty_flex_start_pools(plan: StackPlan) -> Iterator[Violation]:
    """Pools with queued provisioning are flex-start pools without a reservation; GPU pools of them have no compact placement, and Kueue
    requests their machines."""
    for at, pool in accelerators(plan):
        if not pool.capacity.queued:
            continue
        if pool.capacity.mode != "flex-start":
            message = f"Pool {pool.name} uses queued provisioning with capacity mode {pool.capacity.mode}"
            yield Violation(at / "capacity" / "mode", "set flex-start, or set queued to false", message)
        if pool.adjacent and not pool.topology:
            message = f"Pool {pool.name} of {pool.machine} uses queued provisioning with compact placement, which GKE allows for TPUs only"
            yield Violation(at / "adjacent", "set it to false", message)
        if not any(check.body["spec"].get("admissionChecksStrategy") for _, check in manifests(plan, "ClusterQueue")):
            message = f"No queue requests the machines of pool {pool.name}: no ClusterQueue has an admission check"
            yield Violation(at / "capacity" / "queued", "set queued to false, or add the check", message)


@catalog_rule("V-72", Level.ERROR, FLEX, invariant=True)
def flex_start_supports_placement(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Of GPU machines obtained by flex-start, only A3 Ultra, A4 and H4D support compact placement."""
    for at, pool in accelerators(plan):
        flex = pool.capacity.mode == "flex-start" and pool.adjacent and not pool.topology
        machine = catalog.machine_by_name.get(pool.machine)
        if flex and not (machine and machine.compact_flex_start):
            families = sorted({row.family for row in catalog.machines if row.compact_flex_start})
            message = f"{pool.machine} does not support compact placement with flex-start; {', '.join(families)} do"
            yield Violation(at / "adjacent", "set it to false", message)


@rule("V-74", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html")
def pool_bounds_are_ordered(plan: StackPlan) -> Iterator[Violation]:
    """A pool starts between its minimum and maximum number of nodes, and its maximum is at least 1."""
    for at, pool in pools(plan):
        if not 0 <= pool.nodes_min <= pool.nodes_start <= pool.nodes_max or pool.nodes_max < 1:
            high = max(pool.nodes_max, 1)
            low = min(max(pool.nodes_min, 0), high)
            start = min(max(pool.nodes_start, low), high)
            message = (
                f"Pool {pool.name} has minimum {pool.nodes_min}, start {pool.nodes_start}, maximum {pool.nodes_max}, which are out of order"
            )
            yield Violation(at / "nodes_start", f"set them to {low}, {start} and {high}", message)


def capacity_plans(plan: StackPlan) -> Iterator[tuple[At, CapacityPlan]]:
    """Capacity of the box and of every pool, with its path."""
    if plan.box:
        yield At() / "box" / "capacity", plan.box.capacity
    yield from ((at / "capacity", pool.capacity) for at, pool in pools(plan))
