"""`rackwright plan` answers on one screen: 40 lines of 100 columns, and without broken rows on 80."""

import io
import re
from datetime import date
from pathlib import Path

import pytest
from rackwright.diagnostics.problem import Level
from rackwright.report.terminal.plan import by_code, show_plan
from rackwright.workflow.pipeline import Pipeline
from rich.console import Console

pytestmark = pytest.mark.xdist_group("report")
ROOT = Path(__file__).parents[2]
SPECS = sorted(path for path in ROOT.glob("stacks/*.yaml") if not path.name.startswith("Pulumi."))
LONG = ["chat-serve", "existing-cluster", "near-tie-in-time", "nothing-fits"]
"""Cases of tests/cases/sizing with 46 lines and more in full sentences."""
TODAY = date(2026, 11, 21)
LINES = 40
FEW = {"llama-70b-onprem": 1, "chat-onprem": 1, "llama-70b-gke": 2, "chat-tpu": 1, "gemma-multislice": 1}
"""Examples with fewer alternatives: their number of fits."""


def shown(path: Path, width: int = 100, **options) -> list[str]:
    pipeline, out = Pipeline(path, TODAY), io.StringIO()
    show_plan(Console(file=out, width=width), pipeline.plan, pipeline.spec, pipeline.preview(), Path("stacks", path.name), **options)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_plan_fits_one_screen(path):
    lines = shown(path)
    assert len(lines) <= LINES
    labels = {line.split()[0] for line in lines if line and not line.startswith(" ")}
    of_one = set() if "2 workloads" in lines[0] or FEW.get(path.stem) == 1 else {"rejected"}  # combinations are rejected for the bill only
    assert {"why", "bill", "tightest", "evidence", "next"} | of_one <= labels
    ranks = [line for line in lines if line[:3].strip().isdigit()]
    assert len(ranks) == FEW.get(path.stem, 4), "the choice and three alternatives"


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", LONG)
def test_long_texts_are_cut_to_one_screen(name, width):
    lines = shown(ROOT / "tests" / "cases" / "sizing" / name / "spec.yaml", width)
    assert len(lines) <= LINES
    assert lines[-1].split()[0] in ("next", "rackwright"), "the end is not cut"
    assert max(map(len, lines)) <= width


def test_full_cuts_no_text():
    spec = ROOT / "tests" / "cases" / "sizing" / "chat-serve" / "spec.yaml"
    cut = [line for line in shown(spec) if line.endswith(" ...")]
    assert cut, "only the short form is cut"
    whole = shown(spec, full=True)
    assert [line for line in whole if line.endswith(" ...")] == []
    assert "V-111" in " ".join(whole)


def test_full_shows_the_bill_by_line_the_frontier_and_rejections():
    lines = shown(ROOT / "stacks" / "llama-70b-sft.yaml", full=True)
    assert [line for line in lines if line.startswith("NAT gateway")]
    assert "Cost/time Pareto frontier, machines only" in lines
    assert [line for line in lines if line.startswith("nearest rejected")]


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_rows_are_not_broken_on_80_columns(path):
    lines = shown(path, 80)
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= 80
    ranks = [line.split() for line in lines if line[:3].strip().isdigit()]
    assert len(ranks) == FEW.get(path.stem, 4)
    assert all(cells[1].isdigit() and cells[2] == "x" and cells[-1].replace(",", "").replace(".", "").isdigit() for cells in ranks)


def test_start_up_is_part_of_the_time():
    lines = "\n".join(shown(ROOT / "stacks" / "mistral-7b-qlora.yaml"))
    assert re.search(r"^time +[\d.]+ h \([\d.]+ to [\d.]+\), of it about 15 min start-up, which is billed$", lines, re.MULTILINE)


def test_the_cost_of_an_order_is_shown():
    text = " ".join(" ".join(shown(ROOT / "tests" / "cases" / "sizing" / "capacity-block" / "spec.yaml")).split())
    assert "`capacity: {ordered: ...}` ranks it first; #3 (2 x p6-b200.48xlarge, us-east-1, on-demand) costs 52 % less" in text


def test_a_default_of_on_demand_capacity_is_shown(tmp_path):
    text = (ROOT / "stacks" / "mistral-7b-qlora.yaml").read_text(encoding="utf-8")
    assert "      capacity: {ordered: [on-demand, spot]}\n" in text
    (tmp_path / "spec.yaml").write_text(text.replace("      capacity: {ordered: [on-demand, spot]}\n", ""), encoding="utf-8")
    assert "only on-demand capacity was considered (default)" in " ".join(shown(tmp_path / "spec.yaml"))
    assert "only on-demand" not in " ".join(shown(ROOT / "stacks" / "mistral-7b-qlora.yaml"))


def test_problems_of_one_code_are_one_line():
    doubts = [
        (Level.WARNING, "R-30: no owner"),
        (Level.WARNING, "R-30: no cost centre"),
        (Level.ERROR, "V-1: broken"),
        (Level.WARNING, "x"),
    ]
    assert [(label, text) for label, text, _ in by_code(doubts)] == [
        (Level.ERROR, "V-1: broken"),
        (Level.WARNING, "R-30: no owner (and 1 more like it)"),
        (Level.WARNING, "x"),
    ]
