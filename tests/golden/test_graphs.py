"""Every resource of the example stacks, as recorded and reviewed, and properties of every graph.

After an intended change: `make goldens`, read the difference, commit both.
"""

import json
import os
from datetime import datetime
from pathlib import Path

import pytest
from rackwright.cli.session import Session
from rackwright_pulumi.cli import graph_of
from rackwright_pulumi.testing.diff import compare

from tests import graphs
from tests.graphs import recorded
from tests.own_plans import OWN
from tests.plans import box_plan, fleet_plan, tpu_plan, training_case, training_plan

ROOT = Path(__file__).parents[2]
FIRST = ("mistral-7b-qlora", "llama-70b-sft", "chat-serve", "gemma-pretrain")
"""Examples of the first release, whose states are kept."""
STACKS = (
    *FIRST, "chat-eks", "llama-70b-onprem", "chat-onprem", "assistant-eks", "llama-70b-gke", "mistral-7b-gce", "gemma-multislice",
    "chat-tpu",
)  # fmt: skip
STATES = sorted((ROOT / "tests" / "states").glob("*/*.json"))
TODAY = datetime(2026, 11, 21)
PLANS = {"box": box_plan, "training": training_plan, "fleet": fleet_plan, "tpu": tpu_plan} | OWN


def graph(stack: str, folder: Path = ROOT / "stacks") -> dict:
    return graph_of(Session.of(folder / f"{stack}.yaml", True, TODAY))


@pytest.mark.parametrize("stack", STACKS)
def test_graph_matches_the_recorded_one(stack):
    path = Path(__file__).parent / f"{stack}.json"
    found = json.loads(json.dumps(graph(stack)))
    if os.environ.get("RACKWRIGHT_RENEW") == "goldens":
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    recorded = json.loads(path.read_text(encoding="utf-8"))
    assert _by_urn(found) == _by_urn(recorded), "a wanted change? `make goldens`, then read the difference"


def test_states_of_earlier_releases_exist():
    assert {path.stem for path in STATES} >= set(FIRST)


@pytest.mark.parametrize("kept", STATES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_stack_of_an_earlier_release_is_neither_replaced_nor_deleted(kept):
    """design.md, house rule 5: the states of every release are stored with their spec and decision. Later releases must preview against
    them, also if they would size the spec differently."""
    changes = compare(json.loads(kept.read_text(encoding="utf-8")), graph(kept.stem, kept.parent / "stacks"))
    assert not [f"{c.operation} {c.type} {c.name}: {', '.join(c.because)}" for c in changes if c.operation in ("replace", "delete")]


@pytest.mark.parametrize("name", PLANS)
def test_a_preview_shows_every_resource_of_the_update(name):
    """Resources created inside an apply are missing from previews (pulumi.md, trap 11)."""
    assert set(graphs.graph_of(name, preview=True).nodes) == set(graphs.graph_of(name).nodes)


@pytest.mark.parametrize("name", PLANS)
def test_components_register_their_outputs(name):
    assert not graphs.graph_of(name).unregistered()


def test_the_number_of_nodes_does_not_change_the_resources():
    from rackwright.compile import compile_plan

    from tests.plans import TODAY as today

    urns = []
    for nodes in (2, 512):
        spec, sizing, fit = training_case(nodes)
        plan = compile_plan(spec, sizing, fit, today=today)
        urns.append(set(recorded(plan).nodes))
    assert urns[0] == urns[1]


def _by_urn(found: dict) -> dict:
    return {node["urn"]: node for node in found["resources"]}
