"""The bill against goals.max_cost: of pinned or recorded machines, which sizing does not reject, of each pool of a fallback, and at the
largest size."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.sizing.plan import Fit
from rackwright.stackplan import PoolPlan, StackPlan
from rackwright.units import MONTH_H
from rackwright.validation.stack.registry import StackContext, context_rule

MAX_COST = At() / "goals" / "max_cost"


def _pools_of(fit: Fit, plan: StackPlan) -> list[PoolPlan]:
    """Pools that do the work of a fit, which is that of one workload."""
    return [pool for pool in plan.pools if pool.does_the_work and pool.serves in ((), (fit.workload,))]


@context_rule("V-111", Level.WARNING)
def bill_is_within_the_goal(context: StackContext) -> Iterator[Violation]:
    """The cost of the run, on each pool of a fallback, or of a month at the maximum size, is at most goals.max_cost"""
    bill, fit, goal = context.bill, context.fit, context.spec.goals.max_cost if context.spec else None
    if bill is None or fit is None or goal is None:
        return
    if bill.total_usd > goal:
        words = f"{bill.covers} costs {bill.total_usd:,.0f} USD with network, storage and control plane; goals.max_cost is {goal:,.0f} USD"
        yield Violation(MAX_COST, "raise the goal, or choose a cheaper fit", words)
        return
    dearest = max(((cost.total_usd or 0, cost.pool) for cost in bill.fallback), default=(0, ""))
    if dearest[0] > goal:
        words = f"{bill.covers} on pool {dearest[1]} of the fallback costs {dearest[0]:,.0f} USD; goals.max_cost is {goal:,.0f} USD"
        yield Violation(MAX_COST, "raise the goal, or remove the entry from capacity.fallback", words)
        return
    # Pools of a fallback are alternatives: together they have at most as many machines as the replicas need.
    counts = [(each, max((p.nodes_max for p in _pools_of(each, context.plan)), default=0)) for each in fit.each_workload]
    usd, max_nodes = sum((each.candidate.price_usd_per_hour or 0.0) * n * MONTH_H for each, n in counts), sum(n for _, n in counts)
    if fit.duration_s is None and usd > goal:
        words = f"a month with the maximum of {max_nodes} machines costs {usd:,.0f} USD; goals.max_cost is {goal:,.0f} USD"
        yield Violation(MAX_COST, "lower max_replicas, or raise the goal", words)
