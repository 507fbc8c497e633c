"""A box on Compute Engine, from a plan to every resource: private, encrypted, stopped when idle, in every capacity mode."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from rackwright.stackplan import CapacityPlan, DiskPlan, VersionPins
from rackwright_pulumi.policies import broken
from rackwright_pulumi.testing import Graph, record
from rackwright_pulumi.unsupported import Unsupported

from tests.components.sdk import misfits
from tests.gce_plans import GCE, RESERVED, gce_box_plan
from tests.graphs import recorded

INSTANCE, TEMPLATE = "gcp:compute/instance:Instance", "gcp:compute/instanceTemplate:InstanceTemplate"
GROUP, REQUEST = "gcp:compute/instanceGroupManager:InstanceGroupManager", "gcp:compute/resizeRequest:ResizeRequest"
DISK, FIREWALL, SUBNET = "gcp:compute/disk:Disk", "gcp:compute/firewall:Firewall", "gcp:compute/subnetwork:Subnetwork"
GRANT = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"
ALERT, CHANNEL = "gcp:monitoring/alertPolicy:AlertPolicy", "gcp:monitoring/notificationChannel:NotificationChannel"
MODES = {
    "on-demand": (CapacityPlan(), "STANDARD", "NO_RESERVATION", None, True),
    "spot": (CapacityPlan("spot"), "SPOT", "NO_RESERVATION", "STOP", False),
    "reservation": (CapacityPlan("reservation", "team"), "STANDARD", "SPECIFIC_RESERVATION", None, True),
    "calendar": (CapacityPlan("calendar", "team"), "RESERVATION_BOUND", "SPECIFIC_RESERVATION", "STOP", True),
}
"""Mode -> its plan, provisioning model, affinity, what happens when Google Cloud takes the machine back, and automatic restart."""


@cache
def graph(name: str) -> Graph:
    return recorded(GCE[name]())


def box_graph(**changes) -> Graph:
    plan = gce_box_plan()
    return recorded(replace(plan, box=replace(plan.box, **changes), pins=VersionPins()))


@pytest.mark.parametrize("name", GCE)
def test_the_sdk_accepts_every_input(name):
    assert not misfits(graph(name))
    assert not graph(name).unregistered()
    assert not broken(graph(name))


@pytest.mark.parametrize(("name", "token"), [("gce-box", INSTANCE), ("gce-box-rdma", INSTANCE), ("gce-box-flex", TEMPLATE)])
def test_it_has_no_public_address_and_is_shielded(name, token):
    inputs = graph(name).one(token).inputs
    assert not [nic for nic in inputs["networkInterfaces"] if "accessConfigs" in nic]
    assert set(inputs["shieldedInstanceConfig"].values()) == {True}
    assert inputs["metadata"]["enable-oslogin"] == inputs["metadata"]["block-project-ssh-keys"] == "TRUE"
    assert inputs["metadata"]["startup-script"].startswith("#!/bin/bash\n")
    assert inputs["scheduling"]["onHostMaintenance"] == "TERMINATE"
    assert "guestAccelerators" not in inputs


def test_only_the_proxy_of_google_reaches_it():
    rules = graph("gce-box").by_type(FIREWALL)
    assert [rule.inputs["sourceRanges"] for rule in rules] == [["35.235.240.0/20"]]
    assert rules[0].inputs["targetServiceAccounts"] == [graph("gce-box").one("rackwright:index:GcpBoxIdentity").outputs["email"]]
    opened = recorded(gce_box_plan(ssh_from=["203.0.113.0/24"])).by_type(FIREWALL)
    assert sorted(rule.inputs["sourceRanges"][0] for rule in opened) == ["203.0.113.0/24", "35.235.240.0/20"]


@pytest.mark.parametrize(("name", "token", "key"), [("gce-box", INSTANCE, "bootDisk"), ("gce-box-flex", TEMPLATE, "disks")])
def test_disks_use_the_key_after_compute_engine_may(name, token, key):
    made = graph(name)
    used, grant = made.one("gcp:kms/cryptoKey:CryptoKey").id, made.one(GRANT, "mistral-7b-gce-storage-key-disks")
    for node, field in ((made.one(token), key), (made.one(DISK), "diskEncryptionKey")):
        assert str(node.inputs[field]).count(f"'kmsKeySelfLink': '{used}'") == 1
        assert grant.urn in node.property_dependencies[field]


def test_the_data_disk_outlives_the_machine_until_a_teardown():
    made = graph("gce-box")
    disk = made.one(DISK)
    assert disk.protect
    assert disk.options["retainOnDelete"] is True
    assert made.one("gcp:compute/attachedDisk:AttachedDisk").inputs["disk"] == disk.id
    removed = recorded(GCE["gce-box"](), teardown=True)
    assert not removed.one(DISK).protect
    assert removed.one(INSTANCE).inputs["deletionProtection"] is False
    assert made.one(INSTANCE).inputs["deletionProtection"] is True


def test_deletion_protection_can_be_switched_off():
    made = recorded(gce_box_plan(safety={"deletion_protection": False}))
    assert made.one(INSTANCE).inputs["deletionProtection"] is False
    assert not made.one(DISK).protect


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_has_its_provisioning_model(mode):
    capacity, model, affinity, action, restarts = MODES[mode]
    inputs = box_graph(capacity=capacity).one(INSTANCE).inputs
    scheduling = inputs["scheduling"]
    assert (scheduling["provisioningModel"], scheduling.get("instanceTerminationAction")) == (model, action)
    assert scheduling["automaticRestart"] is restarts
    assert inputs["reservationAffinity"]["type"] == affinity
    named = inputs["reservationAffinity"].get("specificReservation", {}).get("values", [])
    assert named == ([capacity.reservation_id] if capacity.reservation_id else [])


def test_a_mode_of_another_cloud_is_refused():
    with pytest.raises(Unsupported, match="capacity-block"):
        box_graph(capacity=CapacityPlan("capacity-block"))


def test_flex_start_asks_an_empty_group_for_one_machine():
    made = graph("gce-box-flex")
    group, template = made.one(GROUP), made.one(TEMPLATE).inputs
    assert group.inputs["targetSize"] == 0
    assert group.inputs["instanceLifecyclePolicy"]["defaultActionOnFailure"] == "DO_NOTHING"
    assert group.options["ignoreChanges"] == ["targetSize"]
    assert made.one(REQUEST).inputs["resizeBy"] == 1
    assert template["scheduling"]["provisioningModel"] == "FLEX_START"
    assert 600 <= template["scheduling"]["maxRunDuration"]["seconds"] <= 604800
    assert template["reservationAffinity"] == {"type": "NO_RESERVATION"}
    kept = [disk for disk in template["disks"] if disk.get("deviceName") == "data"]
    assert [(disk["source"], disk["autoDelete"]) for disk in kept] == [(made.one(DISK).state["name"], False)]
    assert not made.by_type(INSTANCE)


def test_an_rdma_machine_has_ten_interfaces_in_the_order_of_google():
    made = graph("gce-box-rdma")
    nics = made.one(INSTANCE).inputs["networkInterfaces"]
    assert [nic["nicType"] for nic in nics] == ["GVNIC"] * 2 + ["MRDMA"] * 8
    assert len({nic["subnetwork"] for nic in nics}) == 10
    profiles = [node.inputs.get("networkProfile") for node in made.by_type("gcp:compute/network:Network")]
    assert [profile for profile in profiles if profile] == ["projects/my-project/global/networkProfiles/us-central1-b-vpc-roce"]
    rdma = made.one("gcp:compute/network:Network", "mistral-7b-gce-fabric-rdma")
    assert rdma.id not in [rule.inputs["network"] for rule in made.by_type(FIREWALL)]
    ranges = [subnet.inputs["ipCidrRange"] for subnet in made.by_type(SUBNET)]
    assert len(ranges) == len(set(ranges)) == 10


def test_an_rdma_machine_starts_from_hyperdisk_and_ends_with_its_reservation():
    inputs = graph("gce-box-rdma").one(INSTANCE).inputs
    assert inputs["bootDisk"]["initializeParams"]["type"] == graph("gce-box-rdma").one(DISK).inputs["type"] == "hyperdisk-balanced"
    assert inputs["scheduling"]["provisioningModel"] == "RESERVATION_BOUND"


def test_an_attached_accelerator_and_local_ssds_are_added():
    inputs = box_graph(machine="n1-standard-8+1xT4", attached_accelerator="nvidia-tesla-t4", local_ssd_count=2).one(INSTANCE).inputs
    assert inputs["machineType"] == "n1-standard-8"
    assert inputs["guestAccelerators"] == [{"type": "nvidia-tesla-t4", "count": 1}]
    assert inputs["scratchDisks"] == [{"interface": "NVME", "size": 375}] * 2


def test_a_kind_of_disk_that_does_not_exist_is_refused():
    with pytest.raises(Unsupported, match="disk kind tape"):
        box_graph(data=DiskPlan(100, kind="tape"))


def test_the_alert_fires_later_than_the_machine_stops_itself():
    made, plan = graph("gce-box"), GCE["gce-box"]()
    condition = made.one(ALERT).inputs["conditions"][0]["conditionThreshold"]
    assert int(condition["duration"].removesuffix("s")) > plan.box.idle_stop_minutes * 60
    assert 'metadata.user_labels."rackwright-stack" = "mistral-7b-gce"' in condition["filter"]
    assert made.one(CHANNEL).inputs["labels"] == {"email_address": "team@example.com"}
    metadata = made.one(INSTANCE).inputs["metadata"]
    assert metadata["idle-stop-minutes"] == str(plan.box.idle_stop_minutes)


def test_without_the_idle_alarm_there_is_neither_stop_nor_alert():
    made = recorded(gce_box_plan(safety={"idle_alarm": False}))
    assert made.one(INSTANCE).inputs["metadata"]["idle-stop-minutes"] == "0"
    assert not made.by_type(ALERT)


def test_its_account_has_no_wide_roles_and_reads_the_secrets_of_the_stack():
    from rackwright_pulumi.program.build import declare

    plan = gce_box_plan()
    made = record(lambda: declare(plan, secrets={"hf-token": "hf_abc"}) and None)
    roles = {node.inputs["role"] for node in made.nodes.values() if "IAMMember" in node.type or "IamMember" in node.type}
    assert roles == {
        "roles/logging.logWriter",
        "roles/monitoring.metricWriter",
        "roles/artifactregistry.reader",
        "roles/storage.objectViewer",
        "roles/storage.objectUser",
        "roles/secretmanager.secretAccessor",
        "roles/cloudkms.cryptoKeyEncrypterDecrypter",
    }
    assert made.one("gcp:secretmanager/secret:Secret").inputs["secretId"] == "mistral-7b-gce-hf-token"
    assert not misfits(made)


def test_its_outputs_connect_through_the_proxy():
    outputs = graph("gce-box").one("rackwright:index:Box").outputs
    assert outputs["connectCommand"].endswith("--project my-project --zone us-central1-b --tunnel-through-iap")
    assert set(outputs["bucketNames"]) == {"data", "checkpoints"}


def test_the_example_of_the_guide_runs():
    text = (Path(__file__).parents[3] / "docs" / "gcp.md").read_text(encoding="utf-8")
    code = text.split("### GcpBox")[1].split("```python\n")[1].split("```")[0]
    made = record(lambda: exec(code, {}))
    assert not misfits(made)
    assert made.outputs["connect"].endswith("--zone us-central1-a --tunnel-through-iap")
    assert not made.by_type(ALERT)


def test_bundled_local_disks_do_not_replace_a_box():
    """Compute Engine attaches them, and the provider reads them as a change that replaces the machine."""
    (node,) = recorded(gce_box_plan("a3-megagpu-8g")).by_type(INSTANCE)
    assert "scratchDisks" in node.options["ignoreChanges"]


def test_a_box_with_rdma_interfaces_has_them_in_an_existing_network():
    net = {"vpc": "ml", "subnets": [{"id": "projects/my-project/regions/us-central1/subnetworks/nodes", "zone": "us-central1-b"}]}
    place = {"capacity": {"ordered": [RESERVED]}, "network": {"existing": net}}
    (node,) = recorded(gce_box_plan("a3-ultragpu-8g", "reservation", place)).by_type(INSTANCE)
    kinds = [nic["nicType"] for nic in node.inputs["networkInterfaces"]]
    assert (kinds.count("GVNIC"), kinds.count("MRDMA")) == (2, 8)
