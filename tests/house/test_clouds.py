"""Differences between clouds are in profiles and in folders per cloud; no other code names a cloud."""

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
ASKED = re.compile(r'(?:supports|_lacking)\([^,()]+(?:\(\))?, "([\w.]+)"\)')


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
    assert len(asked) >= 10
    assert asked <= frozenset().union(*(cloud.supports for cloud in profiles()))
