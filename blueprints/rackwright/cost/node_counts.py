"""How many machines of a pool are paid for: what runs at the start, and of the sized pools what sizing reckons with."""

from rackwright.sizing.plan import Fit
from rackwright.stackplan import PoolPlan
from rackwright.stackplan.labels import ROLE_LABEL


def does_the_work(pool: PoolPlan) -> bool:
    """Whether it is for the sized work: the sized pool itself, or one of its fallback."""
    return (ROLE_LABEL, "accelerator") in pool.labels


def is_sized(pool: PoolPlan, fit: Fit) -> bool:
    """Whether the pool holds the fit's own machines; the others of a fallback are bought another way."""
    chosen, plan = fit.candidate, pool.capacity
    bought = (plan.mode, plan.reservation_id or plan.group_arn) == (chosen.capacity, chosen.capacity_id)
    return does_the_work(pool) and bought


def nodes_at_start(pool: PoolPlan, fit: Fit) -> int:
    """Of a slice its hosts, of the sized pool the fit's nodes, of any other what it starts with."""
    return fit.candidate.nodes // max(1, fit.candidate.slices) if is_sized(pool, fit) else pool.nodes_start
