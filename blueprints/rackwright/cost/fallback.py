"""Cost of a stack whose work runs on a later pool of its fallback, which has another price than the pools of the bill."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import CapacityMode
from rackwright.cost.bill_line import BillLine
from rackwright.cost.node_counts import billed_nodes, is_sized
from rackwright.cost.prices import machine_price
from rackwright.sizing.plan import Fit
from rackwright.spec.spec import Spec
from rackwright.stackplan import StackPlan
from rackwright.stackplan.capacity import ADJACENT_MODES


@dataclass(frozen=True)
class FallbackCost:
    """Total of the bill with the work on one pool. nodes: machines of that pool. total_usd: None where its price is not published."""

    pool: str
    mode: str
    machine: str
    nodes: int
    total_usd: float | None


def fallback_costs(
    stack: StackPlan, fit: Fit, spec: Spec, catalog: Catalog, lines: Iterable[BillLine], hours: float
) -> Iterator[FallbackCost]:
    """One cost per pool that can provide more machines of the fit than the bill counts, over the time of the fit.

    lines: of the bill. Its machines of other pools are not paid for then, except those of reservations and capacity blocks.
    """
    pools, totals = stack.fallback_pools, [(line.pool, line.total_usd or 0) for line in lines]
    bought = {pool.name for pool in pools if pool.capacity.mode in ADJACENT_MODES}
    discount = spec.pricing.discounts.get(stack.place.cloud, 0.0)
    for pool in pools:
        nodes, mode = min(fit.candidate.nodes, pool.nodes_max), pool.capacity.mode
        if mode == "capacity-block" or nodes <= billed_nodes(stack, pool, fit):
            continue
        released = {pool.name} | ({each.name for each in pools} - bought)
        price = machine_price(catalog, pool.machine, stack.place.region, discount, CapacityMode(mode)).usd
        price = fit.candidate.price_usd_per_hour if is_sized(pool, fit) else price
        remaining = sum(usd for name, usd in totals if name not in released)
        yield FallbackCost(pool.name, mode, pool.machine, nodes, None if price is None else remaining + price * nodes * hours)
