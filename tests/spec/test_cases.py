"""Specs of users with their exact printed text: tests/cases/spec/<case>/{spec.yaml, expected.txt}.

`UPDATE_CASES=1 pytest tests/spec/test_cases.py` renews the texts; read the difference before it is committed.
"""

import os
import re
from pathlib import Path

import pytest
from rackwright.diagnostics.problem import WIDTH
from rackwright.diagnostics.render import render
from rackwright.spec import examine_file
from rackwright.spec.reading.schema_errors import CODES
from rackwright.validation.spec import RULES as SPEC_RULES

CASES = Path(__file__).parents[1] / "cases" / "spec"
FOLDERS = sorted(folder for folder in CASES.iterdir() if folder.is_dir())
NEEDS_MORE_THAN_A_FILE = {"S-file", "S-size", "S-too-many", "C-ssh", "C-nodes", "C-devices"}
"""The last three need a candidate: tests/workflow/test_spec_mistakes.py."""


def printed(folder: Path) -> str:
    problems = examine_file("spec.yaml").problems
    return render(problems, (folder / "spec.yaml").read_bytes().decode("utf-8", "replace"), "spec.yaml")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_case(folder, monkeypatch):
    monkeypatch.chdir(folder)
    expected = folder / "expected.txt"
    if os.environ.get("UPDATE_CASES"):
        expected.write_text(printed(folder), encoding="utf-8")
    assert printed(folder) == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_printed_lines_fit_the_terminal(folder):
    assert all(len(line) <= WIDTH for line in (folder / "expected.txt").read_text(encoding="utf-8").splitlines())


def test_every_check_and_code_has_a_case():
    said = "".join((folder / "expected.txt").read_text(encoding="utf-8") for folder in FOLDERS)
    shown = set(re.findall(r"(?:error|warning) ([CSVNR]-[a-z0-9-]+)", said))
    assert {*SPEC_RULES.rules, *CODES} - shown - NEEDS_MORE_THAN_A_FILE == set()
    assert shown - {*SPEC_RULES.rules, *CODES} == set()
