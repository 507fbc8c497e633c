"""`rackwright explain SPEC CANDIDATE`: a rank, a machine or an accelerator, on one screen."""

import io
from datetime import date
from functools import cache
from pathlib import Path

import pytest
from rackwright import load, size
from rackwright.report.candidates import about
from rackwright.report.goals import limits, tightest
from rackwright.report.terminal.explain import show_candidates
from rackwright.sizing.plan import SizingPlan
from rackwright.spec.spec import Spec
from rich.console import Console

pytestmark = pytest.mark.xdist_group("report")
ROOT = Path(__file__).parents[2]


@cache
def chat() -> Spec:
    return load(ROOT / "stacks" / "chat-eks.yaml")


@cache
def planned() -> SizingPlan:
    return size(chat(), today=date(2026, 11, 21))


def accelerators(name: str) -> set[str]:
    part = about(planned(), name)
    return {item.candidate.accelerator for item in (*part.fits, *part.rejected)}


def test_an_accelerator_is_not_the_start_of_another_name():
    assert accelerators("L4") == {"NVIDIA L4"}
    assert accelerators("l40s") == {"NVIDIA L40S"}
    assert len(accelerators("L")) > 2


def test_a_machine_is_not_the_start_of_another_name():
    part = about(planned(), "g6e.xlarge")
    assert {item.candidate.machine for item in (*part.fits, *part.rejected)} == {"g6e.xlarge"}


def test_a_number_is_a_rank():
    assert about(planned(), "3").fits == planned().fits[2:3]
    assert about(planned(), "3").rejected == ()
    assert not about(planned(), "0").fits
    assert not about(planned(), "9999").fits
    assert about(planned(), "").fits == planned().fits[:1]


@pytest.mark.parametrize("name", ["1", "3", "L4", "g6e.xlarge", "p5.48xlarge", "g5"])
def test_named_candidates_fit_one_screen(name):
    out = io.StringIO()
    show_candidates(Console(file=out, width=100), about(planned(), name), chat(), planned())
    lines = out.getvalue().splitlines()
    assert 0 < len(lines) <= 40
    rank = next((line for line in lines if line.startswith("rank ")), "")
    assert ("the first choice" in rank) == (name == "1")
    assert bool(rank) == bool(about(planned(), name).fits)


def test_explain_has_the_tightest_limit_of_the_plan():
    out = io.StringIO()
    show_candidates(Console(file=out, width=200), about(planned(), "1"), chat(), planned())
    line = next(line for line in out.getvalue().splitlines() if line.startswith("tightest"))
    assert line.split(maxsplit=1)[1] == tightest(limits(chat(), planned().chosen))
