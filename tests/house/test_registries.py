"""Lists, folders and documentation are compared as sets, so that none of them misses a new entry.

`RACKWRIGHT_RENEW=rules pytest tests/house` renews docs/rules.md.
"""

import os
import re
from pathlib import Path

import pytest
import rackwright.compile as compiler
import rackwright.validation.stack as rules
from rackwright.catalog import columns, server_columns
from rackwright.catalog.csv_table import Table
from rackwright.catalog.release import columns as release_columns
from rackwright.compile.compile import PATHS
from rackwright.diagnostics.codes import CODES
from rackwright.diagnostics.rule import Rule, rule_number
from rackwright.spec.blueprint import Blueprint
from rackwright.spec.spec import API_VERSION
from rackwright.stackplan import BlueprintKind
from rackwright.validation.spec import RULES as SPEC_RULES
from rackwright.validation.spec.unsupported import TABLE
from rackwright_pulumi.policies import RESOURCE_RULES
from rackwright_pulumi.policies.registry import order
from rackwright_pulumi.program.build import BLUEPRINTS

ROOT = Path(__file__).parents[2]
PURE = ROOT / "blueprints" / "rackwright"
DATA = PURE / "catalog" / "data"
DECISIONS = ROOT / "docs" / "decisions"
HEAD = """# Rules on stacks

Checked on every compiled stack before the first cloud call. List the ID of a warning under `acknowledge` in the spec, with a reason, to
hide it; errors cannot be hidden. Rules on the spec are in [spec.md](spec.md). A test generates this table.

| ID | Level | Rule |
|---|---|---|
"""
INVARIANTS_HEAD = """
## Compiler invariants

No spec can break these rules: the compiler alone decides the values. Such an error ends rackwright with status 3; please report it.

| Id | Level | Rule |
|---|---|---|
"""
CODES_HEAD = """
## Other codes

Problems that no rule finds. Codes of the reader are in [spec.md](spec.md).

| Code | Problem |
|---|---|
"""

RESOURCES_HEAD = """
## On resources

Checked on the recorded resources of any Pulumi program: `rackwright_pulumi.policies.broken(graph)`
([example](components.md#policies)). IDs in both tables are the same rule, checked on the plan and on its resources.

| ID | Level | Rule |
|---|---|---|
"""


def rules_page() -> str:
    def row(rule: Rule) -> str:
        law = f"[{rule.reason}]({rule.link})" if rule.link else rule.reason
        return f"| {rule.code} | {rule.level} | {law} |"

    def table(rows: dict[str, str]) -> str:
        return "\n".join(rows[code] for code in sorted(rows, key=lambda code: (code[0], rule_number(code), code))) + "\n"

    users = {rule.code: row(rule) for rule in rules.RULES if not rule.invariant}
    invariants = {rule.code: row(rule) for rule in rules.RULES if rule.invariant}
    codes = "\n".join(f"| {code} | {text} |" for code, text in CODES.items()) + "\n"
    on_plans = HEAD + table(users) + INVARIANTS_HEAD + table(invariants) + CODES_HEAD + codes
    return on_plans + RESOURCES_HEAD + "\n".join(row(law) for law in sorted(RESOURCE_RULES, key=lambda law: order(law.code))) + "\n"


def test_every_rule_is_documented():
    page = ROOT / "docs" / "rules.md"
    if os.environ.get("RACKWRIGHT_RENEW") == "rules":
        page.write_text(rules_page(), encoding="utf-8")
    assert page.read_text(encoding="utf-8") == rules_page(), "RACKWRIGHT_RENEW=rules pytest tests/house"


def test_every_area_of_rules_is_run():
    areas = {module.__name__.rpartition(".")[2] for module in rules.AREAS}
    assert areas == {path.stem for path in (PURE / "validation" / "stack").rglob("*.py")} - {"__init__", "registry", "aws", "gcp"}


def test_every_file_of_the_compiler_is_in_its_docstring():
    """The docstring of the package lists its files."""
    named = set(re.findall(r"\w+", compiler.__doc__ or ""))
    assert not {path.stem for path in (PURE / "compile").iterdir() if not path.name.startswith("_") and path.name != "compile"} - named


def test_every_file_of_checks_is_registered():
    files = {path.stem for path in (PURE / "validation" / "spec").rglob("*.py")} - {"__init__", "registry"}
    assert {check.check.__module__.rpartition(".")[2] for check in SPEC_RULES.rules.values()} == files


def test_unsupported_features_are_documented():
    documented = re.findall(r"^\| (N-\d+) ", (ROOT / "docs" / "spec.md").read_text(encoding="utf-8"), re.MULTILINE)
    others = sorted(code for code in SPEC_RULES.rules if code.startswith("N-") and code not in {row.id for row in TABLE})
    assert documented == sorted([row.id for row in TABLE] + others)


def test_every_blueprint_has_a_path_and_a_component():
    assert {kind for kind, _ in PATHS} == set(BlueprintKind) == set(BLUEPRINTS)
    assert {str(kind) for kind in BlueprintKind} | {"auto"} == set(Blueprint.model_fields["kind"].annotation.__args__)


def test_every_data_file_belongs_to_a_table():
    known = {
        table.file for module in (columns, server_columns, release_columns) for table in vars(module).values() if isinstance(table, Table)
    }
    per_cloud = {f"{Path(file).stem}_{cloud}.csv" for file in ("prices.csv", "availability.csv") for cloud in ("aws", "gcp")}
    assert {path.name for path in DATA.glob("*.csv")} == known - {"prices.csv", "availability.csv"} | per_cloud


def test_every_example_has_a_configuration_and_the_current_version():
    specs = {path.stem: path for path in (ROOT / "stacks").glob("*.yaml") if not path.name.startswith("Pulumi.")}
    assert set(specs) == {path.name.split(".")[1] for path in (ROOT / "stacks").glob("Pulumi.*.yaml")}
    assert all(f"api_version: {API_VERSION}" in path.read_text(encoding="utf-8") for path in specs.values())


def test_every_decision_is_linked_and_numbered():
    records = sorted(path.name for path in DECISIONS.glob("[0-9]*.md"))
    linked = re.findall(r"\]\((\d{4}-[^)]+)\)", (DECISIONS / "README.md").read_text(encoding="utf-8"))
    assert linked == records
    assert [int(name[:4]) for name in records] == list(range(1, len(records) + 1))
    for name in records:
        assert (DECISIONS / name).read_text(encoding="utf-8").startswith(f"# {int(name[:4])}. "), name


def test_every_guide_can_be_found_from_the_readme():
    found, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in found or not page.exists():
            continue
        found.add(page)
        links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text(encoding="utf-8"))
        todo += [(page.parent / link).resolve() for link in links if link.endswith(".md")]
    assert not {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md") if path.resolve() not in found}


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_paths_in_documents_exist(page):
    """Words in code marks that begin with a folder of the repository."""
    folders = "blueprints|components|tests|docs|sim|benchmarks"
    named = re.findall(rf"`((?:{folders})/[\w./-]*\w/?)`", page.read_text(encoding="utf-8"))
    assert not [path for path in named if not (ROOT / path).exists()]
