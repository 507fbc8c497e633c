"""`rackwright compare SPEC A B`: terms of two candidates, and what decided between them."""

import io
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.report.comparison.candidate_comparison import CandidateComparison, comparison_json, comparison_of
from rackwright.report.deciding import Side, deciding_text
from rackwright.report.terminal.comparison import show_comparison
from rackwright.sizing.evaluation.evaluate import p80
from rackwright.sizing.plan import Fit
from rackwright.sizing.selection.near_ties import near_ties
from rackwright.spec import read
from rackwright.wording.formatting import span, usd
from rackwright.workflow.pipeline import Pipeline
from rich.console import Console

pytestmark = pytest.mark.xdist_group("report")
STACKS = Path(__file__).parents[2] / "stacks"
TODAY = date(2026, 11, 21)


@cache
def pipeline(name: str) -> Pipeline:
    return Pipeline(STACKS / f"{name}.yaml", TODAY)


@cache
def compared(name: str, first: str, second: str) -> CandidateComparison:
    return comparison_of(pipeline(name), first, second)


def text(found: CandidateComparison, full: bool = False) -> str:
    out = io.StringIO()
    show_comparison(Console(file=out, width=100), found, full)
    return out.getvalue()


def values(found: CandidateComparison) -> dict[tuple[str, str], list[float | None]]:
    return {(term["group"], term["term"]): term["values"] for term in comparison_json(found)["terms"]}


def test_terms_are_those_of_the_plan():
    found, plan = compared("llama-70b-sft", "1", "h100"), pipeline("llama-70b-sft").plan
    a, b = plan.fits[0], plan.fits[found.sides[1].rank - 1]
    assert "H100" in b.candidate.accelerator
    shown = values(found)
    for group, term, value in (
        ("memory per accelerator", "weights", lambda fit: fit.memory.weights_bytes),
        ("memory per accelerator", "total", lambda fit: fit.memory.total_bytes),
        ("time", "step", lambda fit: fit.speed.step_s),
        ("time", "run", lambda fit: fit.finish_s.p50),
        ("time", "run, p80", lambda fit: p80(fit.finish_s)),
        ("rate", "tokens/s", lambda fit: fit.speed.tokens_per_s),
        ("price, USD", "all machines, per hour", lambda fit: fit.usd_per_hour),
        ("price, USD", "machines, of the run", lambda fit: fit.cost_usd.p50),
        ("price, USD", "machines, of the run, p80", lambda fit: p80(fit.cost_usd)),
        ("bill, USD", "total for a run", lambda fit: pipeline("llama-70b-sft").preview(fit).bill.total_usd),
    ):
        assert shown[group, term] == pytest.approx([value(a), value(b)]), term
    assert shown["quota", "L-417A185B, vCPU"] == [384, 1536]
    assert ("storage", "file system") in shown


def test_the_p80_is_beside_the_median_where_it_decides():
    found, plan = compared("llama-70b-sft", "1", "h100"), pipeline("llama-70b-sft").plan
    a = plan.fits[0]
    assert found.decided.startswith(f"#1 ranks before #{found.sides[1].rank}: goals.optimize_for is cost; cost ")
    assert f"cost {usd(a.cost_usd.p50)} (p80 {usd(p80(a.cost_usd))}) against" in found.decided
    assert f"time {span(a.finish_s.p50)} (p80 {span(p80(a.finish_s))}) against" in found.decided


def test_the_order_of_names_does_not_change_what_decided():
    one, other = compared("chat-serve", "1", "2"), compared("chat-serve", "2", "1")
    assert one.decided == other.decided
    assert "of equal candidates the one with smaller machines ranks first" in one.decided
    assert [(term.name, term.cells[::-1]) for term in other.terms if term.group == "bill, USD"] == [
        (term.name, term.cells) for term in one.terms if term.group == "bill, USD"
    ]


def test_a_rejected_candidate_has_its_memory_and_the_constraint_that_it_fails():
    assert compared("chat-serve", "1", "L4").sides[1].candidate.accelerator == "NVIDIA L4", "not L40S"
    found = compared("chat-serve", "1", "g2-standard-24")
    assert found.sides[1].rank is None
    assert "fails: time per output token: " in found.decided
    shown = values(found)
    assert shown["memory per accelerator", "weights"][1] > 0
    assert shown["time", "each later token, p80"][1] > 0.05
    assert shown["bill, USD", "total for a month"][1] is None
    sides = comparison_json(found)["candidates"]
    assert [side["feasible"] for side in sides] == [True, False]
    assert sides[1]["rejections"]


