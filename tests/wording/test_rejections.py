"""Words and remedies of rejections."""

import json

import pytest
from rackwright import SizingPlan, load, size
from rackwright.sizing.rejection import latency_rejections
from rackwright.wording.rejections import remedy

from tests.sizing.helpers import TODAY


@pytest.mark.parametrize(("tpot_s", "text"), [(0.1, "tpot.target: 100 ms, or quantization: fp8"), (0.2, "tpot.target: 200 ms")])
def test_fp8_is_a_remedy_only_where_half_the_latency_is_enough(tpot_s, text):
    (found,) = latency_rejections(0.1, tpot_s, 1.0, 0.06, ("quantization: fp8",))
    assert remedy(found).startswith(text)
    assert ("fp8" in remedy(found)) == ("fp8" in text)


@pytest.mark.parametrize("name", ["llama-70b-sft", "chat-serve"])
def test_json_of_a_plan_has_words_and_remedies(name):
    plan = size(load(f"stacks/{name}.yaml"), today=TODAY)
    written = json.loads(plan.to_json())
    found = [rejection for miss in written["rejected"] for rejection in miss["rejections"]]
    assert [f"{r['limit']}, {r['reason']}" for r in found if not r["words"] or not r["remedy"]] == []
    assert [miss for miss in written["rejected"] if not miss["remedy"]] == []
    for fit in (*written["fits"], *filter(None, [written["near_tie"], written["unpinned"]])):
        assert fit["why"]
        assert fit["binding"]
    assert SizingPlan.from_json(plan.to_json()) == plan
