"""`graph`, `diff` and `policy` show what the program of the same stack builds: layers of it, and its deletion lock."""

import json
import runpy
from pathlib import Path

import pytest
from rackwright_pulumi.resource_graph import Graph
from rackwright_pulumi.testing import record

ROOT = Path(__file__).parents[2]
TODAY = ("--today", "2026-11-21")
SPEC, STACK = "llama-70b-sft.yaml", "llama-70b-sft"
BELOW = "organization/rackwright/base"
LOCK = "rackwright:index:DeletionLock"


def program(outputs: dict | None = None, **config: str) -> Graph:
    values = {"simulated": "true", "today": "2026-11-21", **config}
    settings = {f"rackwright:{key}": value for key, value in values.items()}
    path = str(ROOT / "__main__.py")
    return record(lambda: runpy.run_path(path) and None, stack=STACK, config=settings, stack_outputs=outputs or {})


@pytest.fixture(scope="module")
def base() -> Graph:
    return program(layers="base")


def labels(resources: list[dict]) -> set[tuple[str, str, bool]]:
    return {(node["type"], node["name"], node["protect"]) for node in resources}


def test_the_graph_has_the_lock_of_the_program(rackwright, stacks):
    found = rackwright("graph", SPEC, "--json", *TODAY).json["resources"]
    assert labels(found) == labels(program().as_json()["resources"])
    (lock,) = [node for node in found if node["type"] == LOCK]
    assert lock["protect"]
    assert lock["dependsOn"]


def test_the_graph_of_layers_is_that_of_their_program(rackwright, stacks, base):
    lower = rackwright("graph", SPEC, "--layers", "base", "--json", *TODAY).json["resources"]
    assert labels(lower) == labels(base.as_json()["resources"])
    layers = "cluster,operators,workloads"
    upper = rackwright("graph", SPEC, "--layers", layers, "--upstream-stack", BELOW, "--json", *TODAY).json["resources"]
    assert labels(upper) == labels(program({BELOW: base.outputs}, layers=layers, below=BELOW).as_json()["resources"])


def test_the_policy_of_a_layer_has_its_actions_only(rackwright, stacks):
    actions = rackwright("policy", SPEC, "--layers", "base", *TODAY).out
    assert "ec2:CreateVpc" in actions
    assert "eks:CreateCluster" not in actions


def test_a_diff_of_layers_compares_them(rackwright, stacks):
    graph = rackwright("graph", SPEC, "--layers", "base", "--json", *TODAY)
    Path("old.json").write_text(graph.out)
    assert rackwright("diff", "old.json", SPEC, "--layers", "base", *TODAY).out == "no changes\n"
    changes = json.loads(rackwright("diff", "old.json", SPEC, "--json", *TODAY).out)
    assert "aws:eks/cluster:Cluster" in {change["type"] for change in changes if change["operation"] == "create"}


@pytest.mark.parametrize(
    ("layers", "reason"), [("bases", "unknown layers: bases. Use base, cluster, operators, workloads"), ("workloads", "R-20")]
)
def test_layers_that_cannot_be_built_are_refused(layers, reason, rackwright, stacks):
    found = rackwright("graph", SPEC, "--layers", layers, *TODAY)
    assert found.status == 2
    assert reason in found.err
