"""S-151..S-155: several serving workloads in one stack."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.spec.infra import existing_capacity
from rackwright.spec.workload import Serve
from rackwright.validation.spec.registry import SpecContext, rule

SERVICES = ("entrance", "leader")
"""Suffixes of the Kubernetes Services beside a workload's own: its load balancer, and the first pods of replicas on several machines."""


def _servers(context: SpecContext) -> list[tuple[At, Serve]]:
    """The serving workloads of a stack with several; empty for one."""
    found = list(context.each(Serve))
    return found if len(found) > 1 else []


@rule("S-151")
def several_workloads_are_a_fleet(context: SpecContext) -> Iterator[Violation]:
    """Several serving workloads require blueprint.kind auto or inference-fleet: a box has one server."""
    kind, servers = context.spec.blueprint.kind, _servers(context)
    if servers and kind not in ("auto", "inference-fleet"):
        message = f"Blueprint {kind} has one server; `workloads` has {len(servers)}"
        yield Violation(At() / "blueprint" / "kind", "use auto or inference-fleet, or a stack for each workload", message)


@rule("S-152")
def several_workloads_buy_by_mode(context: SpecContext) -> Iterator[Violation]:
    """Several serving workloads require capacity modes in `ordered`: reservations, blocks and fallbacks are not divided between
    workloads."""
    for at, place in context.places if _servers(context) else ():
        if place.capacity.fallback:
            message = "`capacity.fallback` is supported for one workload only"
            yield Violation(at / "capacity" / "fallback", "use ordered: [spot, on-demand], or a stack for each workload", message)
        for index, entry in enumerate(place.capacity.ordered):
            if thing := existing_capacity(entry):
                message = f"{thing.id or 'The capacity'} is supported for one workload only"
                yield Violation(at / "capacity" / "ordered" / index, "use spot or on-demand, or a stack for each workload", message)


@rule("S-153")
def pinned_nodes_are_of_one_workload(context: SpecContext) -> Iterator[Violation]:
    """`pin.nodes` is for one workload; with several, each has as many machines as its replicas need."""
    for at, place in context.places if (servers := _servers(context)) else ():
        if place.pin and place.pin.nodes:
            message = f"`nodes: {place.pin.nodes}` does not state how many nodes each of the {len(servers)} workloads gets"
            yield Violation(at / "pin" / "nodes", "leave it out, and set max_replicas of each workload", message)


@rule("S-154")
def several_workloads_have_a_new_cluster(context: SpecContext) -> Iterator[Violation]:
    """Several serving workloads require a new cluster."""
    if _servers(context) and context.spec.blueprint.cluster != "new":
        message = "An existing cluster is supported for one workload per stack only"
        yield Violation(At() / "blueprint" / "cluster", "use new, or a stack for each workload", message)


@rule("S-155")
def services_have_different_names(context: SpecContext) -> Iterator[Violation]:
    """The name of a workload is not the name of another workload's Kubernetes Service."""
    servers = _servers(context)
    used = {(w.team, f"{w.name}-{suffix}"): w.name for _, w in servers for suffix in SERVICES}
    for at, workload in servers:
        if owner := used.get((workload.team, workload.name)):
            message = f"{quote(workload.name)} is the name of a Kubernetes Service of workload {quote(owner)}"
            yield Violation(at / "name", f"such as {workload.name}-model", message)
