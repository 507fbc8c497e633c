"""Sentences about a plan of several workloads that share a stack."""

from collections.abc import Iterator

from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.wording.formatting import STRATEGIES, machines, usd


def together_text(plan: SizingPlan) -> str:
    """Which pool each workload has, and what the machines of all cost; empty where no combination fits."""
    chosen = plan.chosen
    if chosen is None:
        return ""
    pools = "; ".join(f"{_members(fit)} on {machines(fit.candidate)}" for fit in chosen.each_pool)
    owned = "on pools of which several share one" if len(chosen.each_pool) < len(chosen.each_workload) else "each on its own pool"
    total = usd(chosen.stack_usd, 0) if chosen.stack_usd is not None else "an unpublished price"
    count, region = len(chosen.each_workload), chosen.candidate.region
    cheapest = {"cost": "the cheapest", "time": "the fastest", "balanced": "the best"}[plan.optimize_for]
    return (
        f"{count} workloads share one cluster in {region}, {owned}: {pools}. Their machines cost {total} a month together, "
        f"{cheapest} combination that keeps the budget, the quotas and the accelerator limit."
    )


def _members(fit: Fit) -> str:
    """Names of the workloads on the machines of a fit: `chat`, `chat and embed (MPS, 2 replicas per accelerator)`."""
    sharing = fit.candidate.sharing
    names = " and ".join(sharing.workloads if sharing and sharing.workloads else (fit.workload,))
    return f"{names} ({STRATEGIES[sharing.strategy]}, {sharing.parts} replicas per accelerator)" if sharing else names


def further_warnings(plan: SizingPlan) -> Iterator[str]:
    """Warnings of the workloads after the first, and of their first choices, with the name of the workload."""
    for part in plan.further:
        for text in dict.fromkeys((*part.warnings, *(part.chosen.warnings if part.chosen else ()))):
            yield f"{part.facts.name}: {text}"
