"""Existing networks, accounts, keys and clusters of Google Cloud on the recorded graph, and pools of further capacity modes."""

from dataclasses import replace

import pytest

from tests import gke_plans, plans
from tests.graphs import recorded

CLUSTER, POOL = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"
SUBNET_MEMBER, KEY_RING = "gcp:compute/subnetworkIAMMember:SubnetworkIAMMember", "gcp:kms/keyRing:KeyRing"


def option(name: str):
    return recorded(gke_plans.GKE_OPTIONS[name]())


def pool_inputs(graph, name: str) -> dict:
    return next(node.inputs for node in graph.by_type(POOL) if node.inputs["name"] == name)


def test_the_cluster_waits_for_the_permissions_in_the_host_project():
    graph = option("gke-existing")
    members = {node.urn for node in graph.by_type(SUBNET_MEMBER)}
    (cluster,) = graph.by_type(CLUSTER)
    assert len(members) == 2
    assert members <= {*cluster.property_dependencies["subnetwork"]}
    assert cluster.inputs["ipAllocationPolicy"] == {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"}


def test_updates_act_as_the_account_of_the_place():
    (provider,) = option("gke-existing").by_type("pulumi:providers:gcp")
    assert provider.inputs["impersonateServiceAccount"] == "builder@my-project.iam.gserviceaccount.com"


def test_nodes_use_the_existing_account():
    graph = option("gke-existing")
    assert not graph.by_type("gcp:serviceaccount/account:Account")
    assert pool_inputs(graph, "gpu")["nodeConfig"]["serviceAccount"] == "gke-nodes@my-project.iam.gserviceaccount.com"


def test_an_existing_key_is_used_and_not_changed():
    plan = plans.compiled(gke_plans.gke_training_case("a2-highgpu-8g", place=plans.GCP | {"key": gke_plans.KEY}))
    graph = recorded(plan)
    assert not graph.by_type(KEY_RING)
    assert not graph.by_type("gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember")
    (cluster,) = graph.by_type(CLUSTER)
    assert cluster.inputs["databaseEncryption"]["keyName"] == gke_plans.KEY


def test_a_stack_in_an_existing_cluster_makes_one_pool_and_no_cluster():
    graph = recorded(plans.compiled(gke_plans.guest_case()))
    assert not graph.by_type(CLUSTER)
    (pool,) = graph.by_type(POOL)
    assert (pool.inputs["name"], pool.inputs["cluster"]) == ("llama-70b-gke-gpu", "shared-gke")
    assert not graph.by_type("kubernetes:helm.sh/v3:Release")


def test_queued_pools_are_not_upgraded_and_leave_their_taint_to_gke():
    inputs = pool_inputs(option("gke-queued"), "gpu")
    assert inputs["queuedProvisioning"] == {"enabled": True}
    assert inputs["management"] == {"autoRepair": False, "autoUpgrade": False}
    assert "placementPolicy" not in inputs
    assert [taint["key"] for taint in inputs["nodeConfig"]["taints"]] == ["nvidia.com/gpu"]


def test_pools_of_a_fallback_are_in_their_class():
    graph = option("gke-fallback")
    for name, is_spot in (("gpu", True), ("gpu-on-demand", False)):
        node = pool_inputs(graph, name)["nodeConfig"]
        assert node.get("spot", False) is is_spot
        assert {"key": "cloud.google.com/compute-class", "value": "accelerator-llama-70b-gke", "effect": "NO_SCHEDULE"} in node["taints"]
        assert pool_inputs(graph, name)["autoscaling"]["totalMinNodeCount"] == 0


def test_additional_pools_have_no_interfaces_of_another_machine():
    graph = option("gke-extra")
    assert len(pool_inputs(graph, "gpu")["networkConfig"]["additionalNodeNetworkConfigs"]) == 8
    assert "additionalNodeNetworkConfigs" not in pool_inputs(graph, "debug")["networkConfig"]


@pytest.mark.parametrize("protected", [True, False])
def test_deletion_protection_is_a_switch(protected):
    plan = replace(gke_plans.GKE["gke-roce"](), protected=protected)
    (cluster,) = recorded(plan).by_type(CLUSTER)
    assert cluster.inputs["deletionProtection"] is protected


def test_an_existing_network_gets_no_peering():
    """It has its own private services access (V-260); a second connection would change that of other stacks."""
    given = gke_plans.existing_case()
    lustre = gke_plans.gke_training_case("a2-highgpu-8g", place=gke_plans.GCP | gke_plans.EXISTING, blueprint={"storage": "lustre"})
    assert given[0].infra == lustre[0].infra
    graph = recorded(plans.compiled(lustre))
    assert graph.by_type("gcp:lustre/instance:Instance")
    assert not graph.by_type("gcp:servicenetworking/connection:Connection")


def test_alerts_of_a_stack_in_an_existing_cluster_watch_its_own_pools():
    given, plan, chosen = gke_plans.guest_case()
    named = given.model_copy(update={"blueprint": given.blueprint.model_copy(update={"notify": ("ml@example.com",)})})
    (policy,) = recorded(plans.compiled((named, plan, chosen))).by_type("gcp:monitoring/alertPolicy:AlertPolicy")
    (condition,) = policy.inputs["conditions"]
    assert f'"{given.name}-gpu"' in condition["conditionThreshold"]["filter"]
