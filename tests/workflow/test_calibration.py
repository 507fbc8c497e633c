"""The user's measured runs reach the plan, the choice and the report: from a file beside the spec, or one that it names."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import yaml
from rackwright.diagnostics.errors import UserError
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.report.document.write import render_report
from rackwright.sizing.calibrated import calibrated
from rackwright.workflow.decision import decision_path
from rackwright.workflow.load import examine_file, load
from rackwright.workflow.pipeline import Pipeline

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)


class Names(dict):
    """Records the keys that sizing looks up."""

    def __init__(self):
        self.seen = set()

    def get(self, key, default=None):
        self.seen.add(key)
        return default


@pytest.fixture(scope="module")
def slower() -> str:
    """A calibration in which every model of the example measured half of the predicted speed."""
    names, shipped = Names(), calibration()
    spec = load(ROOT / "stacks" / "mistral-7b-qlora.yaml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rackwright.sizing.size.calibrated", lambda _: replace(shipped, factors=names))
        Pipeline.of_spec(spec, TODAY).plan  # noqa: B018  records the keys
    factors = {key: {"factor": 0.5, "runs": 9} for key in names.seen if "step" in key or "throughput" in key}
    assert factors
    return json.dumps({"base": shipped.version, "factors": factors})


@pytest.fixture
def box(tmp_path) -> Path:
    path = tmp_path / "box.yaml"
    path.write_text((ROOT / "stacks" / "mistral-7b-qlora.yaml").read_text())
    return path


def seconds(path: Path) -> dict[str, float]:
    return {fit.candidate.label: fit.duration_s.p50 for fit in Pipeline(path, TODAY).plan.fits}


def test_a_file_beside_the_spec_changes_times_and_is_recorded(box, slower):
    before = Pipeline(box, TODAY).choose(1).decision
    times = seconds(box)
    beside = box.with_name("box.calibration.json")
    beside.write_text(slower)
    shown = seconds(box)
    assert sum(shown[label] > times[label] for label in shown.keys() & times.keys()) > 5
    assert all(shown[label] >= times[label] for label in shown.keys() & times.keys())
    after = Pipeline(box, TODAY).choose(1).decision
    assert (before.calibration, len(after.calibration)) == ("", 64)
    assert "calibration factors" in [each.name for each in after.plan.assumptions]
    assert "calibration factors" in render_report(load(box), Pipeline(box, TODAY).plan, ".html", TODAY)


def test_a_named_file_gives_the_same_plan(box, slower):
    (box.parent / "runs").mkdir()
    (box.parent / "runs" / "mine.json").write_text(slower)
    box.with_name("box.calibration.json").write_text(slower)
    beside = seconds(box)
    box.with_name("box.calibration.json").unlink()
    box.write_text(yaml.safe_dump(yaml.safe_load(box.read_text()) | {"calibration": "runs/mine.json"}))
    assert seconds(box) == beside


def test_another_calibration_keeps_the_machines_with_a_warning(box, slower):
    decision_path(box).write_text(Pipeline(box, TODAY).choose(1).decision.to_json())
    assert not Pipeline(box, TODAY).decide().edits
    box.with_name("box.calibration.json").write_text(slower.replace('"factor": 0.5', '"factor": 0.9'))
    edits = Pipeline(box, TODAY).decide().edits
    assert ["The calibration changed" in p.reason for p in edits if p.code == "D-edited"] == [True]


@pytest.mark.parametrize(("text", "said"), [("{}", "not a calibration"), ('{"base": "2020", "factors": {}}', "coefficients 2020")])
def test_a_file_without_calibration_is_an_error_of_the_spec(box, text, said):
    box.with_name("box.calibration.json").write_text(text)
    reading = examine_file(box)
    assert reading.spec is None
    assert [said in problem.reason for problem in reading.problems if problem.code == "E-calibration"] == [True]


def test_a_path_that_was_not_read_is_refused(box):
    with pytest.raises(UserError, match="was not read"):
        calibrated(load(box).model_copy(update={"calibration": "runs.json"}))
