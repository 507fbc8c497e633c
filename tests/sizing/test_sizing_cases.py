"""Whole plans: a folder per case, spec.yaml and what must come of it in expected.json."""

import json
from pathlib import Path

import pytest
from rackwright.sizing.plan import SizingPlan
from rackwright.sizing.size import size
from rackwright.spec.load import load

from tests.sizing.helpers import TODAY

CASES = Path(__file__).parent.parent / "cases" / "sizing"
CANDIDATE = ("cloud", "machine", "nodes", "region", "capacity", "fabric", "topology", "slices", "replicas", "pinned")


@pytest.mark.parametrize("case", sorted(p.name for p in CASES.iterdir()))
def test_case(case):
    """`chosen`: fields of the first fit; `says`: parts of the reason, `warns`: of the warnings; `refused`: label -> limits, worst first."""
    folder = CASES / case
    plan = size(load(folder / "spec.yaml"), today=TODAY)
    expected = json.loads((folder / "expected.json").read_text())
    chosen = plan.chosen.candidate if plan.chosen else None
    assert {key: getattr(chosen, key) for key in expected["chosen"]} == expected["chosen"] if chosen else expected["chosen"] is None
    for words in expected["says"]:
        assert words in plan.scaling
    warnings = "\n".join((*plan.warnings, *(plan.chosen.warnings if plan.chosen else ())))
    for words in expected.get("warns", []):
        assert words in warnings
    refused = {r.candidate.label: [str(x.limit) for x in r.rejections] for r in plan.rejected}
    assert {label: refused.get(label) for label in expected["refused"]} == expected["refused"]
    assert SizingPlan.from_json(plan.to_json()) == plan
