"""`rackwright plan --json`: the SizingPlan as it is, with what the choice leads to beside it."""

import json
from collections.abc import Sequence
from typing import Any

from rackwright.diagnostics.problem import Problem
from rackwright.report.alternatives import choices_json
from rackwright.report.formatting import machines, refusal
from rackwright.sizing.plan import SizingPlan
from rackwright.sizing.selection.ranking import nearest_misses
from rackwright.workflow.stack_preview import StackPreview


def plan_json(plan: SizingPlan, preview: StackPreview, warnings: Sequence[Problem] = ()) -> dict[str, Any]:
    """Plain data that `SizingPlan.from_json` also reads.

    Additions: feasible, frontier, why_not, nearest_misses, bill, quota, problems (spec's first), before_you_build; per fit not_buildable.
    """
    shown = json.loads(plan.to_json())
    for rank, fit in enumerate(shown["fits"], 1):
        fit["not_buildable"] = preview.refusal(rank) or None
    beside = preview.as_json()
    beside["problems"] = [problem.as_json() for problem in dict.fromkeys((*warnings, *preview.problems))]
    misses = [
        {
            "candidate": miss.candidate.label,
            "machines": machines(miss.candidate),
            "why": [refusal(r) for r in miss.rejections],
            "remedy": miss.remedy or next((r.remedy for r in miss.rejections if r.remedy), ""),
        }
        for miss in nearest_misses(plan)
    ]
    return {**shown, **beside, "feasible": bool(plan.fits), **choices_json(plan), "nearest_misses": misses}


def explanation_json(part: SizingPlan, whole: SizingPlan) -> dict[str, Any]:
    """The part of a plan that was asked about, with the frontier of all of it and the causes of the part."""
    return {**json.loads(part.to_json()), **choices_json(whole), "why_not": choices_json(part)["why_not"]}
