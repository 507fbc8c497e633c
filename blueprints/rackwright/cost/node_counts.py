"""Number of machines of a pool that a bill pays for."""

from rackwright.sizing.plan import Fit
from rackwright.stackplan import PoolPlan, StackPlan
from rackwright.stackplan.labels import ROLE_LABEL


def does_the_work(pool: PoolPlan) -> bool:
    """Whether the pool runs the sized workload: the sized pool or one of its fallback. In an existing cluster the label has a prefix."""
    return pool.role == "accelerator" and ROLE_LABEL in dict(pool.labels)


def is_sized(pool: PoolPlan, fit: Fit) -> bool:
    """Whether the pool holds the machines of the fit; other pools of a fallback use another capacity mode."""
    chosen, plan = fit.candidate, pool.capacity
    bought = (plan.mode, plan.reservation_id or plan.group_arn) == (chosen.capacity, chosen.capacity_id)
    return does_the_work(pool) and bought


def sized_nodes(stack: StackPlan, fit: Fit) -> int:
    """Machines of the fit that the sized pool provides: all, less those that earlier pools of a fallback start with."""
    works = [pool for pool in stack.pools if does_the_work(pool)]
    sized = min((pool.preference for pool in works if is_sized(pool, fit)), default=0)
    return max(0, fit.candidate.nodes - sum(pool.nodes_start for pool in works if pool.preference < sized))


def nodes_at_start(stack: StackPlan, pool: PoolPlan, fit: Fit) -> int:
    """Initial machines: the hosts of a slice, those of the fit for the sized pool, else the initial size of the pool."""
    return sized_nodes(stack, fit) // max(1, fit.candidate.slices) if is_sized(pool, fit) else pool.nodes_start
