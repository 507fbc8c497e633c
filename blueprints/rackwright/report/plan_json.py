"""JSON of `rackwright plan` and `explain`: the SizingPlan with its sentences, bill, quotas and open items."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rackwright.cost import Bill
from rackwright.diagnostics.problem import Problem
from rackwright.report.alternatives import alternatives_json
from rackwright.report.goals import tightest_of
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.sizing.selection.ranking import nearest_misses
from rackwright.sizing.unit import unit_cost
from rackwright.spec.spec import Spec
from rackwright.wording.formatting import machines_and_parts
from rackwright.wording.plan_text import with_text
from rackwright.wording.rejections import joined_remedies, rejection_text
from rackwright.workflow.stack.stack_preview import StackPreview


def plan_json(plan: SizingPlan, preview: StackPreview, warnings: Sequence[Problem] = (), spec: Spec | None = None) -> dict[str, Any]:
    """Plain data that `SizingPlan.from_json` also reads.

    Additions: feasible, frontier, why_not, nearest_misses, bill, quota, problems (spec's first), before_you_build (blocks_update: whether
    `pulumi up` stops until it is settled); per fit not_buildable and unit_cost (US dollars per lot of the workload's unit).
    """
    shown = _with_final_limits(json.loads(with_text(plan).to_json()), plan, spec)
    for rank, fit in enumerate(shown["fits"], 1):
        fit["not_buildable"] = preview.refusal(rank) or None
        fit["unit_cost"] = unit_cost_json(plan.fits[rank - 1], plan)
    further = preview_json(preview)
    further["problems"] = [problem.as_json() for problem in dict.fromkeys((*warnings, *preview.problems))]
    misses = [
        {
            "candidate": miss.label,
            "machines": machines_and_parts(miss.candidate),
            "why": [rejection_text(r) for r in miss.rejections],
            "remedy": joined_remedies(miss.rejections),
        }
        for miss in nearest_misses(plan)
    ]
    return {**shown, **further, "feasible": bool(plan.fits), **alternatives_json(plan, preview), "nearest_misses": misses}


def _with_final_limits(shown: dict[str, Any], plan: SizingPlan, spec: Spec | None) -> dict[str, Any]:
    """The plan with `binding` as the screen shows it: with latency goals and the whole bill, which the search adds last."""
    if spec is None:
        return shown
    for fit, row in zip(plan.fits, shown["fits"], strict=True):
        for each, entry in zip(fit.each_workload, (row, *row.get("further", ())), strict=True):
            final = tightest_of(spec, each)
            entry["why"] = entry["why"].replace(f"tightest constraint: {entry['binding']}", f"tightest constraint: {final}")
            entry["binding"] = final
    return shown


def unit_cost_json(fit: Fit, plan: SizingPlan) -> dict[str, Any] | None:
    """`{"usd": {p10, p50, p90}, "per": "1,000 images"}`; None for work that is counted in tokens, or without a price."""
    found = unit_cost(fit, plan.facts)
    return asdict(found) if found else None


def preview_json(preview: StackPreview) -> dict[str, Any]:
    """Bill, quotas and problems of a previewed stack."""
    quotas, granted = preview.quotas, preview.granted_quotas
    return {
        "bill": bill_json(preview.bill) if preview.bill else None,
        "quota": [
            {"code": q.code, "region": q.region, "amount": q.amount, "unit": q.unit, "machine": q.machine}
            | ({"available": granted[q.code]} if q.code in granted else {})
            for q in quotas
        ],
        "problems": [problem.as_json() for problem in preview.problems],
        "before_you_build": [problem.as_json() | {"blocks_update": problem.blocks_update} for problem in preview.before_you_build],
    }


def bill_json(costs: Bill) -> dict[str, Any]:
    """A bill as plain data: amounts in US dollars, None where no price is published or the amount depends on use."""
    lines = [
        {
            "what": line.what,
            "quantity": line.quantity,
            "unit": line.unit,
            "unit_price_usd": line.unit_price_usd,
            "per": line.per,
            "price_date": line.price_date,
            "source": line.source,
            "illustrative": line.illustrative,
            "hourly_usd": line.hourly_usd,
            "total_usd": line.total_usd,
        }
        for line in costs.lines
    ]
    fallback = [{"pool": each.pool, "capacity": each.mode, "machines": each.nodes, "total_usd": each.total_usd} for each in costs.fallback]
    sums = {"hourly_usd": costs.hourly_usd, "total_usd": costs.total_usd, "hours": costs.hours, "covers": costs.covers}
    return {"lines": lines, **sums, "not_published": list(costs.unknown), "by_use": list(costs.by_use), "fallback": fallback}


def explanation_json(part: SizingPlan, whole: SizingPlan, preview: StackPreview, spec: Spec | None = None) -> dict[str, Any]:
    """The requested part of a plan, with the frontier of the whole plan and the rejection summary of the part."""
    return {
        **_with_final_limits(json.loads(with_text(part, whole).to_json()), part, spec),
        **alternatives_json(whole, preview),
        "why_not": alternatives_json(part, preview)["why_not"],
    }
