"""Logs of pods of clusters that are older than the option `pod_logs`."""

import json
from datetime import date
from pathlib import Path

import pytest
import yaml
from rackwright.catalog import Catalog
from rackwright.spec import load
from rackwright.workflow.decision import compiled, decision_path, read_decision
from rackwright.workflow.pipeline import Pipeline

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)
STATES = ROOT / "tests" / "states" / "0.1.0" / "stacks"


def earlier_fleet(tmp_path: Path, blueprint: dict) -> Path:
    """The GKE fleet of the first release with its decision, and keys of its blueprint."""
    path = tmp_path / "chat-serve.yaml"
    path.write_text((STATES / path.name).read_text())
    set_blueprint(path, blueprint)
    decision_path(path).write_text(decision_path(STATES / path.name).read_text())
    return path


def set_blueprint(path: Path, blueprint: dict) -> None:
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"blueprint": blueprint}))


@pytest.mark.parametrize(("blueprint", "kept"), [({}, True), ({"pod_logs": "none"}, False), ({"pod_logs": "cloud"}, True)])
def test_a_fleet_of_an_earlier_release_keeps_the_logs_of_its_pods(tmp_path, blueprint, kept):
    """GKE clusters collected them before `pod_logs` existed, so an update alone must not turn them off."""
    path = earlier_fleet(tmp_path, blueprint)
    cluster = Pipeline(path, TODAY).decide().plan.cluster
    assert cluster
    assert cluster.pod_logs is kept


def test_a_new_choice_keeps_the_logs_of_pods_until_the_spec_sets_them(tmp_path):
    path = earlier_fleet(tmp_path, {})
    chosen = Pipeline(path, TODAY).choose()
    assert chosen.plan.cluster
    assert (chosen.plan.cluster.pod_logs, chosen.decision.has_pod_logs) == (True, True)
    decision_path(path).write_text(chosen.decision.to_json())
    set_blueprint(path, {"pod_logs": "none"})
    chosen = Pipeline(path, TODAY).choose()
    assert not chosen.decision.has_pod_logs
    decision_path(path).write_text(chosen.decision.to_json())
    set_blueprint(path, {})
    again = Pipeline(path, TODAY).decide().plan.cluster
    assert again
    assert not again.pod_logs


@pytest.mark.parametrize("stack", ["chat-serve", "chat-eks"])
def test_a_new_stack_and_one_on_eks_have_no_logs_of_pods_by_default(tmp_path, stack):
    path = tmp_path / f"{stack}.yaml"
    path.write_text((ROOT / "stacks" / path.name).read_text())
    file = decision_path(path)
    file.write_text(Pipeline(path, TODAY).decision_of(1).to_json())
    new = Pipeline(path, TODAY).decide().plan.cluster
    earlier = json.loads(file.read_text())
    earlier.pop("has_pod_logs", None)
    file.write_text(json.dumps(earlier))
    decision = read_decision(file)
    assert new
    assert decision
    old = compiled(decision, load(path), TODAY, catalog=Catalog.default()).cluster
    assert old
    assert (new.pod_logs, old.pod_logs) == (False, stack == "chat-serve")
