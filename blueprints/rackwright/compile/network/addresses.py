"""Addresses that machines take in a subnet of AWS, and the ranges a network is cut into."""

import math
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Network

from rackwright.stackplan import NetworkPlan, PoolPlan, StackPlan, SubnetPlan

AWS_CIDR = "10.0.0.0/16"
RESERVED = 5
"""Addresses of a subnet that AWS keeps: https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html"""
PREFIX = 16
"""Addresses of the prefix a node takes for its first pods; a second one, kept warm, is comfort and not counted
(aws/amazon-vpc-cni-k8s docs/prefix-and-ip-target.md)."""
LARGEST, SMALLEST = 16, 28
"""Prefix lengths of a VPC and of its subnets: https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"""
MACHINES, CONTROL = ("nodes", "all"), ("control", "all")
"""Purposes of subnets that accelerators' machines live in, and that take the control plane's interfaces."""


def node_addresses(pool: PoolPlan, prefixes: bool) -> int:
    """Of one node: one per interface that has an address (EFA-only interfaces have none), and a prefix where pods take theirs so."""
    interfaces = sum(nic.kind != "fabric" for nic in pool.nics) or 1
    return interfaces + (PREFIX if prefixes or pool.pod_prefixes else 0)


def addresses_needed(plan: StackPlan) -> int:
    """Addresses that the accelerators' machines take in their zone at their most."""
    prefixes = any(dict(addon.values).get("env", {}).get("ENABLE_PREFIX_DELEGATION") == "true" for addon in plan.addons)
    pools = (pool for pool in plan.pools if pool.role == "accelerator")
    return sum(pool.nodes_max * node_addresses(pool, prefixes) for pool in pools) or int(plan.box is not None)


def smallest(addresses: int) -> int:
    """Prefix length of the smallest subnet that has so many addresses to give."""
    return min(SMALLEST, 32 - math.ceil(math.log2(addresses + RESERVED)))


def free(subnet: SubnetPlan) -> int:
    return IPv4Network(subnet.cidr).num_addresses - RESERVED


def laid_out(network: NetworkPlan, cidr: str) -> NetworkPlan:
    """The same subnets in another range: those of machines share its upper half, the others its lower half."""
    lower, upper = IPv4Network(cidr).subnets(prefixlen_diff=1)
    machines = sum(subnet.purpose in MACHINES for subnet in network.subnets)
    ranges = {True: _parts(upper, machines), False: _parts(lower, len(network.subnets) - machines)}
    subnets = tuple(replace(subnet, cidr=next(ranges[subnet.purpose in MACHINES])) for subnet in network.subnets)
    return replace(network, cidr=cidr, subnets=subnets)


def widened(network: NetworkPlan, addresses: int) -> NetworkPlan:
    """The usual network; where its machines' subnet holds too few, that is the upper half instead, and the others stay where they are."""
    machines = [subnet for subnet in network.subnets if subnet.purpose == "nodes"]
    if network.cidr != AWS_CIDR or len(machines) != 1 or free(machines[0]) >= addresses:
        return network
    upper = str(list(IPv4Network(AWS_CIDR).subnets(prefixlen_diff=1))[1])
    return replace(network, subnets=tuple(replace(s, cidr=upper) if s in machines else s for s in network.subnets))


def _parts(whole: IPv4Network, count: int) -> Iterator[str]:
    return map(str, whole.subnets(prefixlen_diff=math.ceil(math.log2(max(1, count)))))
