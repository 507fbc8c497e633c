"""Edits that change what Kueue does not change of a running queue: levels of its topology, labels and tolerations of its flavor."""

from datetime import date
from pathlib import Path

import pytest
import yaml
from rackwright.workflow.decision import decision_path
from rackwright.workflow.pipeline import Pipeline

from tests.cli.conftest import STACKS

TODAY = date(2026, 11, 21)
EXAMPLE = "llama-70b-onprem"


@pytest.fixture
def recorded(tmp_path) -> Path:
    """The example on own servers with its decision."""
    path = tmp_path / f"{EXAMPLE}.yaml"
    (tmp_path / "inventories").mkdir()
    for source in (STACKS / "inventories").iterdir():
        (tmp_path / "inventories" / source.name).write_text(source.read_text())
    path.write_text((STACKS / path.name).read_text())
    decision_path(path).write_text(Pipeline(path, TODAY).choose().decision.to_json())
    return path


def edited(path: Path, change) -> None:
    """Changes the inventory of the spec."""
    (place,) = yaml.safe_load(path.read_text())["infra"]["any_of"]
    inventory = path.parent / place["inventory"]
    given = yaml.safe_load(inventory.read_text())
    change(given)
    inventory.write_text(yaml.safe_dump(given))


def names(path: Path) -> dict[str, str]:
    """Key -> name of the queue's objects, without the name of the stack."""
    plan = Pipeline(path, TODAY).decide().plan
    found = {plan.key: plan.body for plan in plan.manifests}
    queue = found["queue.cluster-queue"]["spec"]["resourceGroups"][0]["flavors"][0]["name"]
    assert queue == found["queue.flavor"]["metadata"]["name"]
    assert (
        found["queue.flavor"]["spec"].get("topologyName") == found.get("queue.topology", {"metadata": {"name": None}})["metadata"]["name"]
    )
    return {key: found[key]["metadata"]["name"].removeprefix(f"{plan.name}-") for key in ("queue.topology", "queue.flavor") if key in found}


def taint(inventory) -> None:
    inventory["servers"][0]["taints"] = [{"key": "dedicated", "value": "gpu"}]


def measured_levels(inventory) -> None:
    inventory["cluster"]["topology_labels"] = ["example.com/leaf"]
    inventory["servers"][0]["labels"] |= {"example.com/leaf": "leaf-1"}


def test_unchanged_queues_keep_their_names(recorded):
    assert names(recorded) == {"queue.topology": "fabric", "queue.flavor": "accelerator"}


@pytest.mark.parametrize("change", [taint, measured_levels])
def test_a_changed_queue_has_new_names(change, recorded):
    before = names(recorded)
    edited(recorded, change)
    after = names(recorded)
    assert all(after[key].startswith(f"{name}-") for key, name in before.items())
    decision_path(recorded).write_text(Pipeline(recorded, TODAY).choose().decision.to_json())
    assert names(recorded) == after, "a new choice must not take the first names again: their objects are immutable"
