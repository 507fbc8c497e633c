"""Sentences about a plan of several workloads that share a stack."""

from collections.abc import Iterator

from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.sizing.selection.near_ties import is_already_owned
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
    order = f"{cheapest} combination" if plan.near_tie is None else "a combination"
    text = (
        f"{count} workloads share one cluster in {region}{owned}: {pools}. Their machines cost {total} a month together, "
        f"{order} that keeps the budget, the quotas and the accelerator limit."
    )
    return " ".join((text, *_near_tie(plan, chosen)))


def _near_tie(plan: SizingPlan, chosen: Fit) -> Iterator[str]:
    """The combination that is better within the uncertainty of the estimates, and why the chosen one ranks before it."""
    if (better := plan.near_tie) is None:
        return
    pools = "; ".join(_pool_text(fit) for fit in better.each_pool)
    value = {"cost": "cheaper", "time": "faster", "balanced": "better"}[plan.optimize_for]
    owned = sum(map(is_already_owned, chosen.each_workload)) > sum(map(is_already_owned, better.each_workload))
    reason = "capacity that is already paid for" if owned else f"the {'smaller' if plan.optimize_for == 'cost' else 'cheaper'} combination"
    cost = f"{usd(better.stack_usd, 0)} a month" if better.stack_usd is not None else "an unpublished price"
    yield f"{pools}, for {cost}, is {value} by less than the uncertainty of the estimates, so {reason} ranks first."


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
