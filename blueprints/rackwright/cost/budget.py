"""Check of the bill against goals.max_cost. Sizing evaluates machines only; the bill includes the other costs and the largest size."""

from rackwright.cost.bill import Bill
from rackwright.cost.node_counts import does_the_work
from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.sizing.plan import Fit
from rackwright.spec.spec import Spec
from rackwright.stackplan import StackPlan
from rackwright.units import MONTH_H

ID = "V-111"
AT = At() / "goals" / "max_cost"


def check_budget(bill: Bill, stack: StackPlan, fit: Fit, spec: Spec) -> list[Problem]:
    """V-111 as warnings: the bill exceeds the goal, or would with the maximum number of machines. None when acknowledged.

    Pools of a fallback are alternatives: together they have at most as many machines as the replicas need.
    """
    goal = spec.goals.max_cost
    if goal is None or any(entry.rule == ID for entry in spec.acknowledge):
        return []
    if bill.total_usd > goal:
        words = f"{bill.covers} costs {bill.total_usd:,.0f} USD with network, storage and control plane; goals.max_cost is {goal:,.0f} USD"
        return [Problem(ID, words, AT, "raise the goal, or choose a cheaper fit", Level.WARNING)]
    price, max_nodes = fit.candidate.price_usd_per_hour, max((pool.nodes_max for pool in stack.pools if does_the_work(pool)), default=0)
    if price is not None and fit.duration_s is None and price * max_nodes * MONTH_H > goal:
        usd = price * max_nodes * MONTH_H
        words = f"a month with the maximum of {max_nodes} machines costs {usd:,.0f} USD; goals.max_cost is {goal:,.0f} USD"
        return [Problem(ID, words, AT, "lower max_replicas, or raise the goal", Level.WARNING)]
    return []
