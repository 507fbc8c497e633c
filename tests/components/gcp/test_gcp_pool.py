"""GKE inputs of a node pool for its capacity mode and shape (recipes V-69 to V-79, V-98 to V-102)."""

from dataclasses import replace

import pytest
from rackwright.stackplan import CapacityPlan, DiskPlan, PoolPlan, TaintPlan
from rackwright_pulumi.gcp.pool import GcpPool
from rackwright_pulumi.testing import record
from rackwright_pulumi.unsupported import Unsupported

L4 = PoolPlan(
    name="gpu",
    machine="g2-standard-12",
    zones=("us-central1-b",),
    nodes_min=0,
    nodes_max=8,
    nodes_start=1,
    accelerator="NVIDIA L4",
    accelerator_label="nvidia-l4",
    accelerator_count=1,
    resource="nvidia.com/gpu",
    labels=(("rackwright/role", "accelerator"),),
    taints=(TaintPlan("nvidia.com/gpu", "present"),),
    max_pods=32,
    image="cos",
)
SLICE = replace(
    L4,
    name="slice-0",
    machine="ct6e-standard-4t",
    nodes_min=4,
    nodes_max=4,
    nodes_start=4,
    accelerator_label="tpu-v6e-slice",
    accelerator_count=4,
    resource="google.com/tpu",
    topology="4x4",
    multi_host=True,
    taints=(TaintPlan("google.com/tpu", "present"),),
    max_pods=15,
)
SYSTEM = PoolPlan("system", "e2-standard-16", ("us-central1-b",), 2, 2, 2, role="system", image="cos")


def graph_of(want):
    def program():
        args = {
            "pool": want,
            "tags": (("Owner", "NLP team"),),
            "project": "my-project",
            "region": "us-central1",
            "cluster_name": "demo",
            "node_account": "nodes@my-project.iam.gserviceaccount.com",
            "disk_key_id": "projects/p/locations/l/keyRings/r/cryptoKeys/k",
        }
        GcpPool("demo-gpu", args)

    return record(program)


def pool(want):
    return graph_of(want).one("gcp:container/nodePool:NodePool").inputs


def flex(want):
    return pool(replace(want, capacity=CapacityPlan("flex-start", max_run_s=3600)))


def test_a_fixed_slice_has_one_node_per_host_and_its_topology():
    inputs = pool(SLICE)
    assert inputs["nodeCount"] == 4
    assert "autoscaling" not in inputs
    assert inputs["placementPolicy"] == {"type": "COMPACT", "tpuTopology": "4x4"}
    assert inputs["maxPodsPerNode"] == 15


def test_a_single_host_slice_has_no_topology():
    assert "placementPolicy" not in pool(replace(SLICE, nodes_min=1, nodes_max=1, topology="2x2", multi_host=False))


def test_tpu7x_is_shaped_by_a_workload_policy_and_no_topology():
    graph = graph_of(replace(SLICE, machine="tpu7x-standard-4t", topology="4x4x4", workload_policy=True))
    shape = graph.one("gcp:compute/resourcePolicy:ResourcePolicy")
    assert shape.inputs["workloadPolicy"] == {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "4x4x4"}
    placement = graph.one("gcp:container/nodePool:NodePool").inputs["placementPolicy"]
    assert placement == {"type": "COMPACT", "policyName": shape.state["name"]}


def test_a_slice_scales_as_a_whole_in_the_per_zone_form():
    assert pool(replace(SLICE, nodes_min=0))["autoscaling"] == {"minNodeCount": 0, "maxNodeCount": 4, "locationPolicy": "ANY"}


