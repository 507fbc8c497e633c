"""The tightest limit of a fit: with latency goals and the whole bill, the same on the screen and in JSON."""

from dataclasses import replace

from rackwright.report.goals import tightest_of
from rackwright.report.plan_json import explanation_json, plan_json
from rackwright.sizing.evaluation.evaluate import p80
from rackwright.sizing.note import Note, NoteKind
from rackwright.spec.spec import Spec
from rackwright.workflow.stack.stack_preview import StackPreview

from tests.report.test_explain import chat, planned


def test_json_has_the_tightest_limit_of_the_screen():
    """`binding` was the constraint of the search, which compares memory, deadline and machines with their limits, but not latency."""
    shown = plan_json(planned(), StackPreview(), (), chat())
    explained = explanation_json(planned(), planned(), StackPreview(), chat())
    for fit, row, other in zip(planned().fits, shown["fits"], explained["fits"], strict=True):
        assert row["binding"] == tightest_of(chat(), fit) == other["binding"]
        assert row["why"].endswith(f"tightest constraint: {row['binding']}") or fit.not_buildable
        assert row["why"] == other["why"]


def test_the_whole_bill_is_compared_with_the_budget():
    """The machines alone used 42 % of the budget where the bill used 97 %, and memory was named as the tightest limit."""
    fit = planned().chosen
    machines = p80(fit.cost_usd)
    limited = _with_budget(chat(), machines * 2)
    billed = replace(fit, tightest=(Note(NoteKind.BUDGET_SHARE, {"used": 0.999, "median": 0.99}),))
    assert "total bill" not in tightest_of(limited, fit)
    assert tightest_of(limited, billed).startswith("total bill: ")
    assert "(p80 " in tightest_of(limited, billed)
    alone = replace(fit, tightest=(Note(NoteKind.BUDGET_SHARE, {"used": 0.5, "median": 0.5}),))
    assert "total bill" not in tightest_of(limited, alone)


def _with_budget(spec: Spec, usd: float) -> Spec:
    return spec.model_copy(update={"goals": spec.goals.model_copy(update={"max_cost": usd})})
