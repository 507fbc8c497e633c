"""Address ranges, and access to the cluster's API, to machines and from the internet."""

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_network
from itertools import combinations

from rackwright.clouds import AWS, profile
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.stackplan.addresses import CONTROL_PURPOSES, MACHINE_PURPOSES, addresses_needed, smallest_prefix
from rackwright.validation.stack.registry import pools, rule

ANY_ADDRESS = ("0.0.0.0/0", "::/0")


@rule("V-62", Level.ERROR, "https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html")
def subnets_fit(plan: StackPlan) -> Iterator[Violation]:
    """Subnets, their secondary ranges and accelerator networks do not overlap; those of accelerators have an address for every node."""
    ranges: list[tuple[At, str, IPv4Network | IPv6Network]] = []
    for index, subnet in enumerate(plan.network.subnets):
        at = At() / "network" / "subnets" / index
        ranges += [(at / "cidr", subnet.name, ip_network(subnet.cidr))] if subnet.cidr else []
        ranges += [(at / "secondary", f"{subnet.name}/{name}", ip_network(cidr)) for name, cidr in subnet.secondary]
    further = At() / "network" / "accelerator_networks"
    for i, each in enumerate(plan.network.accelerator_networks):
        ranges.append((further / i / "cidr", each.name, ip_network(each.cidr)))
        ranges += [(further / i / "further_cidrs" / n, f"{each.name}-{n + 1}", ip_network(c)) for n, c in enumerate(each.further_cidrs)]
    services = plan.network.private_services_cidr
    ranges += [(At() / "network" / "private_services_cidr", "private services", ip_network(services))] if services else []
    for (at, name, one), (_, other_name, other) in combinations(ranges, 2):
        if one.overlaps(other):
            yield Violation(at, f"use {_after(one, other)} for {other_name}", f"Subnet {name} ({one}) overlaps {other_name} ({other})")
    nodes = sum(pool.nodes_max for _, pool in pools(plan) if pool.role == "accelerator") or 1
    cloud = profile(plan.place.cloud)
    need = addresses_needed(plan) if cloud.pods_use_subnet else nodes
    for index, subnet in enumerate(plan.network.subnets):
        here = not plan.network.existing_id or subnet.zone in (plan.place.zone, "")
        nodes_use_it = subnet.cidr and subnet.purpose in MACHINE_PURPOSES and here
        usable = ip_network(subnet.cidr).num_addresses - cloud.reserved_addresses if nodes_use_it else need
        if usable < need:
            users = f"{nodes} nodes" if need == nodes else f"{nodes} nodes with their pods"
            message = f"Subnet {subnet.cidr} has {usable} addresses, but {users} need {need}"
            yield Violation(At() / "network" / "subnets" / index / "cidr", f"use a /{smallest_prefix(need)} or larger", message)
    for index, network in enumerate(plan.network.accelerator_networks):
        usable = ip_network(network.cidr).num_addresses - cloud.reserved_addresses
        if usable < nodes:
            message = f"Network {network.name} ({network.cidr}) has {usable} addresses, but {nodes} nodes need {nodes}"
            yield Violation(further / index / "cidr", f"use a /{smallest_prefix(nodes)} or larger", message)


@rule("V-80", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html")
def access_is_restricted(plan: StackPlan) -> Iterator[Violation]:
    """The cluster's API and SSH of a box are not open to every address."""
    for index, cidr in enumerate(plan.cluster.api_cidrs if plan.cluster else ()):
        if cidr in ANY_ADDRESS:
            fix = "set blueprint.api_access.cidrs to your networks; for every address, write api_access: public"
            yield Violation(At() / "cluster" / "api_cidrs" / index, fix, f"The cluster's API is open to {cidr}, which is every address")
    if plan.cluster and plan.cluster.public_api and not plan.cluster.existing:
        fix = "set api_access: {cidrs: [203.0.113.0/24]} with your networks"
        message = "blueprint.api_access is public: every address (0.0.0.0/0) reaches the cluster's API, protected by IAM only"
        yield Violation(At() / "cluster" / "public_api", fix, message, level=Level.WARNING)
    for index, cidr in enumerate(plan.box.ingress if plan.box else ()):
        at = At() / "box" / "ingress" / index
        if cidr in ANY_ADDRESS:
            fix = "set blueprint.ssh_from to your networks, such as 203.0.113.0/24, or write `anywhere`"
            yield Violation(at, fix, f"SSH of the box is open to {cidr}, which is every address")
        elif cidr == "anywhere":
            fix = "set it to your networks, or use Session Manager, which needs no open port"
            message = "blueprint.ssh_from is anywhere, so SSH of the box is open to every address"
            yield Violation(at, fix, message, level=Level.WARNING)


@rule("R-01", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html", on=AWS)
def control_plane_spans_zones(plan: StackPlan) -> Iterator[Violation]:
    """The subnets of an EKS control plane are in at least two zones."""
    described = plan.network.subnets or not plan.network.existing_id
    if plan.cluster is None or plan.cluster.existing or not described:
        return
    private = [subnet for subnet in plan.network.subnets if not subnet.public]
    zones = {subnet.zone for subnet in private if subnet.purpose in CONTROL_PURPOSES} or {subnet.zone for subnet in private}
    if len(zones) < 2 and "" not in zones:
        others = [zone for zone in plan.place.control_zones if zone not in zones][: 2 - len(zones)] or ["another zone"]
        found = f"one zone, {next(iter(zones))}" if zones else "no zone"
        message = f"The control plane has private subnets in {found}; EKS requires two zones"
        yield Violation(At() / "network" / "subnets", f"add a private control subnet in {' and one in '.join(others)}", message)


@rule("R-03", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html", Stage.BUILD)
def api_is_reachable_for_updates(plan: StackPlan) -> Iterator[Violation]:
    """The machine that runs an update reaches the cluster's API; a private API is reachable only from the cluster's network."""
    objects = (plan.releases and "operators" in plan.layers) or (plan.manifests and "workloads" in plan.layers)
    cluster = plan.cluster
    if cluster is None or not cluster.private_api or cluster.runner_inside or not objects:
        return
    fix = "set blueprint.api_access to {cidrs: [203.0.113.0/24]} with your networks, or to {runner: inside} if updates run in the network"
    at = At() / "cluster" / "private_api"
    if cluster.existing:
        message = f"The spec does not state how updates reach the API of the existing cluster {cluster.existing}"
        yield Violation(at, fix, message, level=Level.WARNING, blocks_update=False)  # it may be reachable
    else:  # charts could not be installed, and the cluster would be billed without them
        yield Violation(at, fix, "The cluster's API is private, so charts and objects can be installed only from inside its network")


def _after(one: IPv4Network | IPv6Network, other: IPv4Network | IPv6Network) -> str:
    """The first range of the size of `other` after `one`."""
    size = other.num_addresses
    start = -(-(int(one.network_address) + one.num_addresses) // size) * size
    return f"{type(one.network_address)(start)}/{other.prefixlen}"
