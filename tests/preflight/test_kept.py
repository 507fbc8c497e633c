"""Queues of stacks with a decision of an earlier release, which has no gate."""

from datetime import date
from pathlib import Path

import yaml
from rackwright.workflow.decision import decision_path
from rackwright.workflow.pipeline import Pipeline

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)
EARLIER = ROOT / "tests" / "states" / "0.1.0" / "stacks" / "llama-70b-sft.yaml"


def earlier_stack(folder: Path, **preflight) -> Path:
    """The training cluster of the first release with its decision, and options of the check."""
    path = folder / EARLIER.name
    given = yaml.safe_load(EARLIER.read_text())
    blueprint = given.get("blueprint", {}) | ({"preflight": preflight} if preflight else {})
    path.write_text(yaml.safe_dump(given | {"blueprint": blueprint}))
    decision_path(path).write_text(decision_path(EARLIER).read_text())
    return path


def flavor(path: Path) -> dict:
    plan = Pipeline(path, TODAY).decide().plan
    return next(manifest.body for manifest in plan.manifests if manifest.key == "queue.flavor")


def test_a_running_queue_keeps_its_flavor(tmp_path):
    """Kueue does not change the labels of a flavor with a topology, and nodes that run jobs have no label."""
    found = flavor(earlier_stack(tmp_path))
    assert (found["metadata"]["name"], found["spec"]["nodeLabels"]) == ("accelerator", {"rackwright/role": "accelerator"})


def test_a_new_choice_keeps_it_until_the_spec_sets_the_gate(tmp_path):
    path = earlier_stack(tmp_path)
    chosen = Pipeline(path, TODAY).choose()
    assert chosen.decision.has_ungated_queue
    assert not chosen.plan.has_gated_queue


def test_a_gate_that_is_set_later_is_another_flavor(tmp_path):
    found = flavor(earlier_stack(tmp_path, gate=True))
    assert found["metadata"]["name"] == "accelerator-passed"
    assert found["spec"]["nodeLabels"]["rackwright/preflight"] == "passed"


def test_a_new_stack_records_its_gate(tmp_path):
    path = tmp_path / "llama-70b-sft.yaml"
    given = yaml.safe_load((ROOT / "stacks" / path.name).read_text())
    path.write_text(yaml.safe_dump(given | {"blueprint": given["blueprint"] | {"preflight": {"image": "registry.example/nccl-tests:1"}}}))
    chosen = Pipeline(path, TODAY).choose()
    assert (chosen.plan.has_gated_queue, chosen.decision.has_ungated_queue) == (True, False)
    decision_path(path).write_text(chosen.decision.to_json())
    assert Pipeline(path, TODAY).decide().plan.has_gated_queue
