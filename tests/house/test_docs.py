"""Programs, commands, rules and links of the documents work."""

import inspect
import re
import shlex
from datetime import date
from pathlib import Path

import pytest
import yaml
from rackwright import preview
from rackwright.diagnostics.codes import CODES
from rackwright.spec import examine
from rackwright.validation.spec import RULES as SPEC_RULES
from rackwright.validation.stack import RULES
from rackwright_pulumi import record
from rackwright_pulumi.policies import RESOURCE_RULES
from rackwright_pulumi.program.settings import Settings
from typer.main import get_command

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_a_release_in_the_changelog_has_each_section_once():
    for release in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        sections = re.findall(r"^### (.+)$", release, re.MULTILINE)
        assert sorted(set(sections)) == sorted(sections)


SPECS = sorted(path for path in (ROOT / "stacks").glob("*.yaml") if not path.name.startswith("Pulumi."))


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def program():
    source = blocks(ROOT / "docs" / "components.md", "python")[0]
    assert len([line for line in source.splitlines() if line.strip()]) <= 15

    def run() -> None:
        exec(compile(source, "docs/components.md", "exec"), {})

    return run


def test_the_fifteen_line_program_builds_a_training_cluster(program, monkeypatch):
    monkeypatch.chdir(ROOT)
    graph = record(program)
    assert graph.one("rackwright:index:TrainingCluster", "llama")
    assert "update-kubeconfig" in graph.outputs["kubeconfig"]


def test_the_test_of_the_fifteen_line_program_passes(program, monkeypatch):
    monkeypatch.chdir(ROOT)
    scope = {"program": program}
    exec(compile(blocks(ROOT / "docs" / "components.md", "python")[1], "docs/components.md", "exec"), scope)
    scope["test_the_cluster_is_private"]()


def _commands() -> list[str]:
    from rackwright.cli.main import app
    from rackwright_pulumi.cli import register

    if not any(command.callback and command.callback.__name__ == "graph" for command in app.registered_commands):
        register(app)
    return sorted(get_command(app).commands)


def test_every_command_has_help_and_a_place_in_the_readme():
    from rackwright.cli.main import app

    names = _commands()
    assert {"new", "validate", "plan", "explain", "choose", "graph", "report", "schema", "catalog", "compile", "diff"} <= set(names)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, command in get_command(app).commands.items():
        assert command.help, f"{name} has no help"
        assert f"rackwright {name}" in readme, f"README.md does not mention `rackwright {name}`"


def _commands_in(page: Path) -> list[list[str]]:
    """Words of every command in a page: lines of consoles, and texts in code marks."""
    text = page.read_text(encoding="utf-8")
    typed = [line.removeprefix("$ ") for block in blocks(page, "console") for line in block.splitlines()]
    typed += re.findall(r"(?<!`)`(rackwright [^`]+)`(?!`)", text.replace("\n", " "))
    return [shlex.split(part, comments=True) for line in typed for part in re.split(r"[|;]|&&", line) if "rackwright " in part]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_options_in_pages_exist(path):
    from rackwright.cli.main import app

    _commands()
    commands = get_command(app).commands
    for words in _commands_in(path):
        if words[0] == "rackwright" and not words[1].startswith("-"):
            assert words[1] in commands, " ".join(words)
            options = {option for parameter in commands[words[1]].params for option in parameter.opts} | {"--help"}
            assert {word for word in words if word.startswith("-")} <= options, " ".join(words)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_rules_in_pages_exist(path):
    known = {rule.code for rule in RULES} | {law.code for law in RESOURCE_RULES} | set(SPEC_RULES.rules) | set(CODES)
    assert set(re.findall(r"\b[FLNRSV]-\d{2,3}\b", path.read_text(encoding="utf-8"))) <= known


def test_settings_in_pages_are_read():
    read = set(re.findall(r'config\.get\w*\("(\w+)"\)', inspect.getsource(Settings)))
    named = {key for path in DOCUMENTS for key in re.findall(r"rackwright:([a-z]\w*)\b(?!:)", path.read_text(encoding="utf-8"))} - {"index"}
    secrets = {
        secret.config
        for path in SPECS
        if (spec := examine(path.read_text(encoding="utf-8"), path.name).spec)
        for secret in spec.secrets.values()
    }
    assert {"spec", "teardown", "layers", "below"} <= named <= read | secrets


@pytest.mark.parametrize(("page", "number"), [("aws", 0), ("aws", 1), ("aws", 2), ("guard", 0)])
def test_parts_of_specs_in_guides_are_valid(page, number):
    spec = yaml.safe_load((ROOT / "stacks" / "llama-70b-sft.yaml").read_text(encoding="utf-8"))
    shown = yaml.safe_load(blocks(ROOT / "docs" / f"{page}.md", "yaml")[number])
    found = examine(yaml.safe_dump(spec | shown | {"blueprint": spec["blueprint"] | shown.get("blueprint", {})}))
    assert [problem for problem in found.problems if problem.level == "error"] == []


@pytest.mark.parametrize(("page", "number"), [("README", 0), ("docs/spec", 0), *(("docs/aws", n) for n in range(3)), ("docs/guard", 0)])
def test_specs_in_pages_are_planned_and_can_be_built(tmp_path, page, number):
    shown = yaml.safe_load(blocks(ROOT / f"{page}.md", "yaml")[number])
    base = yaml.safe_load((ROOT / "stacks" / "llama-70b-sft.yaml").read_text(encoding="utf-8"))
    spec = shown if "api_version" in shown else base | shown | {"blueprint": base["blueprint"] | shown.get("blueprint", {})}
    file = tmp_path / f"{spec['name']}.yaml"
    file.write_text(yaml.safe_dump(spec), encoding="utf-8")
    found = preview(file, today=date(2026, 11, 21))
    assert [str(problem) for problem in found.errors] == []
    assert found.refusal(1) == ""
    assert found.stack


def test_the_policy_example_of_the_aws_guide_runs():
    exec(compile(blocks(ROOT / "docs" / "aws.md", "python")[-1], "docs/aws.md", "exec"), {})


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_within_the_repository_exist(path):
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_paths_in_the_contributors_guide_exist():
    """Paths from the root, or from one of the two packages; those with a placeholder or outside of it are left out."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = [path for path in re.findall(r"`([\w./-]+/[\w./-]*)`", text) if path != "stage/" and not path.startswith("../")]
    roots = (ROOT, ROOT / "blueprints" / "rackwright", ROOT / "components" / "rackwright_pulumi", ROOT / "tests")
    assert len(named) > 40
    assert not [path for path in named if not any((root / path).exists() for root in roots)]
