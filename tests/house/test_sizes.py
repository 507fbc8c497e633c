"""Limits of size (docs/decisions/0001): 300 lines per file, 40 per function, 13 modules per folder, without exception."""

from collections import Counter

import pytest

from tests.house.source_files import ROOT, parse, python_files, read

pytestmark = pytest.mark.xdist_group("sources")
FOLDERS = ("blueprints", "components", "sim", "benchmarks", "tests")
FILE_LINES, FUNCTION_LINES, FOLDER_MODULES = 300, 40, 13


def test_files_stay_short():
    large = {path.relative_to(ROOT).as_posix() for path in python_files(*FOLDERS) if read(path).lines > FILE_LINES}
    assert not large, "split the file"


def test_functions_stay_short():
    long = {
        f"{path.relative_to(ROOT).as_posix()}:{function}"
        for path in python_files(*FOLDERS)
        for function, lines in read(path).functions
        if lines > FUNCTION_LINES
    }
    assert not long, "split the function"


def test_long_functions_are_found():
    body = "\n".join(["class A:", "    def b(self):", *["        x = 1"] * FUNCTION_LINES])
    assert parse(body).functions == (("A.b", FUNCTION_LINES + 1),)


def test_folders_stay_small():
    """A module lies beside a dozen others at most; `__init__.py` does not count."""
    modules = Counter(path.parent for path in python_files("blueprints", "components") if path.name != "__init__.py")
    large = {folder.relative_to(ROOT).as_posix(): count for folder, count in modules.items() if count > FOLDER_MODULES}
    assert not large, "group the modules in sub-packages"
