"""`rackwright diff`: the steps of an update, without the engine."""

from dataclasses import replace

import pytest
from rackwright_pulumi.testing.diff import compare

from tests.graphs import recorded
from tests.plans import fleet_plan, tpu_plan, training_plan
from tests.testing.edits import fewer_objects

DEPLOYER, SECOND = ("arn:aws:iam::123456789012:role/deployer", "arn:aws:iam::123456789012:role/second")


def graph(plan) -> dict:
    return recorded(plan).as_json()


def changes(old, new) -> dict[str, str]:
    return {change.name: change.operation for change in compare(graph(old), graph(new))}


@pytest.mark.parametrize("make", [training_plan, fleet_plan, tpu_plan])
def test_the_same_plan_changes_nothing(make):
    assert not compare(graph(make()), graph(make()))


def test_another_topology_replaces_only_the_slice():
    plan = tpu_plan()
    pools = tuple(replace(p, topology="4x8", nodes_min=8, nodes_max=8, nodes_start=8) if p.topology else p for p in plan.pools)
    found = changes(plan, replace(plan, pools=pools))
    assert {name for name, operation in found.items() if operation == "replace"} == {f"{plan.name}-slice-0-pool"}


def test_more_nodes_update_the_pool_in_place():
    plan = training_plan()
    pools = tuple(replace(p, nodes_min=8, nodes_max=8, nodes_start=8) if p.name == "gpu" else p for p in plan.pools)
    assert set(changes(plan, replace(plan, pools=pools)).values()) == {"update"}


def test_a_replaced_network_lists_the_forcing_field():
    plan = training_plan()
    found = compare(graph(plan), graph(replace(plan, network=replace(plan.network, cidr="10.9.0.0/16"))))
    vpc = next(change for change in found if change.type == "aws:ec2/vpc:Vpc")
    assert (vpc.operation, vpc.because, vpc.protected) == ("replace", ("cidrBlock",), True)


def test_removed_resources_are_deleted_and_new_ones_created():
    plan = training_plan()
    without = fewer_objects(plan)
    assert set(changes(plan, without).values()) == {"delete"}
    assert set(changes(without, plan).values()) == {"create"}


def test_a_renamed_resource_with_an_alias_is_updated_under_its_new_name():
    plan = training_plan()
    alone, listed = (replace(plan, cluster=replace(plan.cluster, admins=admins)) for admins in ((), (DEPLOYER, SECOND)))
    found = compare(graph(alone), graph(listed))
    assert [(change.operation, change.name) for change in found if change.type == "aws:eks/accessEntry:AccessEntry"] == [
        ("create", "llama-70b-sft-cluster-admin-123456789012-role-second"),
        ("update", "llama-70b-sft-cluster-admin-123456789012-role-deployer"),
    ]
