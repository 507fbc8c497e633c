"""Specs without a job: tests/cases/jobs/<case>/{spec.yaml, expected.txt}, the exact text of `rackwright job` on the job.

`UPDATE_CASES=1 pytest tests/jobs/test_refused_jobs.py` writes the expected texts anew; read the difference before it is committed.
"""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rackwright.cli.main import run
from rackwright.diagnostics.errors import UserError
from rackwright.sizing.metrics import ParallelLayout

from tests import plans
from tests.jobs import cases

CASES = Path(__file__).parents[1] / "cases" / "jobs"
FOLDERS = sorted(folder for folder in CASES.iterdir() if folder.is_dir())
OF_JOBS = re.compile(r"\S+ (error|warning) (V-19\d|S-20\d|U-outputs)")
WARNINGS = {"image-without-digest"}
"""Cases whose job is written."""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_refused_with_path_code_and_fix(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    given = folder / "arguments.txt"
    arguments = given.read_text(encoding="utf-8").split() if given.exists() else []
    status = run(["job", "spec.yaml", "--today", "2026-11-21", *arguments])
    blocks = [block for block in re.split(r"\n(?=\S)", capsys.readouterr().err) if OF_JOBS.match(block)]
    printed, expected = "".join(f"{block}\n" for block in blocks), folder / "expected.txt"
    if os.environ.get("UPDATE_CASES"):
        expected.write_text(printed, encoding="utf-8")
    assert printed == expected.read_text(encoding="utf-8")
    assert (status == 0) == (folder.name in WARNINGS)
    assert all("\n    fix: " in block for block in blocks)


@pytest.mark.parametrize("layout", [ParallelLayout(tensor=8, pipeline=2, data=4), ParallelLayout(tensor=4, data=4)])
def test_a_layout_of_another_number_of_accelerators_is_refused(layout):
    """A decision that was edited by hand; `parallelism` of a spec is searched to the number of accelerators."""
    spec, sizing, fit = cases.with_run(plans.training_case())
    wrong = replace(fit, candidate=replace(fit.candidate, parallelism=layout))
    with pytest.raises(UserError, match=r"V-194 at workloads\[0\].parallelism: .* accelerators; 4 machines with 8 each have 32"):
        cases.job_of(replace(cases.context((spec, sizing, fit)), fit=wrong))
