"""The Pulumi program as the engine runs it: requirements of an update, and outputs of the stack."""

import runpy
from pathlib import Path

import pulumi
import pytest
from rackwright_pulumi.testing import record

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path):
    """A project folder with the root's program and one spec."""
    (tmp_path / "stacks").mkdir()
    (tmp_path / "__main__.py").write_text((ROOT / "__main__.py").read_text())
    (tmp_path / "stacks" / "box.yaml").write_text((ROOT / "stacks" / "mistral-7b-qlora.yaml").read_text())
    return tmp_path


def run(project: Path, preview: bool = False, stack: str = "box", **config):
    values = {"rackwright:today": "2026-11-21"} | {f"rackwright:{key}": value for key, value in config.items()}
    return record(lambda: runpy.run_path(str(project / "__main__.py")) and None, stack=stack, config=values, preview=preview)


def decide(project: Path) -> None:
    from datetime import date

    from rackwright.workflow.decision import decision_path
    from rackwright.workflow.pipeline import Pipeline

    path = project / "stacks" / "box.yaml"
    decision_path(path).write_text(Pipeline(path, date(2026, 11, 21)).decision_of(1).to_json())


def test_an_update_without_a_decision_is_refused(project):
    with pytest.raises(pulumi.RunError, match="rackwright choose"):
        run(project)


def test_a_preview_without_a_decision_shows_the_first_candidate(project):
    assert run(project, preview=True).by_type("aws:ec2/instance:Instance")


def test_the_simulator_needs_no_decision(project):
    assert run(project, simulated="true").by_type("aws:ec2/instance:Instance")


def test_outputs_of_a_stack(project):
    decide(project)
    outputs = run(project).outputs
    assert outputs["plan"]["recorded"] is True
    assert outputs["plan"]["chosen"].startswith("1 x ")
    assert outputs["cost"]["hourlyUsd"] > 0
    assert outputs["cost"]["totalUsd"] > 0
    assert outputs["expectedFabric"]["fabric"] == "none"
    assert outputs["connectCommand"].startswith("aws ssm start-session")
    assert outputs["expiresOn"] == "2026-11-28"
    assert outputs["commands"]["connect"] == 'eval "$(pulumi stack output connectCommand)"'


def test_a_stale_decision_stops_the_update_and_names_the_command(project):
    decide(project)
    spec = project / "stacks" / "box.yaml"
    spec.write_text(spec.read_text().replace("max_duration: 24h", "max_duration: 2h"))
    with pytest.raises(pulumi.RunError, match=r"deadline(.|\n)*rackwright choose"):
        run(project)


def test_teardown_removes_every_protection_and_needs_no_valid_decision(project):
    decide(project)
    protected = [node.name for node in run(project).nodes.values() if node.protect]
    assert any("bucket" in name or "storage" in name for name in protected)
    spec = project / "stacks" / "box.yaml"
    spec.write_text(spec.read_text().replace("max_duration: 24h", "max_duration: 2h"))
    assert not [node.name for node in run(project, teardown="true").nodes.values() if node.protect]


def test_a_wrong_spec_is_a_list_of_problems_not_a_traceback(project):
    (project / "stacks" / "box.yaml").write_text("api_version: rackwright/v1\nnme: box\n")
    with pytest.raises(pulumi.RunError, match=r"S-unknown-key(.|\n)*name"):
        run(project)


def test_a_missing_spec_is_reported_with_its_path(project):
    with pytest.raises(pulumi.RunError, match=r"nothing\.yaml"):
        run(project, stack="nothing")


@pytest.mark.parametrize(("key", "value"), [("today", "tomorrow"), ("teardown", "perhaps")])
def test_invalid_configuration_is_reported_without_a_traceback(project, key, value):
    with pytest.raises(pulumi.RunError, match=f"rackwright:{key}"):
        run(project, preview=True, **{key: value})


def test_one_explicit_provider_pinned_to_the_account(project):
    graph = run(project, simulated="true")
    provider = graph.one("pulumi:providers:aws")
    assert provider.inputs["allowedAccountIds"] == '["123456789012"]'
    assert all(provider.urn in node.provider for node in graph.nodes.values() if node.custom and node.type.startswith("aws:"))


