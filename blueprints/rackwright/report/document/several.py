"""Parts of a report about several workloads, which replace those of one workload."""

from dataclasses import replace
from typing import Any

from rackwright.cost import Bill
from rackwright.report.goals import Goal, limits_of_workload
from rackwright.report.terminal.several import workloads_text
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.spec import Spec
from rackwright.wording.formatting import UNKNOWN, accelerators, machines, money, percent, span, usd


def several_contents(spec: Spec, plan: SizingPlan, bill: Bill | None) -> dict[str, Any]:
    """Title, goals and ranking of combinations. Frontier, requirements of a node and economics are of one workload and left out."""
    found: dict[str, Any] = {"workload": workloads_text(plan), "frontier": [], "node": None, "economics": None}
    if chosen := plan.chosen:
        found |= {
            "verdict": f"{_machines(chosen)} in {chosen.candidate.region}",
            "subtitle": f"About {usd(bill.total_usd if bill else chosen.stack_usd, 0)} a month for {len(chosen.each_workload)} workloads.",
            "goals": [goal for index in range(len(spec.workloads)) for goal in _goals(spec, chosen, bill, index)],
        }
    return found | {"ranking": [_row(rank, fit) for rank, fit in enumerate(plan.fits, 1)]}


def _machines(fit: Fit) -> str:
    return " + ".join(machines(each.candidate) for each in fit.each_pool)


def _goals(spec: Spec, chosen: Fit, bill: Bill | None, index: int) -> list[Goal]:
    """Goals of one workload with its name; the budget once, compared with the whole bill."""
    fit = chosen.each_workload[index]
    found = [replace(goal, name=f"{fit.workload}: {goal.name}") for goal in limits_of_workload(spec, index, fit)]
    if index == 0 and bill and (limit := spec.goals.max_cost):
        share = bill.total_usd / limit
        return [Goal("Total bill", usd(limit, 0), usd(bill.total_usd, 0), share, share), *found]
    return found


def _row(rank: int, fit: Fit) -> tuple[str, ...]:
    """(rank, machines, accelerators, place, memory, time, USD, USD per hour), of the workloads in their order."""
    parts = fit.each_workload
    hourly = [each.usd_per_hour for each in parts if each.usd_per_hour is not None]
    return (
        str(rank),
        _machines(fit),
        " + ".join(accelerators(each.candidate) for each in parts),
        f"{fit.candidate.region}, {', '.join(dict.fromkeys(each.candidate.capacity for each in parts))}",
        ", ".join(percent(each.memory.fill) for each in parts),
        ", ".join(span(each.speed.ttft_s) for each in parts),
        money(fit.stack_usd) if fit.stack_usd is not None else UNKNOWN,
        money(sum(hourly), 2) if len(hourly) == len(parts) else UNKNOWN,
    )