def sides(first: Fit, second: Fit) -> tuple[Side, Side]:
    return Side(first, 1, speed=first.speed), Side(second, 2, speed=second.speed)


def test_a_difference_is_within_the_uncertainty_where_the_ranking_has_a_near_tie():
    """Intervals that overlapped at p10 were called equal, although the ranking told them apart, and the other way round."""
    p = pipeline("mistral-7b-qlora")
    first = p.plan.fits[0]
    near, far = (replace(first, cost_usd=first.cost_usd.times(factor)) for factor in (1.02, 1.3))
    assert near_ties((first, near), "cost")
    assert deciding_text(*sides(first, near), p.spec, p.plan).endswith("; the difference is within the uncertainty of the estimate.")
    assert not near_ties((first, far), "cost")
    assert "uncertainty" not in deciding_text(*sides(first, far), p.spec, p.plan)
    assert p80(first.cost_usd) > first.cost_usd.p50 * 1.05


def test_a_near_tie_names_what_ranks_the_first_one_first():
    p = pipeline("llama-70b-sft")
    smaller = next(fit for fit in p.plan.fits if fit.candidate.nodes > 1)
    c = smaller.candidate
    first = replace(smaller, candidate=replace(c, nodes=c.nodes * 2), cost_usd=smaller.cost_usd.times(0.98))
    words = "; the difference is within the uncertainty of the estimate, so {} ranks first."
    assert deciding_text(*sides(smaller, first), p.spec, p.plan).endswith(words.format("the smaller one"))
    owned = replace(smaller, candidate=replace(c, capacity_id="cr-0123456789abcdef0"))
    assert deciding_text(*sides(owned, first), p.spec, p.plan).endswith(words.format("the one on capacity that is already paid for"))
    by_time = replace(p.plan, optimize_for="time")
    slower = replace(first, cost_usd=first.cost_usd.times(0.5), duration_s=first.duration_s.times(1.02))
    assert deciding_text(*sides(slower, first), p.spec, by_time).endswith(words.format("the cheaper one"))


@pytest.mark.parametrize(
    ("workload", "rate"),
    [
        ("kind: serve, model: {base: sdxl}, image: {size: 1024, steps: 30}, requests_per_second: 2", "images/s"),
        ("kind: serve, model: {base: whisper-large-v3}, audio: {seconds: 30}, requests_per_second: 5", "seconds of audio/s"),
        ("kind: batch, model: {base: bert-base}, sequence_length: 256, data: {samples: 1e7}", "documents/s"),
    ],
)
def test_work_is_compared_in_its_unit(workload, rate):
    """An image service was compared by its first token and in samples."""
    head = f"api_version: rackwright/v1\nname: t\nworkloads: [{{name: a, {workload}}}]\n"
    p = Pipeline.of_spec(read(head + "infra: {any_of: [{cloud: aws, account: '123456789012', regions: [us-east-1]}]}\n"), TODAY)
    second = next(str(rank) for rank, fit in enumerate(p.plan.fits, 1) if fit.candidate.accelerator != p.plan.chosen.candidate.accelerator)
    found = comparison_of(p, "1", second)
    names = {term.name for term in found.terms}
    assert rate in names
    assert not any("token" in name or name == "samples/s" for name in names)
    assert any(name.startswith("machines, per 1") or name == "machines, per hour of audio" for name in names)
    assert "first token" not in found.decided
    assert ("answer under load" in found.decided) == (p.spec.workload.kind == "serve")


def test_equal_terms_are_counted_and_shown_on_demand():
    found = compared("chat-serve", "1", "2")
    assert "more, equal or of one side: --full" in text(found)
    assert "KV cache" not in text(found)
    assert "KV cache" in text(found, full=True)
    assert max(map(len, text(found, full=True).splitlines())) <= 100


def test_an_unknown_name_lists_the_candidates():
    with pytest.raises(UserError) as refused:
        compared("chat-serve", "1", "L44")
    (problem,) = refused.value.problems
    assert (problem.code, problem.reason) == ("C-candidate", "no candidate of this plan has rank or name 'L44'")
    assert problem.fix.startswith("name rank 1 to ")
    assert "; a machine: " in problem.fix
    assert "; an accelerator: " in problem.fix
    assert " more" in problem.fix


def test_one_candidate_twice_is_refused():
    with pytest.raises(UserError, match="both sides are"):
        compared("chat-serve", "1", pipeline("chat-serve").plan.fits[0].candidate.machine)
