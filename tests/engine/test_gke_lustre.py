"""A training cluster on GKE with Managed Lustre and its peering, with the real engine."""

from dataclasses import replace

import pytest

from tests.engine.aws_stacks import Stack
from tests.gke_plans import GKE

pytestmark = pytest.mark.slow


def test_a_file_system_is_created_grows_in_place_and_leaves_no_peering(cloud, tmp_path):
    plan = GKE["gke-lustre"]()
    stack = Stack(plan, cloud, tmp_path, "lustre")
    made = stack.engine.up()["create"]
    assert stack.engine.up(expect_no_changes=True) == {"same": made}
    stack.write(replace(plan, lustre=replace(plan.lustre, capacity_gib=2 * plan.lustre.capacity_gib)))
    assert stack.engine.up().get("replace", 0) == 0
    stack.teardown()
    assert cloud.is_empty()
