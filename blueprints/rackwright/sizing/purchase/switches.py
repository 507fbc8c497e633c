"""Switches and links of a rail-optimised fat tree without oversubscription. Numbers in, numbers out."""

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class FatTree:
    """Switches by tier and links between tiers. spines: also of the second of three tiers.

    server_links: one per port of a server. switch_links: between switches.
    """

    leaves: int = 0
    spines: int = 0
    cores: int = 0
    server_links: int = 0
    switch_links: int = 0

    @property
    def switches(self) -> int:
        return self.leaves + self.spines + self.cores

    @property
    def cables(self) -> int:
        """One per link."""
        return self.server_links + self.switch_links

    @property
    def switch_ends(self) -> int:
        """Ends of links in ports of switches."""
        return self.server_links + 2 * self.switch_links


def max_endpoints(ports: int) -> int:
    """Ports of servers that three tiers of switches join: P^3 / 4 for P ports (Al-Fares et al. 2008, section 3)."""
    return ports**3 // 4


def fat_tree(servers: int, rails: int, ports: int) -> FatTree:
    """The fabric for servers with one port per rail. ports: of a switch.

    One switch joins all ports where it has enough of them. Otherwise each leaf has half of its ports down, for ports of one rail or of
    several whole rails, and as many up, the same number to each spine. Two tiers join P^2/2 ports, three P^3/4. Of three tiers, each pod
    has P/2 spines, the last one fewer; spine i of every pod has all its uplinks to the same cores.
    Equals table 3 of NVIDIA's DGX SuperPOD reference architectures: 128 servers of 8 ports have 32 leaves and 16 spines of 64 ports, 512
    servers 128 leaves, 128 spines and 64 cores (docs.nvidia.com/dgx-superpod/reference-architecture-scalable-infrastructure-b200).
    Raises ValueError for more ports than three tiers join.
    """
    endpoints = servers * rails
    if servers < 2 or not rails:
        return FatTree()
    if endpoints > max_endpoints(ports):
        raise ValueError(endpoints)
    if endpoints <= ports:
        return FatTree(leaves=1, server_links=endpoints)
    down = ports // 2
    groups, rest = divmod(servers, down)
    leaves = groups * rails + _leaves(rest, rails, down)
    if endpoints <= ports * down:
        return FatTree(leaves, _even(ceil(endpoints / ports), down), 0, endpoints, endpoints)
    pods, last = divmod(ceil(endpoints / down), down)
    spines = pods * down + (_even(last, down) if last else 0)
    cores = down * _even(ceil(endpoints / ports / down), down)
    return FatTree(leaves, spines, cores, endpoints, 2 * endpoints)


def _even(switches: int, uplinks: int) -> int:
    """The smallest number of switches from `switches` on that divides the uplinks of a switch below: each gets the same number of links."""
    return next(number for number in range(switches, uplinks + 1) if uplinks % number == 0)


def _leaves(servers: int, rails: int, down: int) -> int:
    """Leaves of a group of servers: each has whole rails."""
    return ceil(rails / (down // servers)) if servers else 0
