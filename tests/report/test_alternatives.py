"""Frontier and rejection groups on the terminal, in JSON and in reports."""

import io
import json
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

import pytest
from rackwright import load, size
from rackwright.report import render_report
from rackwright.report.alternatives import (
    alternatives_json,
    distance_text,
    frontier_rows,
    frontier_text,
    goodput_text,
    rejection_counts,
    rejection_rows,
)
from rackwright.report.candidates import about
from rackwright.report.plan_json import explanation_json, plan_json
from rackwright.report.terminal.explain import show_explanation
from rackwright.report.terminal.plan import show_frontier
from rackwright.sizing.metrics import ParallelLayout
from rackwright.sizing.plan import SizingPlan
from rackwright.spec.spec import Spec
from rackwright.wording.plan_text import with_text
from rackwright.wording.rationale import rationale
from rackwright.workflow.stack.stack_preview import StackPreview
from rich.console import Console

pytestmark = pytest.mark.xdist_group("report")
ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)


@cache
def planned(stack: str) -> tuple[Spec, SizingPlan]:
    spec = load(ROOT / "stacks" / f"{stack}.yaml")
    return spec, size(spec, today=TODAY)


@pytest.mark.parametrize("stack", ["mistral-7b-qlora", "llama-70b-sft", "gemma-pretrain"])
def test_cheapest_and_fastest_name_their_goals(stack):
    spec, plan = planned(stack)
    rows = frontier_rows(plan, spec.goals)
    texts = [row[-1] for row in rows]
    assert sum("chosen" in words for words in texts) == 1
    assert sum("cheapest within " in words for words in texts) == 1
    assert sum("fastest within " in words for words in texts) == 1
    assert all("%" in row[4] for row in rows), "head-room"
    ranks = [int(row[0].removeprefix("#")) for row in rows]
    assert all(plan.fits[rank - 1] in plan.frontier or rank == 1 for rank in ranks)


def test_frontier_of_one_point_is_a_sentence():
    spec, plan = planned("chat-serve")
    alone = SizingPlan(plan.spec, plan.facts, plan.fits[:1], (), (), "")
    assert frontier_text(alone, spec.goals).startswith("#1 is cheapest and fastest within 12,000 USD")


def test_frontier_fits_100_columns():
    out = io.StringIO()
    spec, plan = planned("gemma-pretrain")
    show_frontier(Console(file=out, width=100), plan, spec.goals)
    assert max(map(len, out.getvalue().splitlines())) <= 100
    assert "cheapest within 168 h" in out.getvalue()


def test_json_has_frontier_and_rejections_and_can_be_read_back():
    _, plan = planned("gemma-pretrain")
    shown = plan_json(plan, StackPreview())
    assert {p["rank"] for p in shown["frontier"] if p["on_frontier"]} == {plan.fits.index(f) + 1 for f in plan.frontier}
    assert sum(c["candidates"] for c in shown["why_not"]) == len(plan.rejected)
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert SizingPlan.from_json(json.dumps(shown)) == with_text(plan)
    assert explanation_json(plan, plan, StackPreview())["frontier"] == alternatives_json(plan, StackPreview())["frontier"]


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_report_has_frontier_and_rejection_groups(suffix):
    spec, plan = planned("gemma-pretrain")
    page = render_report(spec, plan, suffix, TODAY, StackPreview())
    for words in ("Cost/time Pareto frontier", "cheapest within 168 h"):
        assert words in page
    counts = {row[0] for row in rejection_rows(plan)}
    assert all(f">{n}<" in page if suffix == ".html" else f"| {n} |" in page for n in counts)


def test_distance_text():
    assert [distance_text(d) for d in (1.001, 1.03, 1.5, 2.2, float("inf"))] == ["less than 1 %", "3 %", "50 %", "2.2 times", ""]


def test_goodput_text_has_share_and_checkpoint_interval():
    _, plan = planned("gemma-pretrain")
    spot = next(f for f in plan.fits if f.candidate.capacity == "spot")
    assert "of the time after start-up is productive; about " in goodput_text(spot)
    assert "a checkpoint every 1 h" in goodput_text(spot)
    assert goodput_text(planned("chat-serve")[1].chosen) == ""


def test_rejection_counts_add_up_to_all_rejected_candidates():
    _, plan = planned("gemma-pretrain")
    texts = rejection_counts(plan)
    assert texts.count("on region") == 1
    assert sum(int(part.split()[0].replace(",", "")) for part in texts.split(", ")) == len(plan.rejected)


@pytest.mark.parametrize("name", ["", "g5.12"])
def test_an_explanation_keeps_the_reason_of_the_plan(name):
    """`explain` narrows the plan; the reason for one machine or many is that of the whole plan."""
    spec, plan = planned("chat-eks")
    part = about(plan, name)
    assert part.fits != plan.fits
    assert explanation_json(part, plan, StackPreview())["scaling"] == with_text(plan).scaling
    out = io.StringIO()
    show_explanation(Console(file=out, width=2000), part, spec, plan)
    assert with_text(plan).scaling in out.getvalue()


def test_the_reason_counts_every_accelerator_of_a_replica():
    _, plan = planned("chat-eks")
    layout = ParallelLayout(tensor=2, pipeline=2)
    wide = replace(plan.fits[0], candidate=replace(plan.fits[0].candidate, parallelism=layout, accelerators_per_node=4))
    text = rationale(replace(plan, fits=(wide,)))
    assert f"one replica ({layout}) fits {layout.tensor * layout.pipeline} accelerators of" in text
    narrow = replace(wide, candidate=replace(wide.candidate, accelerators_per_node=layout.tensor))
    machines = f"{layout.pipeline} x {wide.candidate.machine}"
    assert f"takes {layout.accelerators} accelerators, so it spans {machines}." in rationale(replace(plan, fits=(narrow,)))
