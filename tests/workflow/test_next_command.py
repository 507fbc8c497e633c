"""A record that no longer fits: following the printed fix leads to a state that plan, choose and the program accept."""

import re
from datetime import date
from pathlib import Path

import pulumi
import pytest
from rackwright.cli.main import run
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.workflow.pipeline import Pipeline
from rackwright_pulumi.program.settings import Settings, decide

from tests.sized_once import sized_once  # noqa: F401

ROOT = Path(__file__).parents[2]
TODAY = "2026-11-21"
SPEC = Path("qlora.yaml")
STEPS = 3
COMMAND = re.compile(r"`rackwright (choose [^`]+)`")
GOAL = re.compile(r"(max_duration|max_cost): ([\d.]+ ?\w+)")
EDITS = {
    "the model no longer fits the memory": ("mistral-7b}", "llama-3.1-70b}"),
    "the region no longer offers them": ("us-east-1, us-west-2", "us-west-2"),
    "they are no longer sold": ("[on-demand, spot]", "[spot]"),
    "another machine is pinned": ("capacity: {ordered: [on-demand, spot]}", "pin: {instance: g5.xlarge}"),
    "the deadline is missed": ("24h", "30min"),
    "no machine meets the deadline": ("24h", "3min"),
    "no machine meets deadline and budget": ("{max_duration: 24h, max_cost: 60 USD", "{max_duration: 3min, max_cost: 1 USD"),
    "the zone is another": ("regions: [us-east-1, us-west-2]", "regions: [us-east-1]\n      zones: [us-east-1b]"),
    "the account is another": ("123456789012", "210987654321"),
    "the name is another": ("name: mistral-7b-qlora", "name: other"),
}


@pytest.fixture
def recorded(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    SPEC.write_text((ROOT / "stacks/mistral-7b-qlora.yaml").read_text())
    assert run(["choose", str(SPEC), "--today", TODAY]) == 0
    return SPEC


def program_problems() -> list[Problem]:
    """What the program refuses to preview."""
    settings = Settings(SPEC, date.fromisoformat(TODAY), simulated=True, preview=True)
    try:
        decide(settings)
    except pulumi.RunError as error:
        try:
            Pipeline(SPEC, settings.today).decide()
        except UserError as found:
            return list(found.problems)
        raise AssertionError("the program refuses what the pipeline accepts") from error
    return []


def follow(problems: list[Problem]) -> None:
    """Runs the command of the fixes, or sets the goals that they name."""
    commands = {command for problem in problems for command in COMMAND.findall(problem.fix)}
    goals = dict(goal for problem in problems for goal in GOAL.findall(problem.fix))
    assert commands or goals, [problem.fix for problem in problems]
    for command in commands:
        assert run([*command.split(), "--today", TODAY]) == 0, command
    text = SPEC.read_text()
    for key, value in {} if commands else goals.items():
        text = re.sub(rf"{key}: [\d.]+ ?\w+", f"{key}: {value}", text)
    SPEC.write_text(text)


@pytest.mark.parametrize("edit", EDITS)
def test_following_the_printed_fix_ends_in_a_state_that_every_command_accepts(edit, recorded, capsys):
    old, new = EDITS[edit]
    text = recorded.read_text()
    assert old in text
    recorded.write_text(text.replace(old, new))
    assert program_problems()
    steps = 0
    while problems := program_problems():
        assert steps < STEPS, problems
        follow(problems)
        steps += 1
    capsys.readouterr()
    assert run(["plan", str(SPEC), "--today", TODAY]) == 0
    assert "D-" not in re.sub(r"D-(image-age|support|edited)", "", capsys.readouterr().out)
    assert run(["choose", str(SPEC), "--today", TODAY]) == 0
    assert program_problems() == []


def test_a_plan_names_what_stops_the_update(recorded, capsys):
    recorded.write_text(recorded.read_text().replace("24h", "30min"))
    run(["plan", str(SPEC), "--today", TODAY])
    shown = " ".join(capsys.readouterr().out.split())
    assert "D-stale: 1 x g6e.xlarge us-east-1 on-demand, chosen on 2026-11-21, no longer satisfies the spec" in shown
    assert "`pulumi up` builds that" not in shown


def test_choosing_another_place_warns_that_everything_is_replaced(recorded, capsys):
    recorded.write_text(recorded.read_text().replace("123456789012", "210987654321"))
    run(["choose", str(SPEC), "--today", TODAY])
    shown = " ".join(capsys.readouterr().err.split())
    assert "warning D-moved Moving from account 123456789012 to account 210987654321 replaces every resource of the stack" in shown


def test_choose_leaves_recorded_machines_that_this_release_cannot_build(recorded, capsys):
    """p3dn starts in a cluster, and no pinned image starts it as a box."""
    text = recorded.read_text().replace("{kind: auto", "{kind: training-cluster, storage: none, api_access: {runner: inside}")
    text = text.replace("    team: support", "    team: support\n    precision: fp16")
    text = text.replace("60 USD", "900 USD").replace("type: qlora", "type: lora")
    recorded.write_text(text)
    plan = Pipeline(SPEC, date.fromisoformat(TODAY)).plan
    rank = next(rank for rank, fit in enumerate(plan.fits, 1) if fit.candidate.machine.startswith("p3dn"))
    assert run(["choose", str(SPEC), str(rank), "--today", TODAY]) == 0
    recorded.write_text(text.replace("training-cluster", "box"))
    assert program_problems()
    capsys.readouterr()
    assert run(["choose", str(SPEC), "--today", TODAY]) == 0
    assert "rank 1" in capsys.readouterr().out
    assert program_problems() == []
