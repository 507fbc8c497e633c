"""Which machines read a Lustre file system over EFA, and over how many of their interfaces.

https://docs.aws.amazon.com/fsx/latest/LustreGuide/configure-efa-clients.html (2026): Amazon Linux 2023, and machines on Nitro v4 or
newer but Trainium2.
"""

from collections.abc import Sequence
from dataclasses import replace

from rackwright.catalog.rows import Machine
from rackwright.compile.nodes.machine_facts import machine_facts
from rackwright.stackplan import LustrePlan, PoolPlan
from rackwright.stackplan.images import image_family

TOO_OLD = ("dl1", "dl2q", "g4dn", "g5.", "inf1", "p3dn", "p4d", "trn2")
"""Prefixes of EFA machines that do not: Nitro v3 (first version of EFA), or left out by the guide."""
INTERFACES = {"p6-b300": 16, "p6-b200": 8, "p6e-gb200": 8, "p5en": 8, "p5e.": 8, "p5.48xlarge": 8}
"""What FSx's own set-up of a client uses; of other machines two, and one where there is one network card."""
FEW = 2
MOST_CONNECTIONS = 1024
"""Interfaces of all clients together, per file system."""


def reads_over_efa(machine: Machine, image: str) -> bool:
    """image: family or neutral name of what its nodes start from."""
    return bool(machine.efa_cards) and not machine.name.startswith(TOO_OLD) and image_family(image) == "al2023"


def lustre_clients(plan: LustrePlan | None, pools: Sequence[PoolPlan]) -> tuple[PoolPlan, ...]:
    """The pools, each with the interfaces it reads the file system over: fewer where all their machines would be too many connections."""
    if plan is None or not plan.rdma:
        return tuple(pools)
    usual = {pool.name: _usual(pool) for pool in pools}
    nodes = sum(pool.nodes_max for pool in pools if usual[pool.name])
    each = MOST_CONNECTIONS // max(1, nodes)
    return tuple(replace(pool, lustre_interfaces=min(each, usual[pool.name])) for pool in pools)


def _usual(pool: PoolPlan) -> int:
    machine, fabric = machine_facts(pool.machine), pool.fabric_interfaces
    if not fabric or not reads_over_efa(machine, pool.image):
        return 0
    return min(fabric, next((count for prefix, count in INTERFACES.items() if pool.machine.startswith(prefix)), FEW))
