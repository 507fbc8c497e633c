"""Which machines read a Lustre file system over EFA, and over how many of their interfaces.

https://docs.aws.amazon.com/fsx/latest/LustreGuide/configure-efa-clients.html (2026): Amazon Linux 2023, and machines on Nitro v4 or
newer but Trainium2.
"""

from collections.abc import Sequence
from dataclasses import replace

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.compile.nodes.images import family_of
from rackwright.stackplan import LustrePlan, PoolPlan

MOST_CONNECTIONS = 1024
"""Interfaces of all clients together, per file system."""


def reads_over_efa(machine: Machine, image: str) -> bool:
    """image: family or neutral name of what its nodes start from."""
    return machine.lustre_interfaces > 0 and family_of(image) == "al2023"


def lustre_clients(catalog: Catalog, plan: LustrePlan | None, pools: Sequence[PoolPlan]) -> tuple[PoolPlan, ...]:
    """The pools, each with the interfaces it reads the file system over: fewer where all their machines would be too many connections."""
    if plan is None or not plan.rdma:
        return tuple(pools)
    usual = {pool.name: _usual(catalog.machine(pool.machine), pool) for pool in pools}
    nodes = sum(pool.nodes_max for pool in pools if usual[pool.name])
    each = MOST_CONNECTIONS // max(1, nodes)
    return tuple(replace(pool, lustre_interfaces=min(each, usual[pool.name])) for pool in pools)


def _usual(machine: Machine, pool: PoolPlan) -> int:
    """What FSx's own set-up of a client uses, as far as the pool has interfaces."""
    return min(pool.fabric_interfaces, machine.lustre_interfaces) if reads_over_efa(machine, pool.image) else 0
