"""The GKE cluster has no reachable address by default, is encrypted, and is deleted only after a teardown."""

from dataclasses import replace
from ipaddress import ip_network

import pytest
from rackwright.stackplan import AddonPlan, ClusterPlan
from rackwright_pulumi.gcp.cluster import GcpCluster
from rackwright_pulumi.testing import record
from rackwright_pulumi.unsupported import Unsupported

WANT = ClusterPlan("demo", "1.35")
MOUNT = (AddonPlan("object-store-mount", ""),)


def graph_of(want=WANT, teardown=False, addons=MOUNT):
    def program():
        args = {
            "cluster": want,
            "addons": addons,
            "tags": (("owner", "nlp"),),
            "project": "my-project",
            "region": "us-central1",
            "zones": ["us-central1-b"],
            "network_id": "projects/my-project/global/networks/n",
            "subnet_id": "projects/my-project/regions/us-central1/subnetworks/s",
            "pods_range": "pods",
            "services_range": "services",
            "secrets_key_id": "key-of-secrets",
            "disk_key_id": "key-of-disks",
            "node_account": "nodes@my-project.iam.gserviceaccount.com",
            "teardown": teardown,
        }
        GcpCluster("demo-cluster", args)

    return record(program)


def cluster(want=WANT, **more):
    return graph_of(want, **more).one("gcp:container/cluster:Cluster").inputs


def test_the_private_endpoint_accepts_private_networks_only():
    inputs = cluster()
    assert inputs["privateClusterConfig"] == {"enablePrivateNodes": True, "enablePrivateEndpoint": True}
    assert inputs["controlPlaneEndpointsConfig"] == {
        "dnsEndpointConfig": {"allowExternalTraffic": False},
        "ipEndpointsConfig": {"enabled": True},
    }
    allowed = [ip_network(block["cidrBlock"]) for block in inputs["masterAuthorizedNetworksConfig"]["cidrBlocks"]]
    assert all(network.is_private for network in allowed)


def test_the_ip_endpoint_accepts_only_the_cidrs_of_the_spec():
    inputs = cluster(replace(WANT, private_api=False, api_cidrs=("203.0.113.0/24",)))
    assert inputs["controlPlaneEndpointsConfig"]["ipEndpointsConfig"] == {"enabled": True}
    authorized = inputs["masterAuthorizedNetworksConfig"]
    assert authorized == {"cidrBlocks": [{"cidrBlock": "203.0.113.0/24"}], "gcpPublicCidrsAccessEnabled": False}


def test_secrets_are_under_our_key_and_pods_have_identities():
    inputs = cluster()
    assert inputs["databaseEncryption"] == {"state": "ENCRYPTED", "keyName": "key-of-secrets"}
    assert inputs["workloadIdentityConfig"] == {"workloadPool": "my-project.svc.id.goog"}
    assert inputs["masterAuth"] == {"clientCertificateConfig": {"issueClientCertificate": False}}
    assert inputs["enableShieldedNodes"] is True


def test_dataplane_v2_excludes_the_calico_network_policy():
    inputs = cluster()
    assert inputs["datapathProvider"] == "ADVANCED_DATAPATH"
    assert "networkPolicy" not in inputs


def test_automatic_upgrades_exclude_minor_versions_and_nodes():
    inputs = cluster()
    (exclusion,) = inputs["maintenancePolicy"]["maintenanceExclusions"]
    assert exclusion["exclusionOptions"] == {"scope": "NO_MINOR_OR_NODE_UPGRADES", "endTimeBehavior": "UNTIL_END_OF_SUPPORT"}
    assert "endTime" not in exclusion, "GKE takes one of both"
    assert inputs["minMasterVersion"] == "1.35"
    assert inputs["releaseChannel"] == {"channel": "REGULAR"}


def test_metrics_come_from_the_cloud_with_those_of_gpus():
    monitoring = cluster()["monitoringConfig"]
    assert monitoring["managedPrometheus"] == {"enabled": True}
    assert "DCGM" in monitoring["enableComponents"]


def test_the_default_pool_is_removed_and_its_config_is_ignored():
    node = graph_of().one("gcp:container/cluster:Cluster")
    assert node.inputs["removeDefaultNodePool"] is True
    assert node.options["ignoreChanges"] == ["nodeConfig"]
    assert node.inputs["nodeConfig"]["serviceAccount"] == "nodes@my-project.iam.gserviceaccount.com"


@pytest.mark.parametrize("teardown", [False, True])
def test_the_cluster_has_three_protections_until_a_teardown(teardown):
    node = graph_of(teardown=teardown).one("gcp:container/cluster:Cluster")
    locks = (node.protect, node.inputs["deletionProtection"], node.inputs["deletionPolicy"] == "PREVENT")
    assert locks == ((False,) * 3 if teardown else (True,) * 3)


def test_node_auto_provisioning_has_the_limits_and_the_safety_of_the_plan():
    autoscaling = cluster(replace(WANT, autoprovision=(("cpu", 96), ("nvidia-l4", 8))))["clusterAutoscaling"]
    assert autoscaling["resourceLimits"] == [{"resourceType": "cpu", "maximum": 96}, {"resourceType": "nvidia-l4", "maximum": 8}]
    assert autoscaling["autoProvisioningDefaults"]["bootDiskKmsKey"] == "key-of-disks"
    assert "clusterAutoscaling" not in cluster()


def test_the_gateway_api_is_enabled_only_if_the_plan_sets_it():
    assert cluster(replace(WANT, gateway_api=True))["gatewayApiConfig"] == {"channel": "CHANNEL_STANDARD"}
    assert "gatewayApiConfig" not in cluster()


def test_an_add_on_that_gke_lacks_is_unsupported():
    assert cluster(addons=MOUNT)["addonsConfig"]["gcsFuseCsiDriverConfig"] == {"enabled": True}
    assert "gcsFuseCsiDriverConfig" not in cluster(addons=())["addonsConfig"]
    with pytest.raises(Unsupported, match="node-health"):
        cluster(addons=(AddonPlan("node-health", "v1"),))


COMMAND = "gcloud container clusters get-credentials demo --location us-central1 --project my-project"


@pytest.mark.parametrize(
    ("access", "option"),
    [({}, " --internal-ip"), ({"api_cidrs": ("203.0.113.0/24",)}, ""), ({"public_api": True}, " --dns-endpoint")],
)
def test_the_kubeconfig_command_signs_in_at_the_open_endpoint(access, option):
    outputs = graph_of(replace(WANT, **access)).one("rackwright:index:GcpCluster").outputs
    assert outputs["kubeconfigCommand"] == COMMAND + option


def test_the_endpoint_of_a_public_api_is_its_dns_name():
    public = graph_of(replace(WANT, public_api=True)).one("rackwright:index:GcpCluster").outputs["endpoint"]
    assert public.endswith(".us-central1.gke.goog")
    assert ip_network(graph_of().one("rackwright:index:GcpCluster").outputs["endpoint"]).is_private
