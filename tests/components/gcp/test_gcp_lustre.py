"""Managed Lustre in a training cluster on GKE: its network, key, driver and volume."""

import pytest

from tests.components.waits import all_before
from tests.gke_plans import GKE, compiled, gke_training_case
from tests.graphs import recorded

INSTANCE, CONNECTION = "gcp:lustre/instance:Instance", "gcp:servicenetworking/connection:Connection"


@pytest.fixture(scope="module")
def graph():
    return recorded(GKE["gke-lustre"]())


def test_the_file_system_is_created_after_the_peering_and_the_grant_of_its_key(graph):
    instance = graph.one(INSTANCE)
    before = all_before(graph, instance.urn)
    assert graph.one(CONNECTION).urn in before
    assert graph.one("gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember", "llama-70b-gke-storage-key-filesystem").urn in before
    assert instance.protect
    assert instance.inputs["deletionPolicy"] == "PREVENT"


def test_the_file_system_has_the_tier_and_the_names_of_the_plan(graph):
    plan, inputs = GKE["gke-lustre"](), graph.one(INSTANCE).inputs
    assert (inputs["capacityGib"], inputs["perUnitStorageThroughput"]) == (str(plan.lustre.capacity_gib), "1000")
    assert (inputs["filesystem"], inputs["location"]) == ("lustre", plan.place.zone)
    assert "gkeSupportEnabled" not in inputs, "clients of GKE 1.33.2 and later use port 988"


def test_the_dynamic_tier_has_no_throughput():
    plan = compiled(gke_training_case(blueprint={"storage": {"lustre": {"tiering": "dynamic"}}}))
    inputs = recorded(plan).one(INSTANCE).inputs
    assert inputs["dynamicTierOptions"] == {"mode": "DEFAULT_CACHE"}
    assert "perUnitStorageThroughput" not in inputs


def test_the_range_of_the_servers_is_reserved_and_may_open_the_port_of_lustre(graph):
    address, firewall = (
        graph.one("gcp:compute/globalAddress:GlobalAddress"),
        graph.one("gcp:compute/firewall:Firewall", "llama-70b-gke-services-lustre"),
    )
    assert (address.inputs["purpose"], address.inputs["address"], address.inputs["prefixLength"]) == ("VPC_PEERING", "192.168.80.0", 20)
    assert firewall.inputs["sourceRanges"] == ["192.168.80.0/20"]
    assert firewall.inputs["allows"] == [{"protocol": "tcp", "ports": ["988"]}]


def test_pods_mount_it_by_the_driver_of_the_cluster(graph):
    cluster = graph.one("gcp:container/cluster:Cluster")
    assert cluster.inputs["addonsConfig"]["lustreCsiDriverConfig"] == {"enabled": True}
    csi = graph.one("kubernetes:core/v1:PersistentVolume").inputs["spec"]["csi"]
    assert csi["driver"] == "lustre.csi.storage.gke.io"
    assert {*csi["volumeAttributes"]} == {"ip", "filesystem"}


def test_a_cluster_without_a_file_system_has_no_peering_and_no_driver():
    graph = recorded(GKE["gke-tcpxo"]())
    assert not [node for node in graph.nodes.values() if node.type in (INSTANCE, CONNECTION)]
    assert "lustreCsiDriverConfig" not in graph.one("gcp:container/cluster:Cluster").inputs["addonsConfig"]
