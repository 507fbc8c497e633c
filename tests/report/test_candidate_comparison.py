"""`rackwright compare SPEC A B`: terms of two candidates, and what decided between them."""

import io
from datetime import date
from functools import cache
from pathlib import Path

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.report.candidate_comparison import CandidateComparison, comparison_json, comparison_of
from rackwright.report.terminal.comparison import show_comparison
from rackwright.sizing.evaluation.evaluate import p80
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


def test_intervals_that_overlap_are_within_the_uncertainty():
    decided = compared("mistral-7b-qlora", "g6e.xlarge", "g6.xlarge").decided
    assert "USD), within the uncertainty of the estimate, time " in decided


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
