"""How an update replaces the machines of a managed pool: how many together, and within which time."""

import math
from dataclasses import replace

from rackwright.compile.compile_context import CompileContext
from rackwright.stackplan import PoolPlan, StackPlan


def with_rolls(context: CompileContext, plan: StackPlan) -> StackPlan:
    """`plan` with the roll settings of its managed pools; unchanged on a cloud without limits in the catalog."""
    return replace(plan, pools=tuple(_with_roll(context, pool) for pool in plan.pools))


def _with_roll(context: CompileContext, pool: PoolPlan) -> PoolPlan:
    """As many machines together as replace the pool within the provider's time limit; a longer limit where the cloud allows fewer."""
    cloud, limit = context.candidate.cloud, context.catalog.capacity_rule
    node_s, update_s = limit(cloud, None, "node_roll_s"), limit(cloud, None, "pool_update_s")
    most = limit(cloud, None, "most_unavailable_nodes")
    if pool.provisioner != "managed" or not (node_s and update_s and most):
        return pool
    together = min(int(most), max(1, math.ceil(pool.nodes_max * node_s / update_s)))
    needed_s = math.ceil(pool.nodes_max / together) * node_s
    return replace(pool, max_unavailable=together, update_minutes=math.ceil(max(update_s, needed_s) / 60))
