"""TPU slices: topologies, hosts and chips."""

from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import TpuSlice
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import BlueprintKind, PoolPlan, StackPlan
from rackwright.stackplan.labels import RESOURCES
from rackwright.validation.stack.registry import accelerators, catalog_rule, rule

PLAN_TPUS = "https://cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus"
MULTI_NETWORKING = "https://cloud.google.com/kubernetes-engine/docs/how-to/setup-multinetwork-support-for-pods"
MULTISLICE = "https://cloud.google.com/tpu/docs/multislice-introduction"


def slices(plan: StackPlan) -> Iterator[tuple[At, PoolPlan]]:
    """Pools of TPU slices with their paths."""
    yield from ((at, pool) for at, pool in accelerators(plan) if pool.resource == RESOURCES["tpu"])


def shapes(plan: StackPlan, catalog: Catalog) -> Iterator[tuple[At, PoolPlan, TpuSlice]]:
    """Pools of TPU slices with their paths, and their rows where the catalog has them."""
    for at, pool in slices(plan):
        yield from ((at, pool, row) for row in catalog.slices_by_machine.get(pool.machine, ()) if row.topology == pool.topology)


@catalog_rule("V-98", Level.ERROR, PLAN_TPUS)
def topology_exists(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """A slice has a topology that is sold for its machine type."""
    for at, pool in slices(plan):
        known = catalog.slices_by_machine.get(pool.machine, ())
        if known and pool.topology not in {shape.topology for shape in known}:
            some = ", ".join(shape.topology for shape in known[:6])
            message = f"{pool.machine} has no topology {pool.topology}" if pool.topology else f"{pool.machine} requires a topology"
            yield Violation(at / "topology", f"use one of {some}", message)


@catalog_rule("V-99", Level.ERROR, PLAN_TPUS, invariant=True)
def slices_are_whole(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """A slice has all its hosts or none: a pool starts with 0 nodes or with its maximum, which is the number of hosts. Fleets have pools of
    any number of slices with one host."""
    for at, pool, shape in shapes(plan, catalog):
        if plan.kind is BlueprintKind.INFERENCE_FLEET and shape.hosts == 1:
            continue  # each node is a slice of its own
        if pool.nodes_max != shape.hosts or {pool.nodes_min, pool.nodes_start} - {0, shape.hosts}:
            nodes = f"minimum {pool.nodes_min}, start {pool.nodes_start}, maximum {pool.nodes_max}"
            message = f"Slice {pool.topology} has {shape.hosts} hosts, which are all present or none; pool {pool.name} has {nodes}"
            yield Violation(at / "nodes_max", f"set it to {shape.hosts}, and the other two to 0 or {shape.hosts}", message)


@catalog_rule("V-100", Level.ERROR, PLAN_TPUS, invariant=True)
def placement_matches_hosts(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Only slices with several hosts have a placement policy, which is a workload policy on TPU7x; GKE rejects others."""
    for at, pool, shape in shapes(plan, catalog):
        if pool.multi_host != shape.multi_host:
            flag = str(shape.multi_host).lower()
            message = f"multi_host is {str(pool.multi_host).lower()}, but slice {pool.topology} has {shape.hosts} hosts"
            yield Violation(at / "multi_host", f"set it to {flag}", message.replace("1 hosts", "1 host"))
        elif pool.workload_policy != (required := shape.multi_host and shape.workload_policy):
            flag, slice_name = str(required).lower(), f"slice {pool.topology} of {pool.machine}"
            message = f"workload_policy is {str(pool.workload_policy).lower()}, but {slice_name} requires {flag}"
            yield Violation(at / "workload_policy", f"set it to {flag}", message)


@rule("V-101", Level.ERROR, MULTISLICE)
def slices_are_equal(plan: StackPlan) -> Iterator[Violation]:
    """Slices that train together have one machine type and one topology with several hosts, and require JobSet."""
    found = list(slices(plan))
    if len(found) < 2 or plan.kind is not BlueprintKind.TPU_POD:
        return
    first = found[0][1]
    for at, pool in found[1:]:
        if (pool.machine, pool.topology, pool.nodes_max) != (first.machine, first.topology, first.nodes_max):
            message = f"Slice {pool.name} is {pool.machine} {pool.topology}, but slice {first.name} is {first.machine} {first.topology}"
            yield Violation(at / "topology", f"use {first.machine} {first.topology}", message)
    if not first.multi_host:
        message = f"Topology {first.topology} has one host; slices that train together have several"
        yield Violation(found[0][0] / "multi_host", "use a topology with several hosts", message)
    if not any(release.name == "jobset" for release in plan.releases):
        yield Violation(At() / "releases", "add jobset", "JobSet is not installed, and training on several slices requires it")


@catalog_rule("V-250", Level.ERROR, MULTI_NETWORKING)
def slices_reach_one_another(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Slices that train together reach one another over the default interface of their pods; this release sets up no other one."""
    found = list(shapes(plan, catalog))
    if plan.kind is BlueprintKind.TPU_POD and len(found) > 1 and (interface := found[0][2].slice_interface):
        at, _, shape = found[1]
        message = f"Slices of {shape.generation} exchange over {interface} of their pods, and the stack has the default network only"
        yield Violation(at, "use one larger slice, or another TPU generation for several slices", message)


@catalog_rule("V-102", Level.ERROR, PLAN_TPUS, invariant=True)
def chip_count_matches_host(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """A pod uses all chips of its host, so the pool has the number of chips per host."""
    for at, pool, shape in shapes(plan, catalog):
        if pool.accelerator_count != shape.chips_per_host:
            message = f"accelerator_count is {pool.accelerator_count}, but a host of {pool.machine} has {shape.chips_per_host} chips"
            yield Violation(at / "accelerator_count", f"set it to {shape.chips_per_host}", message)
