"""Number of machines of a pool that a bill pays for."""

from rackwright.compile.nodes.pools import ROLE_LABEL
from rackwright.sizing.plan import Fit
from rackwright.stackplan import PoolPlan


def does_the_work(pool: PoolPlan) -> bool:
    """Whether the pool runs the sized workload: the sized pool or one of its fallback."""
    return (ROLE_LABEL, "accelerator") in pool.labels


def is_sized(pool: PoolPlan, fit: Fit) -> bool:
    """Whether the pool holds the machines of the fit; other pools of a fallback use another capacity mode."""
    chosen, plan = fit.candidate, pool.capacity
    bought = (plan.mode, plan.reservation_id or plan.group_arn) == (chosen.capacity, chosen.capacity_id)
    return does_the_work(pool) and bought


def nodes_at_start(pool: PoolPlan, fit: Fit) -> int:
    """Initial machines: the hosts of a slice, the nodes of the fit for the sized pool, else the initial size of the pool."""
    return fit.candidate.nodes // max(1, fit.candidate.slices) if is_sized(pool, fit) else pool.nodes_start
