"""Sentences about a plan of several workloads that share a stack."""

from collections.abc import Iterator

from rackwright.sizing.plan import SizingPlan
from rackwright.wording.formatting import machines, usd


def together_text(plan: SizingPlan) -> str:
    """Which pool each workload has, and what the machines of all cost; empty where no combination fits."""
    chosen = plan.chosen
    if chosen is None:
        return ""
    pools = "; ".join(f"{fit.workload} on {machines(fit.candidate)}" for fit in chosen.each_workload)
    total = usd(chosen.stack_usd, 0) if chosen.stack_usd is not None else "an unpublished price"
    count, region = len(chosen.each_workload), chosen.candidate.region
    cheapest = {"cost": "the cheapest", "time": "the fastest", "balanced": "the best"}[plan.optimize_for]
    return (
        f"{count} workloads share one cluster in {region}, each on its own pool: {pools}. Their machines cost {total} a month together, "
        f"{cheapest} combination that keeps the budget, the quotas and the accelerator limit."
    )


def further_warnings(plan: SizingPlan) -> Iterator[str]:
    """Warnings of the workloads after the first, and of their first choices, with the name of the workload."""
    for part in plan.further:
        for text in dict.fromkeys((*part.warnings, *(part.chosen.warnings if part.chosen else ()))):
            yield f"{part.facts.name}: {text}"
