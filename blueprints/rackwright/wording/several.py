"""Sentences about a plan of several workloads that share a stack."""

from collections.abc import Iterator

from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.wording.formatting import STRATEGIES, machines, usd


def together_text(plan: SizingPlan) -> str:
    """Which pool each workload has, and what the machines of all cost; empty where no combination fits."""
    chosen = plan.chosen
    if chosen is None:
        return ""
    pools = "; ".join(map(_pool_text, chosen.each_pool))
    owned = ", each on its own pool" if len(chosen.each_pool) == len(chosen.each_workload) else ""
    total = usd(chosen.stack_usd, 0) if chosen.stack_usd is not None else "an unpublished price"
    count, region = len(chosen.each_workload), chosen.candidate.region
    cheapest = {"cost": "the cheapest", "time": "the fastest", "balanced": "the best"}[plan.optimize_for]
    return (
        f"{count} workloads share one cluster in {region}{owned}: {pools}. Their machines cost {total} a month together, "
        f"{cheapest} combination that keeps the budget, the quotas and the accelerator limit."
    )


def _pool_text(fit: Fit) -> str:
    """`chat on 1 x g6e.xlarge`, `chat and embed share 1 x g6e.xlarge (MPS, 2 replicas per accelerator)`."""
    sharing, pool = fit.candidate.sharing, machines(fit.candidate)
    if sharing is None:
        return f"{fit.workload} on {pool}"
    how = f"{pool} ({STRATEGIES[sharing.strategy]}, {sharing.parts} replicas per accelerator)"
    return f"{' and '.join(sharing.workloads)} share {how}" if len(sharing.workloads) > 1 else f"{fit.workload} on {how}"


def further_warnings(plan: SizingPlan) -> Iterator[str]:
    """Warnings of the workloads after the first, and of their first choices, with the name of the workload."""
    for part in plan.further:
        for text in dict.fromkeys((*part.warnings, *(part.chosen.warnings if part.chosen else ()))):
            yield f"{part.facts.name}: {text}"
