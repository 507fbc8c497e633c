"""IP addresses on AWS: what nodes and pods take, and what subnets hold."""

import math
from ipaddress import IPv4Network

from rackwright.catalog.rows import Machine
from rackwright.stackplan.network import SubnetPlan
from rackwright.stackplan.nodes import NicPlan, PoolPlan
from rackwright.stackplan.plan import StackPlan

AWS_RESERVED_ADDRESSES = 5
"""Addresses per subnet that AWS reserves: https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html"""
POD_PREFIX_ADDRESSES = 16
"""Addresses of the first pod prefix of a node; the second, kept warm, is optional and not counted
(aws/amazon-vpc-cni-k8s docs/prefix-and-ip-target.md)."""
VPC_MIN_PREFIX, SUBNET_MAX_PREFIX = 16, 28
"""Shortest prefix of a VPC and longest prefix of a subnet: https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"""
MACHINE_PURPOSES, CONTROL_PURPOSES = ("nodes", "all"), ("control", "all")
"""Purposes of subnets for accelerator nodes, and for the network interfaces of the control plane."""


def node_addresses(pool: PoolPlan, prefixes: bool) -> int:
    """Addresses of one node: one per IP interface (EFA-only interfaces have none), and one prefix where pods use prefixes."""
    interfaces = sum(nic.kind != "fabric" for nic in pool.nics) or 1
    return interfaces + (POD_PREFIX_ADDRESSES if prefixes or pool.pod_prefixes else 0)


def addresses_needed(plan: StackPlan) -> int:
    """Addresses of all accelerator nodes at their maximum number."""
    prefixes = any(dict(addon.values).get("env", {}).get("ENABLE_PREFIX_DELEGATION") == "true" for addon in plan.addons)
    pools = (pool for pool in plan.pools if pool.role == "accelerator")
    return sum(pool.nodes_max * node_addresses(pool, prefixes) for pool in pools) or int(plan.box is not None)


def smallest_prefix(addresses: int) -> int:
    """Prefix length of the smallest subnet with that many usable addresses."""
    return min(SUBNET_MAX_PREFIX, 32 - math.ceil(math.log2(addresses + AWS_RESERVED_ADDRESSES)))


def free_addresses(subnet: SubnetPlan) -> int:
    """Usable addresses of a subnet."""
    return IPv4Network(subnet.cidr).num_addresses - AWS_RESERVED_ADDRESSES


PREFIX_ADDRESSES = 16
"""Addresses of a /28, which prefix delegation assigns in place of one address
(docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses.html)."""
HOST_PODS = 2
"""kube-proxy and the VPC CNI use the node's own address (awslabs/amazon-eks-ami@81fec2e nodeadm eni_max_pods.go)."""
SMALL_NODE_VCPUS, SMALL_NODE_PODS, NODE_MAX_PODS = 30, 110, 250
"""Pod limits of managed node groups, with and without prefixes (awsdocs/amazon-eks-user-guide@4d52b4d create-managed-node-group)."""


def max_pods(machine: Machine, nics: tuple[NicPlan, ...], prefixes: bool) -> int | None:
    """Maximum pods of an EKS node. The VPC CNI takes pod addresses from IP interfaces of card 0 only.

    prefixes: whether prefix delegation replaces each secondary address by 16. None where the machine's interfaces are not published.
    """
    if machine.enis_per_card is None or machine.ipv4_per_eni is None or machine.vcpus is None:
        return None
    with_addresses = machine.enis_per_card - sum(nic.card == 0 and nic.kind == "fabric" for nic in nics)
    slots = with_addresses * (machine.ipv4_per_eni - 1)
    limit = SMALL_NODE_PODS if machine.vcpus < SMALL_NODE_VCPUS else NODE_MAX_PODS
    return min(slots * (PREFIX_ADDRESSES if prefixes else 1) + HOST_PODS, limit)
