"""Number of machines of a pool that a bill pays for."""

from rackwright.sizing.plan import Fit
from rackwright.stackplan import PoolPlan, StackPlan


def is_sized(pool: PoolPlan, fit: Fit) -> bool:
    """Whether the pool holds the machines of the fit; other pools of a fallback use another capacity mode."""
    chosen, plan = fit.candidate, pool.capacity
    bought = (plan.mode, plan.reservation_id or plan.group_arn) == (chosen.capacity, chosen.capacity_id)
    return pool.does_the_work and bought and (not pool.serves or fit.workload in pool.serves)


def fit_of(pool: PoolPlan, fit: Fit) -> Fit | None:
    """The fit whose machines the pool holds: of the stack's one workload, or of one of several; None where it holds others."""
    return next((each for each in fit.each_workload if is_sized(pool, each)), None)


def sized_nodes(stack: StackPlan, fit: Fit) -> int:
    """Machines of the fit that the sized pool provides: all, or those that remain after the earlier pools of a fallback."""
    filled = _filled_pools(stack, fit)
    return next((nodes for pool, nodes in filled if is_sized(pool, fit)), fit.candidate.nodes)


def billed_nodes(stack: StackPlan, pool: PoolPlan, fit: Fit) -> int:
    """Machines of a pool that are paid for: the hosts of a slice, the machines of the fit that a pool of a fallback provides, or those
    with which the pool starts."""
    if sized := fit_of(pool, fit):
        return sized_nodes(stack, sized) // max(1, sized.candidate.slices)
    return max(pool.nodes_start, {each.name: nodes for each, nodes in _filled_pools(stack, fit)}.get(pool.name, 0))


def _filled_pools(stack: StackPlan, fit: Fit) -> list[tuple[PoolPlan, int]]:
    """Pools of a fallback with the machines of the fit that each provides. A capacity block provides machines within its hours only."""
    filled, remaining = [], fit.candidate.nodes
    for pool in stack.fallback_pools:
        nodes = min(remaining, pool.nodes_start if pool.capacity.mode == "capacity-block" else pool.nodes_max)
        filled.append((pool, nodes))
        remaining -= nodes
    return filled
