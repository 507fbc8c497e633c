"""Differences between clouds are in profiles and in folders per cloud: no other code names a cloud or decides by its name."""

import ast
import re
from pathlib import Path

import pytest
from rackwright.clouds import names, profiles
from rackwright.compile.compile import PATHS

from tests.house.source_files import ROOT, SourceFile, parse, python_files, read

pytestmark = pytest.mark.xdist_group("sources")
SOURCES = ("blueprints", "components", "sim", "benchmarks")
HOMES = {"clouds", "aws", "gcp", "data"}
"""Folders that may name a cloud."""
PROFILES = {"AWS", "GCP", "KUBERNETES"}
ASKED = re.compile(r'supports\([^,()]+(?:\(\))?, "([\w.]+)"\)')


def literals(source: SourceFile) -> list[int]:
    """Lines with a string that is the name of a cloud that sells machines."""
    return [line for line, text in source.strings if text in ("aws", "gcp")]


def sources() -> list[Path]:
    return [path for path in python_files(*SOURCES) if not HOMES & {*path.relative_to(ROOT).parts}]


def test_no_code_outside_the_folders_of_clouds_names_one():
    found = {f"{path.relative_to(ROOT)}:{line}" for path in sources() for line in literals(read(path))}
    assert not found


def test_literals_are_found():
    assert literals(parse('a = "aws"\nb = f(\'gcp\')\nc = "aws:eks"\n')) == [1, 2]


def uses_of_one_cloud(text: str) -> list[int]:
    """Lines that use the profile of one cloud: a comparison, an argument, an attribute.

    Allowed are tables with a row per cloud (`{AWS.name: ...}`), rules of one cloud (`on=AWS`) and rows (`cloud=AWS.name`).
    """
    if not any(name in text for name in PROFILES):
        return []
    tree = ast.parse(text)
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and HOMES & {*(n.module or "").split(".")}]
    imported = {name.asname or name.name for node in imports for name in node.names} & PROFILES
    allowed: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            allowed |= {part for key in node.keys if key for part in ast.walk(key)}
        elif isinstance(node, ast.keyword) and node.arg in ("on", "cloud"):
            allowed |= {*ast.walk(node.value)}
    return [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in imported and node not in allowed]


def test_no_code_outside_the_folders_of_clouds_decides_by_a_clouds_name():
    found = [f"{path.relative_to(ROOT)}:{line}" for path in sources() for line in uses_of_one_cloud(path.read_text(encoding="utf-8"))]
    assert not found


@pytest.mark.parametrize(
    "code", ["a.cloud == AWS.name", "cloud != GCP.name", "cloud == AWS", "cloud in (AWS.name,)", "f(AWS.name)", "AWS.sells(m)"]
)
def test_a_decision_by_a_clouds_name_is_found(code):
    assert uses_of_one_cloud(f"from rackwright.clouds import AWS, GCP\n{code}") == [2]


def comparisons_with_owned_clouds(text: str) -> list[int]:
    """Lines that compare a cloud with the name of one whose machines the user owns; `is_owned` of its profile is the decision."""
    owned = {cloud.name for cloud in profiles() if cloud.is_owned}
    if not any(name in text for name in owned):
        return []
    compared = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Compare))
    return [node.lineno for node in compared if owned & {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}]


def test_no_code_decides_by_the_name_of_an_owned_cloud():
    """The simulator and benchmarks/flat.py compare names of Pulumi packages, of which one is called kubernetes too."""
    packages = ("components/rackwright_pulumi/simulator/", "benchmarks/flat.py")
    paths = [path for path in sources() if not path.relative_to(ROOT).as_posix().startswith(packages)]
    found = [f"{path.relative_to(ROOT)}:{n}" for path in paths for n in comparisons_with_owned_clouds(path.read_text(encoding="utf-8"))]
    assert not found


@pytest.mark.parametrize("code", ["c.cloud == 'kubernetes'", "c.cloud != 'kubernetes'", "c.cloud in ('gcp', 'kubernetes')"])
def test_a_comparison_with_an_owned_cloud_is_found(code):
    assert comparisons_with_owned_clouds(code) == [1]


@pytest.mark.parametrize("code", ["{AWS.name: f, GCP.name: g}", "rule('R-1', on=AWS)", "Row(cloud=AWS.name)", "'== AWS.name'"])
def test_tables_and_rules_of_one_cloud_are_allowed(code):
    assert not uses_of_one_cloud(f"from rackwright.clouds import AWS, GCP\n{code}")


@pytest.mark.parametrize("cloud", profiles(), ids=lambda cloud: cloud.name)
def test_a_profile_lists_the_blueprints_that_compile_to_it(cloud):
    assert cloud.blueprints == {str(kind) for kind, name in PATHS if name == cloud.name}


@pytest.mark.parametrize("cloud", [cloud for cloud in profiles() if not cloud.is_owned], ids=lambda cloud: cloud.name)
def test_a_cloud_with_machines_for_sale_has_a_folder_of_components(cloud):
    folder = ROOT / "components" / "rackwright_pulumi" / cloud.name
    assert (folder / "provider.py").is_file()


def test_clouds_keep_their_order_in_messages():
    assert names() == ("aws", "gcp", "kubernetes")


def test_options_in_code_exist():
    """A misspelt option would be unsupported on every cloud."""
    asked = {option for path in sources() for option in ASKED.findall(path.read_text(encoding="utf-8"))}
    table = (ROOT / "blueprints/rackwright/validation/spec/unsupported.py").read_text(encoding="utf-8")
    asked |= {option for call in re.findall(r'_places\(("[^)]*)\)', table) for option in re.findall(r'"([\w.]+)"', call)}
    asked |= {f"blueprint.{key}" for key in re.findall(r'_blueprint\("(\w+)"', table)}
    assert len(asked) >= 15
    assert asked <= frozenset().union(*(cloud.supports for cloud in profiles()))
