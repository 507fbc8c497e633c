"""Address ranges of an existing cluster, from objects of its API: pods, services and nodes."""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, collapse_addresses
from typing import Any

BLOCK_PREFIX = 16
"""Ranges of one block of this size are written as one range that covers them, so that 1,024 nodes have a short list."""
RANGES = {
    "pod_cidr": "`podCIDRs` of the nodes and the IPPools of Calico",
    "service_cidr": "ServiceCIDR objects, which Kubernetes has since 1.33",
    "node_cidr": "addresses of the nodes",
}
"""Key of the inventory -> where the API shows its ranges."""
Object = dict[str, Any]


def cluster_ranges(nodes: Iterable[Object], service_cidrs: Iterable[Object], ip_pools: Iterable[Object]) -> dict[str, str | list[str]]:
    """Keys of `cluster` in an inventory with their IPv4 ranges; a key that the API does not show is left out.

    Nodes get their part of the pods' range from the controller manager; Calico assigns addresses of its own pools instead.
    https://docs.tigera.io/calico/latest/networking/ipam/get-started-ip-addresses
    """
    listed = [*nodes]
    pools = [pool["spec"].get("cidr", "") for pool in ip_pools if not pool["spec"].get("disabled")]
    pods = (cidr for node in listed for cidr in node["spec"].get("podCIDRs") or [node["spec"].get("podCIDR", "")])
    services = (cidr for each in service_cidrs for cidr in each["spec"].get("cidrs") or ())
    texts = {"pod_cidr": [*pods, *pools], "service_cidr": services, "node_cidr": _node_addresses(listed)}
    found = {key: _covering(values) for key, values in texts.items()}
    return {key: ranges[0] if len(ranges) == 1 else ranges for key, ranges in found.items() if ranges}


def open_ranges(cluster: Object) -> Iterator[str]:
    """What people complete by hand. cluster: the key of the inventory document."""
    for key in RANGES:
        if key not in cluster:
            yield f"cluster: {key} is unknown; add it, so that S-199 compares it with the addresses of the rails. Not found: {RANGES[key]}"
    if "node_cidr" in cluster:
        yield "cluster: node_cidr covers the addresses of today's nodes; write the range of their network"


def _node_addresses(nodes: Iterable[Object]) -> Iterator[str]:
    for node in nodes:
        for address in node.get("status", {}).get("addresses") or ():
            if address.get("type") == "InternalIP":
                yield address.get("address", "")


def _covering(texts: Iterable[str]) -> list[str]:
    """The fewest IPv4 ranges with all of these: one per block, and blocks next to each other as one."""
    blocks: dict[IPv4Network, list[IPv4Network]] = {}
    for network in filter(None, map(_network, texts)):
        block = network if network.prefixlen < BLOCK_PREFIX else network.supernet(new_prefix=BLOCK_PREFIX)
        blocks.setdefault(block, []).append(network)
    return [str(network) for network in collapse_addresses(map(_cover, blocks.values()))]


def _cover(networks: list[IPv4Network]) -> IPv4Network:
    """The smallest range that contains all of one block."""
    found = networks[0]
    while not all(network.subnet_of(found) for network in networks):
        found = found.supernet()
    return found


def _network(text: str) -> IPv4Network | None:
    """An IPv4 range or address; None for IPv6, which rails do not use, and for other text."""
    try:
        return IPv4Network(text, strict=False)
    except ValueError:
        return None
