"""Commands and the program evaluate a capacity block at the same moment."""

from datetime import UTC, date, datetime
from pathlib import Path

import pulumi
import pytest
from rackwright.cli.session import Session
from rackwright.diagnostics.problem import Level, Stage
from rackwright.workflow.clock import clock
from rackwright.workflow.decision import decision_path
from rackwright.workflow.pipeline import Pipeline
from rackwright_pulumi.program.settings import Settings, decide

ROOT = Path(__file__).parents[2]
DAY = date(2026, 12, 1)
BEFORE, AFTER = (datetime(2026, 12, 1, hour, tzinfo=UTC) for hour in (8, 12))
BLOCK = """{capacity_block: {id: cr-0123456789abcdef0, instance: p5.4xlarge, count: 1, zone: us-east-1d,
        start: 2026-12-01T11:30:00Z, end: 2026-12-08T11:30:00Z}}"""


@pytest.fixture
def box(tmp_path) -> Path:
    """A box on a capacity block that starts at 11:30Z."""
    text = (ROOT / "stacks" / "mistral-7b-qlora.yaml").read_text(encoding="utf-8")
    lines = [f"      capacity: {{ordered: [{BLOCK}]}}\n" if "capacity:" in line else line for line in text.splitlines(keepends=True)]
    path = tmp_path / "box.yaml"
    path.write_text("".join(line for line in lines if not line.startswith("goals:")), encoding="utf-8")
    return path


def test_a_day_has_no_moment_and_the_present_has_one():
    assert clock(DAY) == (DAY, None)
    today, now = clock()
    assert now
    assert now.tzinfo is UTC
    assert today == date.today()


def test_commands_know_the_moment_without_an_explicit_day(box):
    assert Session.of(box, False, None).pipeline.now
    assert Session.of(box, False, datetime(2026, 12, 1)).pipeline.now is None


def test_a_box_waits_for_its_block(box):
    made = Pipeline(box, DAY, BEFORE).choose()
    assert made.plan.box
    (item,) = [problem for problem in made.before_you_build if problem.code == "C-block"]
    assert (item.level, item.stage) == (Level.ERROR, Stage.BUILD)
    assert "starts at 2026-12-01T11:30:00" in item.reason
    decision_path(box).write_text(made.decision.to_json(), encoding="utf-8")
    with pytest.raises(pulumi.RunError, match="C-block"):
        decide(Settings(box, DAY, now=BEFORE))
    assert decide(Settings(box, DAY, now=BEFORE, preview=True)).plan.box
    assert decide(Settings(box, DAY, now=AFTER)).plan.box == made.plan.box
