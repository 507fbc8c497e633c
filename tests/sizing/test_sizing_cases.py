"""Whole plans: a folder per case with spec.yaml and expected.json; `RACKWRIGHT_RENEW=sizing` renews its numbers."""

import json
import os
from pathlib import Path

import pytest
from rackwright.sizing.plan import SizingPlan
from rackwright.sizing.size import size
from rackwright.spec import load
from rackwright.wording.plan_text import with_text

from tests.sizing.helpers import TODAY

CASES = Path(__file__).parent.parent / "cases" / "sizing"
FITTED = 0.1
"""Relative: what a new fit of the coefficients may move without being written down."""


@pytest.mark.parametrize("case", sorted(p.name for p in CASES.iterdir()))
def test_case(case):
    """`chosen`: fields of the first fit; `says`: parts of the reason; `warns`: parts of the warnings; `refused`: label to limits, worst
    first."""
    folder = CASES / case
    plan = with_text(size(load(folder / "spec.yaml"), today=TODAY))
    expected = json.loads((folder / "expected.json").read_text())
    if os.environ.get("RACKWRIGHT_RENEW") == "sizing":
        expected["numbers"] = numbers(plan)
        (folder / "expected.json").write_text(json.dumps(expected, indent=2) + "\n")
    chosen = plan.chosen.candidate if plan.chosen else None
    assert {key: getattr(chosen, key) for key in expected["chosen"]} == expected["chosen"] if chosen else expected["chosen"] is None
    for words in expected["says"]:
        assert words in plan.scaling
    warnings = "\n".join((*plan.warnings, *(plan.chosen.warnings if plan.chosen else ())))
    for words in expected.get("warns", []):
        assert words in warnings
    refused = {r.candidate.label: [str(x.limit) for x in r.rejections] for r in plan.rejected}
    assert {label: refused.get(label) for label in expected["refused"]} == expected["refused"]
    assert numbers(plan) == pytest.approx(expected["numbers"], rel=FITTED)
    assert SizingPlan.from_json(plan.to_json()) == plan


def numbers(plan: SizingPlan) -> dict[str, float]:
    """Numbers that are independent of the price list. A changed formula or constant is seen here, and renewed deliberately."""
    if plan.chosen is None:
        return {}
    f, hour = plan.chosen, 3600.0
    every = {
        "memory_gib": f.memory.total_bytes / 2**30,
        "hours": f.duration_s and f.duration_s.p50 / hour,
        "hours_p90": f.duration_s and f.duration_s.p90 / hour,
        "exposed_s": f.speed.communication_s,
        "ttft_s": f.speed.ttft_s,
        "tpot_s": f.speed.tpot_s,
        "storage_gb": plan.storage.capacity_bytes / 1e9,
        "storage_gb_per_s": plan.storage.throughput_bytes_per_s / 1e9,
        "checkpoint_interval_h": plan.facts.checkpoint_interval_s / hour,
    }
    return {name: float(f"{value:.5g}") for name, value in every.items() if value}