def edit(project, old: str, new: str) -> None:
    spec = project / "stacks" / "box.yaml"
    assert old in spec.read_text()
    spec.write_text(spec.read_text().replace(old, new))


@pytest.mark.parametrize("text", [None, "", "{}", '{"version": "decision/9"}'])
def test_teardown_needs_neither_a_readable_decision_nor_feasible_goals(project, text):
    made = set(run(project, simulated="true").nodes)
    edit(project, "max_cost: 60 USD", "max_cost: 0.01 USD")
    if text is not None:
        (project / "stacks" / "box.decision.json").write_text(text)
    graph = run(project, teardown="true")
    assert set(graph.nodes) == made
    assert graph.outputs["plan"]["recorded"] is False


@pytest.mark.parametrize(("old", "new"), [("g6e.xlarge", "z9.huge"), ('"nodes": 1', '"nodes": -3')])
def test_teardown_declares_the_same_resources_after_hand_edits_of_the_decision(project, old, new):
    decide(project)
    made = set(run(project).nodes)
    path = project / "stacks" / "box.decision.json"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert set(run(project, teardown="true").nodes) == made


def test_teardown_refuses_another_region_than_that_of_an_edited_decision(project):
    decide(project)
    path = project / "stacks" / "box.decision.json"
    path.write_text(path.read_text().replace("g6e.xlarge", "z9.huge").replace('"region": "us-east-1"', '"region": "eu-west-1"'))
    with pytest.raises(pulumi.RunError, match=r"edited by hand(.|\n)*eu-west-1"):
        run(project, teardown="true")


def test_teardown_keeps_the_decision_when_an_account_was_added_after_it(project):
    account = '      account: "123456789012"\n'
    edit(project, account, "")
    decide(project)
    made = set(run(project, preview=True).nodes)
    edit(project, "    - cloud: aws\n", "    - cloud: aws\n" + account)
    assert set(run(project, teardown="true").nodes) == made


def test_teardown_finds_the_account_after_places_were_reordered(project):
    decide(project)
    edit(
        project,
        "  any_of:\n",
        "  any_of:\n    - {cloud: gcp, project: other-project, regions: [us-central1], capacity: {ordered: [on-demand]}}\n",
    )
    assert run(project, teardown="true").one("pulumi:providers:aws").inputs["allowedAccountIds"] == '["123456789012"]'


@pytest.mark.parametrize(
    ("old", "new"),
    [("name: mistral-7b-qlora", "name: other"), ('"123456789012"', '"210987654321"'), ("max_duration: 24h", "max_duration: 24 parsecs")],
)
def test_teardown_never_creates_resources_and_names_the_manual_commands(project, old, new):
    decide(project)
    edit(project, old, new)
    with pytest.raises(pulumi.RunError, match="pulumi state unprotect --all"):
        run(project, teardown="true")


@pytest.mark.parametrize(
    ("stack", "config", "warned"),
    [("box", {}, True), ("mistral-7b-qlora", {"spec": "stacks/box.yaml"}, False), ("below", {"layers": "base"}, False)],
)
def test_a_preview_warns_about_a_stack_with_another_name_than_its_spec(project, monkeypatch, stack, config, warned):
    said: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, *_, **__: said.append(text))
    run(project, preview=True, stack=stack, **({"spec": "stacks/box.yaml"} | config))
    found = [text for text in said if "D-stack-name" in text]
    assert bool(found) == warned
    assert all(
        "The stack is box, its spec is mistral-7b-qlora" in text and "pulumi stack select mistral-7b-qlora" in text for text in found
    )


def test_an_update_refuses_an_edited_decision_and_a_preview_shows_it(project):
    decide(project)
    path = project / "stacks" / "box.decision.json"
    path.write_text(path.read_text().replace('"chosen_on": "2026-11-21"', '"chosen_on": "2026-11-20"'))
    assert run(project, preview=True).by_type("aws:ec2/instance:Instance")
    for simulated in ("true", "false"):
        with pytest.raises(pulumi.RunError, match="D-by-hand"):
            run(project, simulated=simulated)
