"""Each blueprint on AWS: created, updated, without capacity, and destroyed without remaining resources."""

import pytest
from rackwright_pulumi.simulator import EngineFailure

from tests import plans
from tests.engine.aws_stacks import CASES, CLUSTER, CONTROLLED, FILESYSTEM, INSTANCE, NODES, Stack, edited

pytestmark = pytest.mark.slow
REPLACING = {"replace", "create-replacement", "delete-replaced", "delete"}


@pytest.fixture
def stack(cloud, tmp_path):
    return lambda case: Stack(plans.compiled(CASES[case]()), cloud, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_create_repeat_update_and_destroy(case, stack, cloud):
    """A benign edit replaces and deletes no resource; a destroy leaves no interface, machine or load balancer."""
    made = stack(case)
    made.engine.up()
    made.engine.up(expect_no_changes=True)
    machines = {r.urn: r.id for r in cloud.resources() if r.type in (NODES, CLUSTER, INSTANCE, FILESYSTEM)}
    steps = made.would(edited(made.plan))
    replaced = {kind for op in REPLACING for kind in steps.get(op, ())}
    assert replaced <= {"aws:sns/topicSubscription:TopicSubscription"}, replaced  # its address is what it is
    assert made.engine.up().get("update", 0) >= 1
    assert {r.urn: r.id for r in cloud.resources() if r.urn in machines} == machines
    assert {r.type for r in cloud.controlled()} == CONTROLLED.get(case, set())
    standing = len(cloud.resources())
    with pytest.raises(EngineFailure, match="protected"):
        made.engine.run("destroy", "--stack", made.engine.stack, "--yes")
    assert len(cloud.resources()) == standing
    made.teardown()
    assert cloud.leftovers() == []
    assert cloud.is_empty(), [r.type for r in (*cloud.resources(), *cloud.controlled())]


def test_c8_missing_machines_fail_one_pool_until_the_next_update(stack, cloud):
    """Existing resources are unchanged. The failed node group is created again, because EKS never repairs it."""
    made = stack("training")
    pool = next(pool for pool in made.plan.pools if pool.role == "accelerator")
    cloud.capacity = {pool.machine: {pool.zones[0]: pool.nodes_start - 1}}
    with pytest.raises(EngineFailure, match="InsufficientInstanceCapacity"):
        made.engine.up()
    before = {r.urn: r.id for r in cloud.resources()}
    groups = {r.name: r.state["status"] for r in cloud.resources(NODES)}
    failed = [name for name, status in groups.items() if status == "CREATE_FAILED"]
    assert (len(failed), len(groups)) == (1, 2)
    cloud.capacity = {pool.machine: {pool.zones[0]: pool.nodes_start}}  # not one more: the group that failed has to let go of them
    did = made.engine.up()
    assert did.get("replace") == 1
    assert did.get("delete", 0) == 0
    assert {r.state["status"] for r in cloud.resources(NODES)} == {"ACTIVE"}
    after = {r.urn: r.id for r in cloud.resources()}
    assert [urn.rpartition("::")[2] for urn, id_ in before.items() if after[urn] != id_] == failed
    made.engine.up(expect_no_changes=True)
    made.teardown()
    assert cloud.is_empty()


def test_c8_a_box_without_capacity_is_created_by_the_next_update(stack, cloud):
    made = stack("box")
    machine = made.plan.box.machine
    cloud.capacity = {machine: {made.plan.box.zone: 0}}
    with pytest.raises(EngineFailure, match="InsufficientInstanceCapacity"):
        made.engine.up()
    before = {r.urn: r.id for r in cloud.resources()}
    cloud.capacity = {}
    assert made.engine.up().get("replace", 0) == 0
    assert before.items() <= {r.urn: r.id for r in cloud.resources()}.items()
