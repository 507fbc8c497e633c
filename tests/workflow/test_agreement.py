"""Every command and the Pulumi program agree about one spec: on its errors, and on every number they share."""

import contextlib
import io
import json
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pulumi
import pytest
from rackwright.cli import session
from rackwright.cli.main import app, run
from rackwright.clouds import profile
from rackwright.report.terminal.bill import cents
from rackwright.workflow.pipeline import Decided, Pipeline
from rackwright_pulumi.cli import register
from rackwright_pulumi.program.settings import Settings, decide

from tests.sized_once import sized_once  # noqa: F401

ROOT = Path(__file__).parents[2]
TODAY = "2026-11-21"
CASES = ROOT / "tests" / "cases"
EXAMPLES = sorted(path for path in (ROOT / "stacks").glob("*.yaml") if not path.name.startswith("Pulumi."))
SPECS = [*EXAMPLES, *sorted(CASES.glob("refused/*/spec.yaml")), *sorted(CASES.glob("sizing/*/spec.yaml"))]
READ = sorted(CASES.glob("spec/*/spec.yaml"))
BUILDERS = ("compile", "graph", "choose")
"""`choose` is last, because it writes the decision that the others read."""
CODE = re.compile(r"error ([A-Z]+-[\w-]+)")
register(app)


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any

    @property
    def errors(self) -> set[str]:
        """Ids of the errors that a refusal lists."""
        return {p["code"] for p in self.body["problems"] if p["level"] == "error"}


def answer(command: str, spec: Path, *options: str) -> Answer:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        status = run([command, spec.name, "--json", *options])
    return Answer(status, json.loads(out.getvalue()))


def program(spec: Path) -> Decided | set[str]:
    """The decision of the Pulumi program in a preview, or the IDs of its errors."""
    try:
        return decide(Settings(Path(spec.name), date.fromisoformat(TODAY), simulated=True, preview=True))
    except pulumi.RunError as error:
        return set(CODE.findall(str(error)))


def pytest_generate_tests(metafunc):
    """Every case, or with --fast one in six of the valid ones."""
    if "spec" in metafunc.fixturenames:
        some = sorted({*READ[::6], *(path for path in READ if path.parent.name.startswith("fine-"))})
        read = some if metafunc.config.getoption("--fast") else READ
        metafunc.parametrize("spec", [*SPECS, *read], ids=lambda path: str(path.relative_to(ROOT)))


def copied(spec: Path, folder: Path) -> None:
    """The files beside a spec with their folders, without decisions."""
    for path in spec.parent.rglob("*"):
        if path.is_file() and not path.name.endswith(".decision.json"):
            target = folder / path.relative_to(spec.parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())


def share_pipeline(monkeypatch) -> None:
    """Later commands share one pipeline; the program creates its own."""
    shared: dict[bool, Pipeline] = {}
    monkeypatch.setattr(session, "Pipeline", lambda path, today, now: shared.setdefault(now is None, Pipeline(path, today, now)))


