"""Training clusters on GKE with the real engine: in a Shared VPC with existing service accounts, and with a fallback."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from rackwright.spec.infra import StackOutput
from rackwright.stackplan import StackPlan
from rackwright_pulumi.simulator import EngineFailure, SimulatedCloud

from tests import gke_plans, plans
from tests.engine.aws_stacks import Stack

pytestmark = pytest.mark.slow
CLUSTER, POOL, NETWORK = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool", "gcp:compute/network:Network"
ACCOUNT, SERVICE = "gcp:serviceaccount/account:Account", "gcp:projects/service:Service"
LAYERS = {"base": ("base",), "cluster": ("cluster",), "top": ("operators", "workloads")}
PARTS = {"vpc": "network.networkId", "key": "key.id", "cluster": "cluster.name"}


def owned(cloud: SimulatedCloud) -> set[str]:
    """URNs without APIs, which both stacks turn on and no stack turns off."""
    return {resource.urn for resource in cloud.resources() if resource.type != SERVICE}


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
    assert not {"replace", "create-replacement", "delete"} & steps.keys(), steps
    assert steps["update"][CLUSTER] == 1
    stack.engine.up()
    stack.teardown()
    assert cloud.is_empty()


def test_a_shared_vpc_gets_permissions_and_no_other_resource(cloud, tmp_path):
    stack = Stack(plans.compiled(gke_plans.existing_case()), cloud, tmp_path)
    stack.engine.up()
    kinds = Counter(resource.type for resource in cloud.resources())
    assert not kinds[NETWORK]
    assert not kinds[ACCOUNT]
    (cluster,) = cloud.resources(CLUSTER)
    assert cluster.inputs["subnetwork"] == gke_plans.NODES_SUBNET
    there = [each for each in cloud.resources() if each.inputs.get("project") == "net-project"]
    assert Counter(each.inputs["role"] for each in there) == {"roles/compute.networkUser": 2, "roles/container.hostServiceAgentUser": 1}


def test_layers_are_created_in_order_and_a_used_network_is_not_torn_down(cloud, tmp_path):
    below, stacks = "", []
    for name, layers in LAYERS.items():
        stacks.append(Stack(replace(gke_plans.GKE["gke-roce"](), layers=layers, below=below), cloud, tmp_path, name))
        stacks[-1].engine.up()
        below = f"organization/rackwright/{name}"
    base, cluster, top = stacks
    top.engine.up(expect_no_changes=True)
    with pytest.raises(EngineFailure, match="Cluster llama-70b-gke uses the network and buckets of this stack"):
        base.teardown()
    for stack in (top, cluster, base):
        stack.teardown()
    assert cloud.is_empty()


def test_a_stack_in_an_existing_cluster_does_not_change_the_cluster(cloud, tmp_path):
    owner = Stack(gke_plans.GKE["gke-roce"](), cloud, tmp_path, "owner")
    owner.engine.up()
    standing = owned(cloud)
    parts = {key: {"stack": "organization/rackwright/owner", "output": f"parts.{path}"} for key, path in PARTS.items()}
    network = {"existing": {"vpc": parts["vpc"], "subnets": [gke_plans.OWN_SUBNET]}}
    given, sized, chosen = gke_plans.guest_case(network=network, key=parts["key"])
    shape = given.blueprint.model_copy(update={"cluster": StackOutput.model_validate(parts["cluster"])})
    plan = plans.compiled((given.model_copy(update={"name": "guest", "blueprint": shape}), sized, chosen))
    guest = Stack(plan, cloud, tmp_path, "guest")
    guest.engine.up()
    assert {pool.inputs["name"] for pool in cloud.resources(POOL)} == {"system", "gpu", "guest-gpu"}
    guest.engine.up(expect_no_changes=True)
    guest.teardown()
    assert owned(cloud) == standing
