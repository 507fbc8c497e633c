"""JSON of `rackwright plan` and `explain`: the SizingPlan with its sentences, bill, quotas and open items."""

import json
from collections.abc import Sequence
from typing import Any

from rackwright.diagnostics.problem import Problem
from rackwright.report.alternatives import alternatives_json
from rackwright.sizing.plan import SizingPlan
from rackwright.sizing.selection.ranking import nearest_misses
from rackwright.wording.formatting import machines
from rackwright.wording.plan_text import with_text
from rackwright.wording.rejections import joined_remedies, rejection_text
from rackwright.workflow.stack_preview import StackPreview


def plan_json(plan: SizingPlan, preview: StackPreview, warnings: Sequence[Problem] = ()) -> dict[str, Any]:
    """Plain data that `SizingPlan.from_json` also reads.

    Additions: feasible, frontier, why_not, nearest_misses, bill, quota, problems (spec's first), before_you_build; per fit not_buildable.
    """
    shown = json.loads(with_text(plan).to_json())
    for rank, fit in enumerate(shown["fits"], 1):
        fit["not_buildable"] = preview.refusal(rank) or None
    further = preview.as_json()
    further["problems"] = [problem.as_json() for problem in dict.fromkeys((*warnings, *preview.problems))]
    misses = [
        {
            "candidate": miss.candidate.label,
            "machines": machines(miss.candidate),
            "why": [rejection_text(r) for r in miss.rejections],
            "remedy": joined_remedies(miss.rejections),
        }
        for miss in nearest_misses(plan)
    ]
    return {**shown, **further, "feasible": bool(plan.fits), **alternatives_json(plan, preview), "nearest_misses": misses}


def explanation_json(part: SizingPlan, whole: SizingPlan, preview: StackPreview) -> dict[str, Any]:
    """The requested part of a plan, with the frontier of the whole plan and the rejection summary of the part."""
    return {
        **json.loads(with_text(part, whole).to_json()),
        **alternatives_json(whole, preview),
        "why_not": alternatives_json(part, preview)["why_not"],
    }