def test_commands_and_program_agree(spec, tmp_path, monkeypatch):
    copied(spec, tmp_path)
    monkeypatch.chdir(tmp_path)
    share_pipeline(monkeypatch)
    valid, plan = answer("validate", spec), answer("plan", spec, "--today", TODAY)
    report = answer("report", spec, "--today", TODAY, "-o", "report.md")
    graphs, built = program(spec), {name: answer(name, spec, "--today", TODAY) for name in BUILDERS}
    assert report.status == plan.status
    if valid.status:
        refused_alike(valid.errors, [plan, report, *built.values()], graphs)
    elif plan.status == 1:
        assert {one.status for one in built.values()} == {1}
        assert graphs == {"D-no-fit"}
    elif plan.status == 2:
        refused_alike({p["code"] for p in plan.body["problems"] if p["level"] == "error"}, list(built.values()), graphs)
    elif plan.body["bill"] is None:
        refused_alike({p["code"] for p in plan.body["before_you_build"] if p["level"] == "error"}, list(built.values()), graphs)
    else:
        assert {name: one.status for name, one in built.items()} == dict.fromkeys(built, 0)
        assert isinstance(graphs, Decided)
        numbers_agree(plan.body, built, graphs, Path("report.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_commands_and_program_agree_on_a_recorded_decision_after_an_edit(example, tmp_path, monkeypatch):
    """The spec is sized again for a longer life; every command uses the machines that `choose` recorded."""
    copied(example, tmp_path)
    monkeypatch.chdir(tmp_path)
    share_pipeline(monkeypatch)
    first = answer("choose", example, "--today", TODAY).body
    Path(example.name).with_suffix(".decision.json").write_text(json.dumps(first), encoding="utf-8")
    edited = re.sub(r"ttl: \d+[dh]", "ttl: 40d", Path(example.name).read_text(encoding="utf-8"))
    Path(example.name).write_text(edited, encoding="utf-8")
    share_pipeline(monkeypatch)
    decided = program(example)
    built = {name: answer(name, example, "--today", TODAY) for name in BUILDERS}
    assert {name: one.status for name, one in built.items()} == dict.fromkeys(BUILDERS, 0)
    assert isinstance(decided, Decided)
    assert [problem.code for problem in decided.edits] == (["D-edited"] if "ttl:" in edited else [])
    stack = built["compile"].body
    assert json.loads(decided.plan.to_json()) == stack
    assert stack["expires_on"] == first["expires_on"], "an edit does not extend the life of a recorded stack"
    recorded = first["plan"]["fits"][0]["candidate"]
    chosen = built["choose"].body["plan"]["fits"][0]["candidate"]
    assert (chosen["machine"], chosen["nodes"], chosen["region"]) == (recorded["machine"], recorded["nodes"], recorded["region"])
    assert recorded["machine"] in machines(stack)
    provider = next(node for node in built["graph"].body["resources"] if node["type"].startswith("pulumi:providers:"))
    assert provider["inputs"].get("region", "") == stack["place"]["region"] == recorded["region"]
    plan_and_report_show_what_a_choice_builds(example)


STATES = sorted((ROOT / "tests" / "states" / "0.1.0" / "stacks").glob("*.yaml"))


@pytest.mark.parametrize("state", STATES, ids=lambda path: path.stem)
def test_commands_agree_on_a_decision_of_an_earlier_release(state, tmp_path, monkeypatch):
    for path in (state, state.with_suffix(".decision.json")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    share_pipeline(monkeypatch)
    plan_and_report_show_what_a_choice_builds(state)


def plan_and_report_show_what_a_choice_builds(spec: Path) -> None:
    """File system, bill and node requirements of the first rank, beside a recorded decision: in the plan, the report and the decision."""
    plan, made = answer("plan", spec, "--today", TODAY), answer("choose", spec, "1", "--today", TODAY)
    report = answer("report", spec, "--today", TODAY, "-o", "report.md")
    assert (plan.status, made.status, report.status) == (0, 0, 0)
    chosen = Pipeline(Path(spec.name), date.fromisoformat(TODAY)).choose(1)
    previewed = Pipeline(Path(spec.name), date.fromisoformat(TODAY)).preview()
    assert previewed.stack == chosen.plan
    assert previewed.bill == chosen.bill
    assert plan.body["bill"]["total_usd"] == chosen.bill.total_usd
    text = Path("report.md").read_text(encoding="utf-8")
    assert cents(chosen.bill.total_usd) in text
    assert plan.body["machine"] == made.body["plan"]["machine"]
    if chosen.plan.lustre:
        shown, size = plan.body["machine"]["file_system"], made.body["file_system"]
        assert (shown["tier"], shown["bytes"]) == file_system(json.loads(chosen.plan.to_json())["lustre"])
        assert (size["volume"], size["capacity_gib"] * 2.0**30) == (shown["tier"], shown["bytes"])
        assert shown["tier"] in text


def refused_alike(errors: set[str], answers: list[Answer], program_errors: Decided | set[str]) -> None:
    assert errors
    assert [one.status for one in answers] == [2] * len(answers)
    assert [one.errors for one in answers] == [errors] * len(answers)
    assert program_errors == errors


def numbers_agree(plan: dict, built: dict[str, Answer], decided: Decided, report: str) -> None:
    stack, decision, graph = built["compile"].body, built["choose"].body, built["graph"].body
    fit, bill = plan["fits"][0], plan["bill"]
    assert json.loads(decided.plan.to_json()) == stack
    recorded = json.loads(decided.decision.to_json())
    open_items = {"before_you_build": [], "digest": ""}
    assert recorded | open_items == decision | open_items
    # a plan also shows the limit that latency goals and the whole bill make the tightest; a decision keeps that of the search
    additions = {"not_buildable": None, "unit_cost": fit["unit_cost"], "binding": fit["binding"], "why": fit["why"]}
    additions |= {"further": fit["further"]} if "further" in fit else {}
    assert [one | additions for one in decision["plan"]["fits"]] == [fit]
    assert (decided.bill.hourly_usd, decided.bill.total_usd) == (bill["hourly_usd"], bill["total_usd"])
    assert cents(bill["total_usd"]) in report
    items = {(item["code"], item["fix"]) for item in plan["before_you_build"]}
    assert items == {(item["code"], item["fix"]) for item in decision["before_you_build"]}
    assert items == {(problem.code, problem.fix) for problem in decided.before_you_build}, "the program alone knows which secrets are set"
    chosen, place = fit["candidate"], stack["place"]
    assert (place["cloud"], place["region"]) == (chosen["cloud"], chosen["region"])
    cloud = profile(place["cloud"])  # names and IDs of zones cannot be compared
    zones = [zone for zone in chosen["zones"] if cloud.is_zone_id(zone) == cloud.is_zone_id(place["zone"])]
    assert not zones or place["zone"] in zones or place["zone_assumed"]
    assert chosen["machine"] in machines(stack)
    provider = next(node for node in graph["resources"] if node["type"].startswith("pulumi:providers:"))
    assert provider["inputs"].get("region", "") == place["region"]
    if stack["lustre"] and stack["lustre"]["kind"] == "ssd":
        assert file_system(stack["lustre"]) == (plan["machine"]["file_system"]["tier"], plan["machine"]["file_system"]["bytes"])


def machines(stack: dict) -> set[str]:
    return {stack["box"]["machine"]} if stack["box"] else {pool["machine"] for pool in stack["pools"]}


def file_system(lustre: dict) -> tuple[str, float]:
    """Catalog name and size in bytes of the result."""
    return lustre["volume"], lustre["capacity_gib"] * 2.0**30


def test_a_plan_names_the_file_system_that_is_built(tmp_path, monkeypatch):
    """Sizing alone would select the cheapest tier; the spec describes another one."""
    text = (ROOT / "stacks" / "llama-70b-sft.yaml").read_text(encoding="utf-8")
    assert "\nblueprint:\n" in text
    lines = [line for line in text.splitlines(keepends=True) if not line.lstrip().startswith(("storage:", "nodes:"))]
    storage = "  storage: {lustre: {capacity: 9600 GiB, throughput: 1000, efa: true}}\n"
    (tmp_path / "spec.yaml").write_text("".join(lines).replace("\nblueprint:\n", f"\nblueprint:\n{storage}"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    plan, stack = (answer(command, tmp_path / "spec.yaml", "--today", TODAY).body for command in ("plan", "compile"))
    assert stack["lustre"]["rdma"]
    found = plan["machine"]["file_system"]
    assert (found["tier"], found["bytes"]) == file_system(stack["lustre"]) == ("fsx-lustre-persistent2-1000-efa", 9600 * 2.0**30)


def test_a_quota_that_is_too_small_is_listed_recorded_and_refused_by_an_update(tmp_path, monkeypatch):
    """The quota permits the machines but not the rest of the stack: V-115 stops an update, and no command before it."""
    text = (CASES / "refused" / "quota-too-small" / "spec.yaml").read_text(encoding="utf-8")
    (tmp_path / "spec.yaml").write_text(text.replace("{L-417A185B: 96}", "{L-417A185B: 768, L-1216C47A: 1}"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    plan, made = (answer(command, tmp_path / "spec.yaml", "--today", TODAY) for command in ("plan", "choose"))
    assert (plan.status, made.status) == (0, 0)
    assert [item["code"] for item in plan.body["before_you_build"]] == ["V-115"]
    assert [item["code"] for item in made.body["before_you_build"]] == ["V-115"]
    with pytest.raises(pulumi.RunError) as refused:
        decide(Settings(Path("spec.yaml"), date.fromisoformat(TODAY)))
    assert plan.body["before_you_build"][0]["fix"] in " ".join(str(refused.value).split())
