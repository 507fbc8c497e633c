"""How many machines of a pool are paid for: what runs at the start, and of the sized pools what sizing reckons with."""

from rackwright.compile.pools import ROLE_LABEL
from rackwright.compile.wants import PoolWant
from rackwright.sizing.plan import Fit


def does_the_work(pool: PoolWant) -> bool:
    """Whether it is for the sized work: the sized pool itself, or one of its fallback."""
    return (ROLE_LABEL, "accelerator") in pool.labels


def is_sized(pool: PoolWant, fit: Fit) -> bool:
    """Whether the pool holds the fit's own machines; the others of a fallback are bought another way."""
    chosen, want = fit.candidate, pool.capacity
    bought = (want.mode, want.reservation_id or want.group_arn) == (chosen.capacity, chosen.capacity_id)
    return does_the_work(pool) and bought


def nodes_at_start(pool: PoolWant, fit: Fit) -> int:
    """Of a slice its hosts, of the sized pool the fit's nodes, of any other what it starts with."""
    return fit.candidate.nodes // max(1, fit.candidate.slices) if is_sized(pool, fit) else pool.nodes_start