@pytest.mark.parametrize("want", [L4, SLICE], ids=["gpu", "tpu"])
def test_flex_start_has_no_count_no_repair_no_reservation(want):
    inputs = flex(want)
    assert "nodeCount" not in inputs
    assert inputs["initialNodeCount"] == 0
    assert set(inputs["autoscaling"].values()) >= {0, want.nodes_max}
    assert inputs["management"]["autoRepair"] is False
    node = inputs["nodeConfig"]
    assert node["flexStart"] is True
    assert node["maxRunDuration"] == "3600s"
    assert node["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}
    assert "spot" not in node
    assert "upgradeSettings" not in inputs


def test_spot_uses_no_reservation():
    node = pool(replace(L4, capacity=CapacityPlan("spot")))["nodeConfig"]
    assert node["spot"] is True
    assert node["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}
    assert "flexStart" not in node


def test_a_reservation_is_named_and_is_the_only_one():
    node = pool(replace(L4, capacity=CapacityPlan("reservation", reservation_id="projects/p/reservations/r")))["nodeConfig"]
    assert node["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["projects/p/reservations/r"],
    }


def test_a_capacity_mode_of_another_cloud_is_unsupported():
    with pytest.raises(Unsupported, match=r"pools\[gpu\].capacity.mode: .*capacity-block.*on-demand, spot"):
        pool(replace(L4, capacity=CapacityPlan("capacity-block")))


def test_a_gpu_pool_scales_between_totals():
    inputs = pool(L4)
    assert inputs["autoscaling"] == {"totalMinNodeCount": 0, "totalMaxNodeCount": 8, "locationPolicy": "ANY"}
    assert "nodeCount" not in inputs
    assert inputs["initialNodeCount"] == 1
    (card,) = inputs["nodeConfig"]["guestAccelerators"]
    assert (card["type"], card["count"]) == ("nvidia-l4", 1)


def test_a_fixed_pool_in_several_zones_never_multiplies_its_count_by_the_zones():
    inputs = pool(replace(SYSTEM, zones=("us-central1-a", "us-central1-b"), nodes_min=3, nodes_max=3))
    assert "nodeCount" not in inputs
    assert inputs["autoscaling"] == {"totalMinNodeCount": 3, "totalMaxNodeCount": 3, "locationPolicy": "BALANCED"}


def test_nodes_are_private_shielded_and_use_only_their_service_account():
    inputs = pool(L4)
    node = inputs["nodeConfig"]
    assert inputs["networkConfig"]["enablePrivateNodes"] is True
    assert node["shieldedInstanceConfig"] == {"enableSecureBoot": True, "enableIntegrityMonitoring": True}
    assert node["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
    assert node["serviceAccount"] == "nodes@my-project.iam.gserviceaccount.com"
    assert node["bootDiskKmsKey"]
    assert node["gvnic"] == {"enabled": True}
    assert node["metadata"] == {"disable-legacy-endpoints": "true"}


def test_taints_and_labels_have_the_format_of_gke():
    node = pool(L4)["nodeConfig"]
    assert node["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert node["labels"] == {"rackwright/role": "accelerator"}
    assert node["resourceLabels"] == {"owner": "nlp-team"}


@pytest.mark.parametrize(
    ("machine", "kind", "disk"),
    [
        ("g2-standard-12", "balanced", "pd-balanced"),
        ("ct6e-standard-4t", "hyperdisk-balanced", "hyperdisk-balanced"),
        ("n2-standard-8", "hyperdisk-balanced", "hyperdisk-balanced"),
    ],
)
def test_the_boot_disk_has_the_kind_of_the_plan(machine, kind, disk):
    assert pool(replace(L4, machine=machine, disk=DiskPlan(100, kind=kind)))["nodeConfig"]["diskType"] == disk


def test_local_disks_are_used_only_when_the_plan_counts_them():
    assert "ephemeralStorageLocalSsdConfig" not in pool(L4)["nodeConfig"]
    node = pool(replace(L4, local_ssd_count=16))["nodeConfig"]
    assert node["ephemeralStorageLocalSsdConfig"] == {"localSsdCount": 16}
    assert "localNvmeSsdBlockConfig" not in node


@pytest.mark.parametrize(("want", "spare"), [(L4, (0, 1)), (SLICE, (0, 1)), (SYSTEM, (1, 0))], ids=["gpu", "tpu", "system"])
def test_accelerators_are_upgraded_in_place_and_system_nodes_with_a_spare(want, spare):
    settings = pool(want)["upgradeSettings"]
    assert (settings["maxSurge"], settings["maxUnavailable"]) == spare


def test_the_initial_node_count_never_replaces_a_pool():
    node = graph_of(L4).one("gcp:container/nodePool:NodePool", "demo-gpu-pool")
    assert node.options["ignoreChanges"] == ["initialNodeCount"]
    assert node.options["deleteBeforeReplace"] is True
    assert node.inputs["name"] == "gpu"
