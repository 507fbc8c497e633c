"""An update that replaces the machines of a node group says so: the hop limit of the metadata service, on a stack that had two hops."""

import json
from copy import deepcopy

import pytest
from rackwright_pulumi.testing.diff import compare

from tests.graphs import recorded
from tests.plans import training_plan

GROUP, TEMPLATE = "aws:eks/nodeGroup:NodeGroup", "aws:ec2/launchTemplate:LaunchTemplate"


@pytest.fixture(scope="module")
def graph() -> dict:
    plan = training_plan()
    return json.loads(json.dumps(recorded(plan).as_json()))


def test_a_lower_hop_limit_rolls_every_node_group(graph):
    old = deepcopy(graph)
    for node in old["resources"]:
        if node["type"] == TEMPLATE:
            node["inputs"]["metadataOptions"]["httpPutResponseHopLimit"] = 2
    changes = compare(old, graph)
    groups = {node["name"] for node in graph["resources"] if node["type"] == GROUP}
    assert groups
    assert {change.name for change in changes if change.rolls} == groups
    assert {change.operation for change in changes} == {"update"}


def test_a_change_of_the_size_rolls_nothing(graph):
    old = deepcopy(graph)
    for node in old["resources"]:
        if node["type"] == GROUP:
            node["inputs"]["scalingConfig"]["maxSize"] += 1
    changes = compare(old, graph)
    assert changes
    assert not any(change.rolls for change in changes)
