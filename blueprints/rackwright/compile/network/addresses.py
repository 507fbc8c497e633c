"""Addresses that machines take in a subnet of AWS, and the ranges a network is cut into."""

import math
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Network

from rackwright.stackplan import NetworkPlan
from rackwright.stackplan.addresses import MACHINE_PURPOSES, free_addresses

AWS_CIDR = "10.0.0.0/16"


def assign_ranges(network: NetworkPlan, cidr: str) -> NetworkPlan:
    """The same subnets in another range: those of machines share its upper half, the others its lower half."""
    lower, upper = IPv4Network(cidr).subnets(prefixlen_diff=1)
    machines = sum(subnet.purpose in MACHINE_PURPOSES for subnet in network.subnets)
    ranges = {True: _parts(upper, machines), False: _parts(lower, len(network.subnets) - machines)}
    subnets = tuple(replace(subnet, cidr=next(ranges[subnet.purpose in MACHINE_PURPOSES])) for subnet in network.subnets)
    return replace(network, cidr=cidr, subnets=subnets)


def widen_machine_subnet(network: NetworkPlan, addresses: int) -> NetworkPlan:
    """The usual network; where its machines' subnet holds too few, that is the upper half instead, and the others stay where they are."""
    machines = [subnet for subnet in network.subnets if subnet.purpose == "nodes"]
    if network.cidr != AWS_CIDR or len(machines) != 1 or free_addresses(machines[0]) >= addresses:
        return network
    upper = str(list(IPv4Network(AWS_CIDR).subnets(prefixlen_diff=1))[1])
    return replace(network, subnets=tuple(replace(s, cidr=upper) if s in machines else s for s in network.subnets))


def _parts(whole: IPv4Network, count: int) -> Iterator[str]:
    return map(str, whole.subnets(prefixlen_diff=math.ceil(math.log2(max(1, count)))))
