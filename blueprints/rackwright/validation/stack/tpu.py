"""TPU slices: shapes that exist, whole or not at all."""

from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import TpuSlice
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import PoolPlan, StackPlan
from rackwright.validation.stack.registry import accelerators, rule

PLAN_TPUS = "https://cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus"
MULTISLICE = "https://cloud.google.com/tpu/docs/multislice-introduction"


def slice_of(pool: PoolPlan) -> TpuSlice | None:
    shapes = Catalog.default().slices_by_machine.get(pool.machine, ())
    return next((shape for shape in shapes if shape.topology == pool.topology), None)


def slices(plan: StackPlan) -> Iterator[tuple[At, PoolPlan]]:
    yield from ((at, pool) for at, pool in accelerators(plan) if pool.resource == "google.com/tpu")


@rule("V-98", Level.ERROR, PLAN_TPUS)
def topology_exists(plan: StackPlan) -> Iterator[Violation]:
    """A slice has one of the topologies its machine is sold in."""
    for at, pool in slices(plan):
        known = Catalog.default().slices_by_machine.get(pool.machine, ())
        if known and slice_of(pool) is None:
            some = ", ".join(shape.topology for shape in known[:6])
            yield Violation(at / "topology", f"for example {some}", detail=f"{pool.machine} has no {pool.topology or '(none)'}")


@rule("V-99", Level.ERROR, PLAN_TPUS, invariant=True)
def slices_are_whole(plan: StackPlan) -> Iterator[Violation]:
    """A slice has all its hosts or none: one pool per slice, bounds and start in {0, hosts}."""
    for at, pool in slices(plan):
        shape = slice_of(pool)
        if shape is None:
            continue
        if pool.nodes_max != shape.hosts or {pool.nodes_min, pool.nodes_start} - {0, shape.hosts}:
            words = f"{pool.topology} has {shape.hosts}; least {pool.nodes_min}, at first {pool.nodes_start}, most {pool.nodes_max}"
            yield Violation(at / "nodes_max", f"set it to {shape.hosts}", detail=words)


@rule("V-100", Level.ERROR, PLAN_TPUS, invariant=True)
def one_host_needs_no_placement(plan: StackPlan) -> Iterator[Violation]:
    """Only slices of several hosts have a placement; a slice of one host sent with a topology is refused."""
    for at, pool in slices(plan):
        shape = slice_of(pool)
        if shape and pool.multi_host != shape.multi_host:
            yield Violation(
                at / "multi_host", f"set it to {str(shape.multi_host).lower()}", detail=f"{pool.topology} has {shape.hosts} hosts"
            )


@rule("V-101", Level.ERROR, MULTISLICE)
def slices_are_alike(plan: StackPlan) -> Iterator[Violation]:
    """Slices that train together are of one machine and one topology, of several hosts each, and JobSet places them."""
    found = list(slices(plan))
    if len(found) < 2:
        return
    first = found[0][1]
    for at, pool in found[1:]:
        if (pool.machine, pool.topology, pool.nodes_max) != (first.machine, first.topology, first.nodes_max):
            yield Violation(
                at / "topology", f"use {first.machine} {first.topology}", detail=f"{pool.name} is {pool.machine} {pool.topology}"
            )
    if not first.multi_host:
        yield Violation(found[0][0] / "multi_host", "take a topology of several hosts", detail=f"{first.topology} has one")
    if not any(release.name == "jobset" for release in plan.releases):
        yield Violation(At() / "releases", "add jobset", detail="it is not installed")


@rule("V-102", Level.ERROR, PLAN_TPUS, invariant=True)
def pods_take_all_chips_of_a_host(plan: StackPlan) -> Iterator[Violation]:
    """A pod asks for all chips of its host, so the pool says how many there are."""
    for at, pool in slices(plan):
        shape = slice_of(pool)
        if shape and pool.accelerator_count != shape.chips_per_host:
            yield Violation(at / "accelerator_count", f"set it to {shape.chips_per_host}", detail=f"got {pool.accelerator_count}")
