"""Training clusters on GKE with the real engine: in a Shared VPC with existing service accounts, and with a fallback."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from rackwright.stackplan import StackPlan

from tests import gke_plans, plans
from tests.engine.aws_stacks import Stack

pytestmark = pytest.mark.slow
CLUSTER, POOL, NETWORK = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool", "gcp:compute/network:Network"
ACCOUNT = "gcp:serviceaccount/account:Account"


def edited(plan: StackPlan) -> StackPlan:
    """Benign edits of a running stack: a tag, the API ranges, a viewer, a larger maximum of autoscaled pools."""
    cluster = replace(plan.cluster, api_cidrs=(*plan.cluster.api_cidrs, "198.51.100.0/24"), viewers=("group:ml@example.com",))
    pools = tuple(replace(pool, nodes_max=pool.nodes_max + 1) if pool.nodes_min < pool.nodes_max else pool for pool in plan.pools)
    more: dict[str, Any] = {"tags": (*plan.tags, ("project", "atlas")), "cluster": cluster, "pools": pools}
    return replace(plan, **more)


@pytest.mark.parametrize("name", ["gke-existing", "gke-fallback"])
def test_a_cluster_is_created_unchanged_edited_in_place_and_destroyed(name, cloud, tmp_path):
    plan = gke_plans.GKE_OPTIONS[name]()
    stack = Stack(plan, cloud, tmp_path)
    made = stack.engine.up()["create"]
    assert stack.engine.up(expect_no_changes=True) == {"same": made}
    steps = stack.would(edited(plan))
    assert not {"replace", "create-replacement"} & set(steps)
    assert steps["update"][CLUSTER] == 1
    stack.engine.up()
    stack.teardown()
    assert cloud.is_empty()


def test_a_shared_vpc_gets_permissions_and_no_other_resource(cloud, tmp_path):
    stack = Stack(plans.compiled(gke_plans.existing_case()), cloud, tmp_path)
    stack.engine.up()
    kinds = Counter(resource.type for resource in cloud.resources())
    assert (kinds[NETWORK], kinds[ACCOUNT]) == (0, 0)
    (cluster,) = cloud.resources(CLUSTER)
    assert cluster.inputs["subnetwork"] == gke_plans.NODES_SUBNET
    there = [each for each in cloud.resources() if each.inputs.get("project") == "net-project"]
    assert Counter(each.inputs["role"] for each in there) == {"roles/compute.networkUser": 2, "roles/container.hostServiceAgentUser": 1}
