"""`rackwright.preview`: the stack of an update, with the checks of the command line."""

from datetime import date
from pathlib import Path

import pytest
from rackwright import load, preview, size
from rackwright.workflow.decision import decision_path
from rackwright.workflow.pipeline import Pipeline

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)


@pytest.fixture
def private(tmp_path) -> Path:
    """A training cluster with the default API access, private."""
    lines = (ROOT / "stacks" / "llama-70b-sft.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "dev.yaml"
    path.write_text("".join(line for line in lines if "api_access" not in line), encoding="utf-8")
    return path


def test_open_items_before_building_are_no_errors(private):
    """The test that `rackwright new` writes asserts on `errors`."""
    found = preview(private, today=TODAY)
    assert (found.errors, found.before_you_build[0].code) == ((), "R-03")
    assert found.plan
    assert found.stack
    assert found.bill
    assert found.plan == size(load(private), today=TODAY)


def test_the_recorded_decision_is_built(private):
    decision = Pipeline(private, TODAY).choose(2).decision
    decision_path(private).write_text(decision.to_json(), encoding="utf-8")
    found = preview(private, today=TODAY)
    assert found.plan
    assert found.plan.fits == (decision.fit,)
    private.write_text(private.read_text(encoding="utf-8").replace("name: llama-70b-sft", "name: other"), encoding="utf-8")
    renamed = preview(private, today=TODAY)
    assert ([problem.code for problem in renamed.errors], renamed.stack) == (["D-other"], None)


def test_a_file_that_cannot_be_read_is_refused_with_the_decision(private):
    decision_path(private).write_text("{}", encoding="utf-8")
    assert [problem.code for problem in preview(private, today=TODAY).errors] == ["D-unreadable"]
