"""How machines are bought: what each mode needs and excludes."""

from collections.abc import Iterator

from rackwright.clouds import profile
from rackwright.compile.nodes.capacity import FLEX_LONGEST_RUN_S
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import CapacityPlan, StackPlan
from rackwright.validation.stack.registry import accelerators, pools, rule

FLEX = "https://cloud.google.com/kubernetes-engine/docs/concepts/dws"
NEEDS_RESERVATION = ("capacity-block", "reservation", "calendar")
FLEX_COMPACT = ("a3-ultragpu-", "a4-highgpu-", "h4d-")


@rule("V-32", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html")
def one_way_to_buy(plan: StackPlan) -> Iterator[Violation]:
    """On-demand, spot and flex-start machines name no reservation, and a mode belongs to a cloud that has it."""
    for at, want in wants(plan):
        for field in ("reservation_id", "group_arn"):
            if (named := getattr(want, field)) and want.mode not in NEEDS_RESERVATION:
                yield Violation(at / field, "leave it out, or buy from the reservation", detail=f"{want.mode} names {named}")
        if want.reservation_id and want.group_arn:
            yield Violation(at / "group_arn", f"leave it out, and keep {want.reservation_id}", detail="a reservation and a group are named")
        if not profile(plan.place.cloud).sells(want.mode):
            yield Violation(at / "mode", "use on-demand, spot or a reservation", detail=f"{plan.place.cloud} has no {want.mode}")


@rule("V-67", Level.ERROR, "https://cloud.google.com/kubernetes-engine/docs/how-to/consuming-reservations")
def reservation_is_named(plan: StackPlan) -> Iterator[Violation]:
    """Capacity that is reserved is named, one reservation and one zone."""
    for at, want in wants(plan):
        if want.mode in ("reservation", "calendar") and not (want.reservation_id or want.group_arn):
            yield Violation(at / "reservation_id", "give the reservation's name", detail=f"{want.mode} without one")


@rule("V-69", Level.ERROR, FLEX)
def flex_start_has_no_fixed_count(plan: StackPlan) -> Iterator[Violation]:
    """Flex-start machines come when there are some and live 7 days at most: the pool starts empty and names its longest run."""
    for at, pool in accelerators(plan):
        want = pool.capacity
        if want.mode != "flex-start":
            continue
        if pool.nodes_min or pool.nodes_start:
            yield Violation(at / "nodes_min", "let it scale from 0", detail=f"{pool.nodes_min} at least, {pool.nodes_start} at first")
        if want.max_run_s is None or want.max_run_s > FLEX_LONGEST_RUN_S:
            yield Violation(at / "capacity" / "max_run_s", f"name {FLEX_LONGEST_RUN_S} s or less", detail=f"got {want.max_run_s}")


@rule("V-72", Level.ERROR, FLEX, invariant=True)
def flex_start_is_rarely_compact(plan: StackPlan) -> Iterator[Violation]:
    """Of GPU machines bought by flex-start only A3 Ultra, A4 and H4D can be placed compactly."""
    for at, pool in accelerators(plan):
        flex = pool.capacity.mode == "flex-start" and pool.adjacent and not pool.topology
        if flex and not pool.machine.startswith(FLEX_COMPACT):
            yield Violation(at / "adjacent", "set it to false", detail=f"{pool.machine} cannot")


@rule("V-74", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html")
def bounds_are_in_order(plan: StackPlan) -> Iterator[Violation]:
    """A pool starts between its least and its most nodes, and may have one."""
    for at, pool in pools(plan):
        if not 0 <= pool.nodes_min <= pool.nodes_start <= pool.nodes_max or pool.nodes_max < 1:
            words = f"{pool.name}: least {pool.nodes_min}, at first {pool.nodes_start}, most {pool.nodes_max}"
            most = max(pool.nodes_max, 1)
            least = min(max(pool.nodes_min, 0), most)
            fix = f"such as {least}, {min(max(pool.nodes_start, least), most)}, {most}"
            yield Violation(at / "nodes_start", fix, detail=words)


def wants(plan: StackPlan) -> Iterator[tuple[At, CapacityPlan]]:
    if plan.box:
        yield At() / "box" / "capacity", plan.box.capacity
    yield from ((at / "capacity", pool.capacity) for at, pool in pools(plan))
