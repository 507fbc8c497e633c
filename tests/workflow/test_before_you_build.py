"""Open items before building: `plan` lists them, `choose` records them, commands warn, and an update refuses until they are settled."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pulumi
import pytest
from pulumi.runtime.config import get_config_env_key
from rackwright.catalog import Catalog
from rackwright.diagnostics.problem import Level, Stage
from rackwright.report.plan_json import plan_json, preview_json
from rackwright.report.preview_text import quota_words
from rackwright.report.terminal.plan import open_item_rows
from rackwright.validation.spec.registry import RULES as SPEC_RULES
from rackwright.validation.stack import RULES as STACK_RULES
from rackwright.validation.stack import check
from rackwright.workflow.decision import decision_path, read_decision
from rackwright.workflow.pipeline import Pipeline
from rackwright.workflow.stack.open_items import unsettled
from rackwright_pulumi.program.settings import Settings, decide

from tests.sized_once import sized_once  # noqa: F401

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)


@pytest.fixture(autouse=True)
def api_key(monkeypatch):
    """The secret of the examples, in the configuration of the stack."""
    monkeypatch.setenv(get_config_env_key("rackwright:chatApiKey"), "a-key")


@pytest.fixture
def private(tmp_path) -> Path:
    """A serving cluster with the default API access, private."""
    lines = (ROOT / "stacks" / "chat-eks.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "private.yaml"
    path.write_text("".join(line for line in lines if "api_access" not in line), encoding="utf-8")
    return path


def record(spec: Path) -> None:
    decision_path(spec).write_text(Pipeline(spec, TODAY).choose().decision.to_json(), encoding="utf-8")


def test_a_plan_with_the_default_api_access_has_no_errors(private):
    preview = Pipeline(private, TODAY).preview()
    assert preview.errors == ()
    assert preview.before_you_build[0].code == "R-03"
    assert preview_json(preview)["before_you_build"][0]["stage"] == "build"
    assert "api_access" in preview.before_you_build[0].fix


def test_choose_records_with_open_items(private):
    record(private)
    decision = read_decision(decision_path(private))
    assert decision
    assert decision.before_you_build[0].code == "R-03"


def test_a_decision_of_an_earlier_release_has_no_open_items(private):
    record(private)
    path = decision_path(private)
    body = json.loads(path.read_text(encoding="utf-8"))
    del body["before_you_build"]
    path.write_text(json.dumps(body), encoding="utf-8")
    decision = read_decision(path)
    assert decision
    assert decision.before_you_build == ()


@pytest.mark.parametrize("simulated", [True, False])
def test_an_update_refuses_with_the_sentence_of_the_plan_and_a_preview_does_not(private, simulated):
    record(private)
    reason = Pipeline(private, TODAY).preview().before_you_build[0].reason
    with pytest.raises(pulumi.RunError) as refused:
        decide(Settings(private, TODAY, simulated=simulated))
    assert reason in " ".join(str(refused.value).split())
    assert decide(Settings(private, TODAY, simulated=simulated, preview=True)).plan.name == "chat-eks"


def test_a_teardown_is_not_refused(private):
    record(private)
    assert decide(Settings(private, TODAY, teardown=True)).plan.name == "chat-eks"


def test_a_warning_is_listed_and_does_not_stop_an_update(private):
    private.write_text((ROOT / "stacks" / "llama-70b-sft.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    record(private)
    decided = decide(Settings(private, TODAY))
    assert "R-36" in {problem.code for problem in decided.before_you_build}


BLOCKS = {"C-block": True, "D-secret": True, "R-03": True, "R-25": True, "R-36": False, "V-260": False, "S-42": True, "V-115": True}
BLOCKS |= {
    "N-35": True,
    "S-111": True,
    "S-164": True,
    "S-201": True,
    "V-131": True,
    "V-132": True,
    "V-140": True,
    "V-177": True,
    "V-221": True,
}
BLOCKS |= {"R-115": True, "V-179": True, "V-230": True, "V-271": True, "V-272": True, "V-290": True}
"""Rule about building -> whether its violations stop `pulumi up`; the reason is a comment at the rule."""


def test_rules_about_building_state_whether_they_stop_an_update():
    registered = {rule.code: rule.blocks_update for rules in (STACK_RULES, SPEC_RULES) for rule in rules if rule.stage is Stage.BUILD}
    assert registered == BLOCKS


@pytest.mark.parametrize(
    ("change", "code", "level", "stops"),
    [
        ({}, "R-03", Level.ERROR, True),
        ({"cluster": "shared"}, "R-03", Level.WARNING, False),
        ({"account": ""}, "R-25", Level.WARNING, True),
        ({"emails": ()}, "R-36", Level.WARNING, False),
        ({"zone_assumed": True}, "V-30", Level.WARNING, False),
    ],
)
def test_open_items_stop_an_update_as_their_rules_state(private, change, code, level, stops):
    stack = Pipeline(private, TODAY).choose().plan
    assert stack.cluster
    assert stack.guard
    place = replace(stack.place, **{key: value for key, value in change.items() if key in ("account", "zone_assumed")})
    cluster = replace(stack.cluster, existing=change.get("cluster", stack.cluster.existing))
    stack = replace(stack, place=place, cluster=cluster, guard=replace(stack.guard, emails=change.get("emails", stack.guard.emails)))
    problem = next(p for p in check(stack) if p.code == code)
    assert (problem.level, problem.stage) == (level, Stage.BUILD)
    assert unsettled([problem]) == ((replace(problem, level=Level.ERROR),) if stops else ())


def test_a_missing_project_of_another_place_is_not_open(private):
    """Google Cloud without a project is listed by `validate`; the stack is built on AWS."""
    text = private.read_text(encoding="utf-8")
    text = "".join(line for line in text.splitlines(keepends=True) if "notify" not in line)
    place = "    - {cloud: gcp, regions: [us-central1], capacity: {ordered: [spot]}}\n"
    private.write_text(text.replace("  any_of:\n", f"  any_of:\n{place}"), encoding="utf-8")
    pipeline = Pipeline(private, TODAY)
    assert "S-42" in {problem.code for problem in pipeline.reading.warnings}
    assert pipeline.plan.chosen
    assert pipeline.plan.chosen.candidate.cloud == "aws"
    assert "S-42" not in {problem.code for problem in pipeline.preview().problems}


def test_a_missing_project_of_the_chosen_place_stops_an_update(tmp_path):
    path = tmp_path / "chat.yaml"
    text = (ROOT / "stacks" / "chat-serve.yaml").read_text(encoding="utf-8")
    path.write_text("".join(line for line in text.splitlines(keepends=True) if "project:" not in line), encoding="utf-8")
    pipeline = Pipeline(path, TODAY, is_configured=lambda _: True)
    assert [problem.code for problem in unsettled(pipeline.preview().problems)] == ["S-42"]


def test_an_update_refuses_without_an_account_and_accepts_one_that_is_added(private):
    with_access = (ROOT / "stacks" / "chat-eks.yaml").read_text(encoding="utf-8")
    account = next(line for line in with_access.splitlines(keepends=True) if line.strip().startswith("account:"))
    private.write_text(with_access.replace(account, ""), encoding="utf-8")
    record(private)
    (item,) = [p for p in Pipeline(private, TODAY).preview().before_you_build if p.code == "R-25"]
    with pytest.raises(pulumi.RunError) as refused:
        decide(Settings(private, TODAY))
    assert item.reason in " ".join(str(refused.value).split())
    assert decide(Settings(private, TODAY, preview=True)).plan.place.account == ""
    private.write_text(with_access, encoding="utf-8")
    assert decide(Settings(private, TODAY)).plan.place.account, "the recorded machines are kept"


def test_the_quotas_of_a_report_are_those_of_the_pipelines_catalog(private):
    default = Catalog.default()
    renamed = replace(default, quotas=tuple(replace(row, family=f"my {row.family}") for row in default.quotas))
    preview = Pipeline(private, TODAY, own_catalog=renamed).preview()
    assert any("my " in words for words in quota_words(preview))


def test_a_secret_is_listed_until_the_configuration_has_it(private):
    (item,) = [p for p in Pipeline(private, TODAY).preview().before_you_build if p.code == "D-secret"]
    assert (str(item.level), "pulumi config set --secret rackwright:chatApiKey" in item.fix) == ("warning", True)
    for configured, levels in ((True, []), (False, ["error"])):
        pipeline = Pipeline(private, TODAY, is_configured=lambda _, known=configured: known)
        assert [str(p.level) for p in pipeline.preview().before_you_build if p.code == "D-secret"] == levels


def test_an_empty_secret_stops_an_update_like_a_missing_one(monkeypatch):
    """vLLM takes an empty API key as none."""
    monkeypatch.setenv(get_config_env_key("rackwright:chatApiKey"), "")
    with pytest.raises(pulumi.RunError, match="rackwright:chatApiKey"):
        decide(Settings(ROOT / "stacks" / "chat-eks.yaml", TODAY, simulated=True))


def test_a_fleet_without_a_key_is_planned_and_not_updated(private):
    text = (ROOT / "stacks" / "chat-eks.yaml").read_text(encoding="utf-8")
    without = "".join(line for line in text.splitlines(keepends=True) if "api_key" not in line and not line.startswith("secrets"))
    without = without.partition("acknowledge:")[0]
    private.write_text(without, encoding="utf-8")
    preview = Pipeline(private, TODAY).preview()
    assert preview.errors == ()
    assert [problem.code for problem in unsettled(preview.problems)] == ["V-131"]
    record(private)
    with pytest.raises(pulumi.RunError, match="V-131"):
        decide(Settings(private, TODAY))
    private.write_text(without.replace("blueprint:\n", "blueprint:\n  safety: {require_api_key: false}\n"), encoding="utf-8")
    decided = decide(Settings(private, TODAY))
    assert ("V-133", Level.WARNING) in {(problem.code, problem.level) for problem in decided.problems}


def test_every_form_of_a_plan_has_the_section(private, tmp_path, monkeypatch, capsys):
    from rackwright.cli.main import run

    monkeypatch.chdir(tmp_path)
    assert run(["plan", private.name, "--today", str(TODAY)]) == 0
    assert "\nBefore you build" in capsys.readouterr().out
    for suffix, heading in ((".md", "### Before you build"), (".html", "<h2>Before you build")):
        assert run(["report", private.name, "-o", f"report{suffix}", "--today", str(TODAY)]) == 0
        page = Path(f"report{suffix}").read_text(encoding="utf-8")
        assert heading in page
        assert "R-03" in page


@pytest.mark.parametrize("stack", ["chat-eks", "chat-serve", "gemma-pretrain", "llama-70b-sft", "mistral-7b-qlora"])
def test_the_examples_have_no_open_item_that_stops_an_update(stack):
    assert decide(Settings(ROOT / "stacks" / f"{stack}.yaml", TODAY, simulated=True)).plan.name == stack


def test_items_that_stop_an_update_are_marked(private):
    text = private.read_text(encoding="utf-8")
    assert "notify" in text
    private.write_text("".join(line for line in text.splitlines(keepends=True) if "notify" not in line), encoding="utf-8")
    pipeline = Pipeline(private, TODAY)
    preview = pipeline.preview()
    shown = plan_json(pipeline.plan, preview)["before_you_build"]
    stops = {item["code"] for item in shown if item["blocks_update"]}
    assert stops == {problem.code for problem in unsettled(preview.problems)}
    assert "R-03" in stops < {item["code"] for item in shown}
    rows = [code for code, *_ in open_item_rows(preview)]
    assert {code.removesuffix(" *") for code in rows if code.endswith(" *")} == stops
    assert [code.endswith(" *") for code in rows] == sorted((code.endswith(" *") for code in rows), reverse=True), "those first"


@pytest.mark.parametrize(("run", "stops"), [("{image: a/b:1}", True), ("{command: [train]}", True), ("{secrets: {A: {secret: a}}}", False)])
def test_a_job_that_is_not_created_stops_an_update(private, run, stops):
    text = (ROOT / "stacks" / "mistral-7b-qlora.yaml").read_text(encoding="utf-8")
    text = text.replace("    kind: finetune\n", f"    kind: finetune\n    run: {run}\n", 1)
    text += "secrets: {a: {config: a}}\n" if not stops else ""
    for kind in ("auto", "box"):
        private.write_text(text.replace("kind: auto", f"kind: {kind}"), encoding="utf-8")
        preview = Pipeline(private, TODAY, is_configured=lambda _: True).preview()
        assert ({"S-111", "S-201"} & {problem.code for problem in unsettled(preview.problems)}) == ({"S-201"} if stops else set())


def test_a_job_of_a_training_cluster_is_used(private):
    text = (ROOT / "stacks" / "llama-70b-sft.yaml").read_text(encoding="utf-8")
    private.write_text(text.replace("    kind: finetune\n", "    kind: finetune\n    run: {image: a/b:1}\n", 1), encoding="utf-8")
    preview = Pipeline(private, TODAY, is_configured=lambda _: True).preview()
    assert not {"S-111", "S-201"} & {problem.code for problem in preview.problems}
