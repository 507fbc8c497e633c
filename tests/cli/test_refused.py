"""Bad input on AWS, refused before any call: tests/cases/refused/<case>/{spec.yaml, expected.txt}, the exact text of `rackwright compile`.

`UPDATE_CASES=1 pytest tests/cli/test_refused.py` writes the expected texts anew; read the difference before it is committed.
"""

import os
import re
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "cases" / "refused"
FOLDERS = sorted(folder for folder in CASES.iterdir() if folder.is_dir())
ERROR = re.compile(r"^\S+ error (?P<id>[A-Z]+-\w+)", re.MULTILINE)
OF_THE_FORM = {"name-of-101", "file-system-speed-between-steps", "spot-p6-with-a-block"}
"""Refused by the form of a spec, which is ours, and documented in docs/spec.md."""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_refused_with_rule_id_fix_and_link(folder, rackwright, monkeypatch):
    monkeypatch.chdir(folder)
    result, expected = rackwright("compile", "spec.yaml", "--today", "2026-11-21"), folder / "expected.txt"
    if os.environ.get("UPDATE_CASES"):
        expected.write_text(result.out + result.err, encoding="utf-8")
    assert result.out + result.err == expected.read_text(encoding="utf-8")
    assert result.status in (1, 2)
    for block in re.split(r"\n(?=\S)", result.err):
        if ERROR.match(block):
            assert "\n    fix: " in block, block
            assert "\n    see: https://" in block or folder.name in OF_THE_FORM, block
