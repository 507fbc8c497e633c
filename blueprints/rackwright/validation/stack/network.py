"""Addresses and the cluster's API: ranges that do not collide and hold the nodes, and who may reach what."""

from collections.abc import Iterator
from ipaddress import ip_network
from itertools import combinations

from rackwright.clouds import AWS, profile
from rackwright.compile.network.addresses import MACHINES, addresses_needed, smallest
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan, SubnetPlan
from rackwright.validation.stack.registry import pools, rule

CONTROL = ("control", "all")
"""Purposes of subnets that take the control plane's interfaces"""
WHOLE_WORLD = ("0.0.0.0/0", "::/0")


@rule("V-62", Level.ERROR, "https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html")
def subnets_fit(plan: StackPlan) -> Iterator[Violation]:
    """Subnets and their secondary ranges do not overlap, and the accelerators' subnet has an address for every node."""
    ranges = list(_ranges(plan))
    for (at, name, one), (_, other_name, other) in combinations(ranges, 2):
        if ip_network(one).overlaps(ip_network(other)):
            yield Violation(at, f"such as {_after(one, other)} for {other_name}", detail=f"{name} {one} overlaps {other_name} {other}")
    nodes = sum(pool.nodes_max for _, pool in pools(plan) if pool.role == "accelerator") or 1
    cloud = profile(plan.place.cloud)
    need = addresses_needed(plan) if cloud.pods_use_subnet else nodes
    takes = f", which take {need}" if need > nodes else ""
    for index, subnet in _of_machines(plan):
        free = ip_network(subnet.cidr).num_addresses - cloud.reserved_addresses
        if free < need:
            at = At() / "network" / "subnets" / index / "cidr"
            yield Violation(
                at, f"a /{smallest(need)} is the smallest that fits", detail=f"{subnet.cidr} has {free} addresses for {nodes} nodes{takes}"
            )


@rule("V-80", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html")
def nothing_is_open_to_the_world(plan: StackPlan) -> Iterator[Violation]:
    """Neither the cluster's API nor a machine is reachable from every address."""
    for index, cidr in enumerate(plan.cluster.api_cidrs if plan.cluster else ()):
        if cidr in WHOLE_WORLD:
            yield Violation(
                At() / "cluster" / "api_cidrs" / index,
                "name your own ranges in blueprint.api_access.cidrs; to mean everyone, write api_access: public",
                detail=f"{cidr} is everyone",
            )
    if plan.cluster and plan.cluster.public_api and not plan.cluster.existing:
        fix = "api_access: {cidrs: [203.0.113.0/24]} with your own networks"
        words = "blueprint.api_access is public: 0.0.0.0/0 may call the API, and only IAM stands before it"
        yield Violation(At() / "cluster" / "public_api", fix, detail=words, level=Level.WARNING)
    for index, cidr in enumerate(plan.box.ingress if plan.box else ()):
        at = At() / "box" / "ingress" / index
        if cidr in WHOLE_WORLD:
            fix = "name your own networks in blueprint.ssh_from, such as 203.0.113.0/24, or write `anywhere`"
            yield Violation(at, fix, detail=f"{cidr} is everyone")
        elif cidr == "anywhere":
            fix = "name your own networks, or use Session Manager, which needs no open port"
            yield Violation(
                at, fix, detail="blueprint.ssh_from: anywhere opens SSH to every address that finds a way to the box", level=Level.WARNING
            )


@rule("R-01", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html", on=AWS)
def control_plane_spans_zones(plan: StackPlan) -> Iterator[Violation]:
    """EKS needs its control plane's subnets in two zones at least."""
    described = plan.network.subnets or not plan.network.existing_id
    if plan.cluster is None or plan.cluster.existing or not described:
        return
    private = [subnet for subnet in plan.network.subnets if not subnet.public]
    zones = {subnet.zone for subnet in private if subnet.purpose in CONTROL} or {subnet.zone for subnet in private}
    if len(zones) < 2 and "" not in zones:
        others = [zone for zone in plan.place.control_zones if zone not in zones][: 2 - len(zones)] or ["another zone"]
        fix = f"add a private control subnet in {' and one in '.join(others)}"
        yield Violation(At() / "network" / "subnets", fix, detail=f"there are {len(zones)}")


@rule("R-03", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html", Stage.BUILD, on=AWS)
def somebody_reaches_the_api(plan: StackPlan) -> Iterator[Violation]:
    """A private EKS API answers inside its network alone, so operators and queues can be installed from nowhere else."""
    inside = (plan.releases and "operators" in plan.layers) or (plan.manifests and "workloads" in plan.layers)
    cluster = plan.cluster
    if cluster is None or not cluster.private_api or cluster.runner_inside or not inside:
        return
    fix = "blueprint.api_access: {cidrs: [203.0.113.0/24]} with your own networks, or {runner: inside} where the update runs in that one"
    if cluster.existing:
        yield Violation(
            At() / "cluster" / "private_api", fix, detail="who may call a cluster that exists is not known", level=Level.WARNING
        )
    else:
        yield Violation(At() / "cluster" / "private_api", fix)


def _after(one: str, other: str) -> str:
    """The first range of the size of `other` after `one`."""
    first, moved = ip_network(one), ip_network(other)
    size = moved.num_addresses
    start = -(-(int(first.network_address) + first.num_addresses) // size) * size
    return f"{type(first.network_address)(start)}/{moved.prefixlen}"


def _ranges(plan: StackPlan) -> Iterator[tuple[At, str, str]]:
    for index, subnet in enumerate(plan.network.subnets):
        at = At() / "network" / "subnets" / index
        if subnet.cidr:
            yield at / "cidr", subnet.name, subnet.cidr
        yield from ((at / "secondary", f"{subnet.name}/{name}", cidr) for name, cidr in subnet.secondary)


def _of_machines(plan: StackPlan) -> Iterator[tuple[int, SubnetPlan]]:
    """Subnets with a known range that the accelerators live in: of this network all, of one that exists those of their zone."""
    for index, subnet in enumerate(plan.network.subnets):
        here = not plan.network.existing_id or subnet.zone in (plan.place.zone, "")
        if subnet.cidr and subnet.purpose in MACHINES and here:
            yield index, subnet
