"""Network, key, buckets, identities and labels on GCP: private, encrypted, least privilege, protected until a teardown."""

from dataclasses import replace

import pytest
from rackwright.stackplan import BucketPlan, Grant, IdentityPlan, KeyPlan, NetworkPlan, SubnetPlan
from rackwright_pulumi.gcp.identity import GcpNodeIdentity, GcpWorkloadIdentity
from rackwright_pulumi.gcp.labels import gcp_labels
from rackwright_pulumi.gcp.network import GcpNetwork
from rackwright_pulumi.gcp.storage import GcpStorage
from rackwright_pulumi.testing import record

NETWORK = NetworkPlan(
    "192.168.0.0/16",
    (
        SubnetPlan("nodes", "192.168.0.0/18", "us-central1-b", secondary=(("pods", "10.4.0.0/14"), ("services", "10.0.32.0/20"))),
        SubnetPlan("proxy", "192.168.64.0/23", "us-central1-b", purpose="proxy"),
    ),
    mtu=8896,
)
BUCKETS = (BucketPlan("checkpoints", hierarchical=True, versioned=False), BucketPlan("data"), BucketPlan("weights", existing_name="theirs"))
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"


def network(want=NETWORK, teardown=False, services=("compute", "keys")):
    args = {"network": want, "services": services, "project": "my-project", "region": "us-central1", "teardown": teardown}
    return record(lambda: GcpNetwork("demo-network", args) and None)


def storage(teardown=False, buckets=BUCKETS):
    args = {
        "key": KeyPlan(),
        "buckets": buckets,
        "tags": (("owner", "nlp"),),
        "project": "my-project",
        "project_number": "123456789012",
        "region": "us-central1",
        "teardown": teardown,
    }
    return record(lambda: GcpStorage("demo-storage", args) and None)


def workload_identity(access="read"):
    args = {
        "identities": (IdentityPlan("trainer", (Grant("data", access),), "team-nlp", "trainer"),),
        "project_number": "123456789012",
        "workload_pool": "my-project.svc.id.goog",
        "bucket_names": {"data": "b-data"},
    }
    return record(lambda: GcpWorkloadIdentity("demo-wi", args) and None)


def test_nodes_have_no_public_address_and_one_nat():
    graph = network()
    vpc = graph.one("gcp:compute/network:Network", "demo-network-vpc").inputs
    assert vpc["autoCreateSubnetworks"] is False
    assert vpc["mtu"] == 8896
    allowed = graph.one("gcp:compute/firewall:Firewall").inputs
    assert allowed["sourceRanges"] == ["192.168.0.0/18", "10.4.0.0/14", "10.0.32.0/20"]
    nat = graph.one("gcp:compute/routerNat:RouterNat").inputs
    assert nat["sourceSubnetworkIpRangesToNat"] == "ALL_SUBNETWORKS_ALL_IP_RANGES"


def test_only_node_subnets_log_flows_and_have_private_access():
    graph = network()
    nodes = graph.one(SUBNETWORK, "demo-network-subnet-nodes").inputs
    assert nodes["privateIpGoogleAccess"] is True
    assert nodes["logConfig"]["flowSampling"] == 0.5
    assert [r["rangeName"] for r in nodes["secondaryIpRanges"]] == ["pods", "services"]
    proxy = graph.one(SUBNETWORK, "demo-network-subnet-proxy").inputs
    assert (proxy["purpose"], proxy["role"]) == ("REGIONAL_MANAGED_PROXY", "ACTIVE")
    assert not {"privateIpGoogleAccess", "logConfig", "secondaryIpRanges"} & set(proxy)


def test_apis_stay_enabled_and_precede_their_users():
    graph = network()
    apis = graph.by_type("gcp:projects/service:Service")
    assert {api.inputs["service"] for api in apis} == {"compute.googleapis.com", "cloudkms.googleapis.com"}
    assert not any(api.inputs["disableOnDestroy"] for api in apis)
    vpc = graph.one("gcp:compute/network:Network")
    assert set(vpc.property_dependencies["project"]) == {api.urn for api in apis}


def test_an_existing_network_is_used_and_nothing_is_added_to_it():
    graph = network(NetworkPlan("", (), existing_id="projects/p/global/networks/theirs", existing_subnet_ids=("s-1",)))
    assert {node.type for node in graph.nodes.values() if node.custom} == {"gcp:projects/service:Service"}
    component = graph.one("rackwright:index:GcpNetwork")
    assert component.outputs == {"project": "my-project", "networkId": "projects/p/global/networks/theirs", "subnetIds": ["s-1"]}


