"""The decision of a stack with several workloads: recorded, kept through edits, renewed, and taken down."""

from datetime import date
from pathlib import Path
from shutil import copy

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.workflow.decision import decision_path, read_decision
from rackwright.workflow.pipeline import Pipeline
from rackwright.workflow.stack.teardown import decide_for_teardown

EXAMPLE = Path(__file__).parents[2] / "stacks" / "assistant-eks.yaml"
TODAY = date(2026, 11, 21)


@pytest.fixture
def spec(tmp_path) -> Path:
    """A copy of the example with a recorded decision."""
    path = tmp_path / EXAMPLE.name
    copy(EXAMPLE, path)
    decided = Pipeline(path, TODAY).choose()
    decision_path(path).write_text(decided.decision.to_json())
    return path


def edited(path: Path, old: str, new: str) -> Pipeline:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return Pipeline(path, TODAY)


def test_a_recorded_decision_has_the_machines_of_every_workload(spec):
    decision = read_decision(decision_path(spec))
    assert decision
    assert not decision.by_hand
    assert [fit.workload for fit in decision.fit.each_workload] == ["chat", "embed"]
    assert [plan.facts.model for plan in decision.plan.each_workload] == ["llama-3.1-8b", "bert-large"]
    again = Pipeline(spec, TODAY).decide()
    assert again.recorded
    assert not again.edits
    assert again.plan == Pipeline(EXAMPLE, TODAY).choose().plan


def test_another_rank_records_the_machines_of_that_combination(spec):
    pipeline = Pipeline(spec, TODAY)
    decision = pipeline.choose(3).decision
    assert decision.fit == pipeline.plan.fits[2]
    assert decision.plan.further[0].fits == decision.fit.further
    assert {pool.machine for pool in pipeline.choose(3).plan.pools[1:]} == {f.candidate.machine for f in decision.fit.each_workload}


def test_an_edit_of_the_second_workload_keeps_the_machines(spec):
    made = edited(spec, "requests_per_second: 40", "requests_per_second: 150").decide()
    (warning,) = [problem for problem in made.edits if problem.code == "D-edited"]
    assert "still satisfy it" in warning.reason
    was = read_decision(decision_path(spec)).fit
    assert [f.candidate.machine for f in made.decision.fit.each_workload] == [f.candidate.machine for f in was.each_workload]
    assert made.decision.fit.further[0].candidate.replicas > was.further[0].candidate.replicas


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("- name: embed", "- name: vectors", "recorded for chat, embed, the spec has chat, vectors"),
        ("target: 300 ms", "target: 1 ms", "embed, time to the answer: needs"),
        ("max_cost: 12000 USD", "max_cost: 5500 USD", "the whole bill of a month"),
    ],
)
def test_an_edit_that_the_machines_do_not_satisfy_stops_an_update(spec, old, new, expected):
    with pytest.raises(UserError) as error:
        edited(spec, old, new).decide()
    assert {problem.code for problem in error.value.problems} == {"D-stale"}
    assert expected in error.value.problems[0].reason


def test_a_choice_again_takes_the_recorded_machines(spec):
    pipeline = Pipeline(spec, TODAY)
    third = pipeline.choose(3).decision
    decision_path(spec).write_text(third.to_json())
    assert Pipeline(spec, TODAY).choose().decision.fit == third.fit


def test_a_teardown_removes_the_pools_of_every_workload(spec):
    stack = decide_for_teardown(Pipeline(spec, TODAY)).plan
    assert [pool.name for pool in stack.pools] == ["system", "gpu", "gpu-embed"]
    decision_path(spec).unlink()
    guess = decide_for_teardown(Pipeline(spec, TODAY))
    assert [pool.name for pool in guess.plan.pools] == ["system", "gpu", "gpu-embed"]
    assert " + 1 x g4dn.xlarge" in guess.problems[0].reason


def test_a_second_workload_needs_a_new_choice_and_keeps_the_first(spec, tmp_path):
    text = spec.read_text()
    start, end = text.index("  - name: embed"), text.index("goals:")
    both, alone = text, text[:start] + text[end:]
    spec.write_text(alone.replace(", embed-api-key: {config: embedApiKey}", ""))
    decision_path(spec).unlink()
    first = Pipeline(spec, TODAY).choose()
    decision_path(spec).write_text(first.decision.to_json())
    spec.write_text(both)
    with pytest.raises(UserError, match="D-stale"):
        Pipeline(spec, TODAY).decide()
    added = Pipeline(spec, TODAY).choose()
    keys = {manifest.key: manifest for manifest in added.plan.manifests}
    assert all(keys[manifest.key] == manifest for manifest in first.plan.manifests)
    assert added.plan.pool("gpu").machine == first.plan.pool("gpu").machine
