"""Layers in separate stacks, with stack references of the real engine."""

from dataclasses import replace

import pytest
from rackwright_pulumi.simulator import EngineFailure

from tests import plans
from tests.engine.aws_stacks import Stack

pytestmark = pytest.mark.slow
LAYERS = {"base": ("base",), "cluster": ("cluster",), "top": ("operators", "workloads")}


def test_three_layers_are_created_in_order_and_destroyed_in_reverse(cloud, tmp_path):
    plan, below, stacks = plans.training_plan(), "", []
    for name, layers in LAYERS.items():
        stacks.append(Stack(replace(plan, layers=layers, below=below), cloud, tmp_path, name))
        stacks[-1].engine.up()
        below = f"organization/rackwright/{name}"
    for stack in stacks:
        stack.engine.up(expect_no_changes=True)
    base, cluster, top = stacks
    standing = {resource.urn for resource in cloud.resources()}
    with pytest.raises(EngineFailure, match="Cluster llama-70b-sft uses the network and files of this stack"):
        base.teardown()
    with pytest.raises(EngineFailure, match="protected"):  # nor were the protections lifted on the way
        base.engine.run("destroy", "--stack", base.name, "--yes")
    assert {resource.urn for resource in cloud.resources()} == standing
    top.teardown()
    cluster.teardown()
    base.teardown()
    assert cloud.is_empty()


def test_a_missing_upstream_stack_is_an_error(cloud, tmp_path):
    stack = Stack(replace(plans.training_plan(), layers=("cluster",), below="organization/rackwright/base"), cloud, tmp_path, "cluster")
    with pytest.raises(EngineFailure, match="unknown stack"):
        stack.engine.up()