def test_without_nat_there_is_no_router():
    assert not network(replace(NETWORK, nat=False)).by_type("gcp:compute/routerNat:RouterNat")


def test_every_bucket_is_private_uniform_and_encrypted_with_our_key():
    graph = storage()
    key = graph.one("gcp:kms/cryptoKey:CryptoKey")
    made = graph.by_type("gcp:storage/bucket:Bucket")
    assert {bucket.name for bucket in made} == {"demo-storage-checkpoints", "demo-storage-data"}
    for bucket in made:
        assert bucket.inputs["uniformBucketLevelAccess"] is True
        assert bucket.inputs["publicAccessPrevention"] == "enforced"
        assert bucket.inputs["encryption"] == {"defaultKmsKeyName": key.id}
        assert bucket.inputs["softDeletePolicy"] == {"retentionDurationSeconds": 604800}


def test_a_hierarchical_bucket_keeps_no_versions():
    graph = storage()
    checkpoints = graph.one("gcp:storage/bucket:Bucket", "demo-storage-checkpoints").inputs
    assert checkpoints["hierarchicalNamespace"] == {"enabled": True}
    assert "versioning" not in checkpoints
    assert graph.one("gcp:storage/bucket:Bucket", "demo-storage-data").inputs["versioning"] == {"enabled": True}


def test_a_bucket_waits_until_the_storage_agent_may_use_the_key():
    graph = storage()
    grant = graph.one("gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember", "demo-storage-key-buckets")
    assert grant.inputs["member"].endswith("@gs-project-accounts.iam.gserviceaccount.com")
    assert "gcp:storage/getProjectServiceAccount:getProjectServiceAccount" in {token for token, _ in graph.invokes}  # asking makes it exist
    data = graph.one("gcp:storage/bucket:Bucket", "demo-storage-data")
    assert grant.urn in data.property_dependencies["encryption"]


def test_the_key_rotates_has_a_deletion_window_and_a_generated_name():
    graph = storage()
    key = graph.one("gcp:kms/cryptoKey:CryptoKey").inputs
    assert (key["rotationPeriod"], key["destroyScheduledDuration"]) == ("7776000s", "2592000s")
    assert "name" not in key
    assert "name" not in graph.one("gcp:kms/keyRing:KeyRing").inputs


@pytest.mark.parametrize("teardown", [False, True])
def test_data_keys_and_network_are_protected_until_a_teardown(teardown):
    made = [*storage(teardown).nodes.values(), *network(teardown=teardown).nodes.values()]
    protected = {node.name for node in made if node.protect}
    assert protected == (
        set()
        if teardown
        else {"demo-storage-ring", "demo-storage-key", "demo-storage-checkpoints", "demo-storage-data", "demo-network-vpc"}
    )
    policies = {node.inputs["deletionPolicy"] for node in made if "deletionPolicy" in node.inputs}
    assert policies == {"DELETE" if teardown else "PREVENT"}
    assert {node.inputs["forceDestroy"] for node in made if "forceDestroy" in node.inputs} == {teardown}


def test_nodes_can_only_read_images_and_write_metrics():
    graph = record(lambda: GcpNodeIdentity("a-very-long-stack-name-of-ours", {"project": "my-project"}) and None)
    assert {grant.inputs["role"] for grant in graph.by_type("gcp:projects/iAMMember:IAMMember")} == {
        "roles/container.defaultNodeServiceAccount",
        "roles/artifactregistry.reader",
    }
    assert 6 <= len(graph.one("gcp:serviceaccount/account:Account").inputs["accountId"]) <= 30


@pytest.mark.parametrize(("access", "role"), [("read", "roles/storage.objectViewer"), ("write", "roles/storage.objectUser")])
def test_a_workload_accesses_its_bucket_with_its_own_principal(access, role):
    graph = workload_identity(access)
    grant = graph.one("gcp:storage/bucketIAMMember:BucketIAMMember", f"demo-wi-trainer-data-{access}").inputs
    assert grant["role"] == role
    assert grant["member"] == (
        "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/"
        "my-project.svc.id.goog/subject/ns/team-nlp/sa/trainer"
    )
    assert not graph.by_type("gcp:serviceaccount/account:Account")


def test_labels_have_only_valid_characters():
    tags = (("Owner", "NLP Team"), ("4711", "x" * 70), ("cost.centre", "ü"))
    assert gcp_labels(tags) == {"owner": "nlp-team", "tag-4711": "x" * 63, "cost-centre": "-"}
