"""Pinned parallelism takes precedence over the search, and its cost on the same machines is shown."""

from datetime import UTC, datetime

import pytest
from rackwright.sizing.size import size
from rackwright.spec import read
from rackwright.wording.plan_text import pinned_parallelism, with_text

from tests.sizing.helpers import AWS, GCP, finetune, serve

TODAY = datetime(2026, 11, 21, tzinfo=UTC).date()


def said(workload: str, place: str = AWS) -> tuple[str, str]:
    """The chosen layout, and the cost of the pins."""
    spec = read(f"{{api_version: rackwright/v1, name: test, workloads: [{workload}], infra: {{any_of: [{place}]}}}}")
    plan = size(spec, today=TODAY)
    return str(plan.chosen.candidate.parallelism), " ".join(pinned_parallelism(plan))


def pinned(pins: str, base: str = "llama-3.1-8b") -> str:
    return finetune(base, "none", more=f"parallelism: {{{pins}}}")


def test_without_pinned_parallelism_there_is_no_sentence():
    assert said(finetune())[1] == ""


def test_a_slower_pinned_layout_is_used_and_its_cost_shown():
    layout, words = said(pinned("tensor: 8, recompute: full"))
    assert layout.startswith("TP8")
    assert words.startswith(f"Pinned parallelism, {layout}: ")
    assert "Without the pin these machines would use " in words
    assert "less time for" in words
    assert "less money" in words


def test_pinning_the_best_layout_costs_nothing():
    layout, _ = said(finetune(adapter="none"))
    recompute = "full" if "recompute full" in layout else "selective" if "recompute selective" in layout else "none"
    assert said(pinned(f"recompute: {recompute}"))[1].endswith("costs nothing on these machines")


@pytest.mark.parametrize("width", [1, 2])
def test_a_server_s_width_is_compared_by_the_month(width):
    layout, words = said(serve(rate=60, more=f"parallelism: {{tensor: {width}}}"), GCP)
    assert ("TP2" in layout) == (width == 2)
    assert "costs nothing" in words or "a month" in words


def test_the_plan_has_a_warning_with_the_cost_of_pins():
    spec = read(
        f"{{api_version: rackwright/v1, name: test, workloads: [{pinned('tensor: 8, recompute: full')}], infra: {{any_of: [{AWS}]}}}}"
    )
    assert any(w.startswith("Pinned parallelism, TP8") for w in with_text(size(spec, today=TODAY)).warnings)
