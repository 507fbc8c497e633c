"""Box on AWS, InferenceFleet and TpuPod on GKE, and combinations without a blueprint."""

import re
from dataclasses import replace

import pytest
from rackwright.catalog.read import Catalog
from rackwright.compile.compile import PATHS, compile_plan
from rackwright.diagnostics.errors import UserError
from rackwright.stackplan import BlueprintKind
from rackwright.validation.stack import check

from tests import gce_plans, gke_plans, plans
from tests.compile.found import manifest


def refused(case) -> list[str]:
    with pytest.raises(UserError) as error:
        plans.compiled(case)
    return [problem.code for problem in error.value.problems]


def container(plan):
    return manifest(plan, "serving.deployment")["spec"]["template"]["spec"]["containers"][0]


def test_box_has_no_open_port_by_default():
    plan = plans.box_plan()
    assert plan.box.ingress == ()
    assert "machine-access" in plan.network.private_endpoints


def test_box_image_is_dated_and_fits_the_architecture():
    assert re.fullmatch(r"Deep Learning Base OSS Nvidia Driver GPU AMI .* \d{8}", plans.box_plan().box.image)
    spec, sizing, fit = plans.box_case()
    arm = compile_plan(spec, sizing, plans.on_machine(fit, "g5g.2xlarge"), today=plans.TODAY)
    assert "ARM64" in arm.box.image


def test_box_data_is_on_a_separate_disk():
    plan = plans.box_plan()
    assert plan.box.data.size_gib == 100
    assert plan.box.data.iops >= 4 * plan.box.data.throughput_mib_s
    assert {b.key: b.existing_name for b in plan.buckets} == {"data": "team", "checkpoints": ""}
    assert [(g.bucket, g.access) for g in plan.identities[0].grants] == [("data", "read"), ("checkpoints", "write")]


def test_box_stops_when_idle_and_joins_its_local_disks():
    box = plans.box_plan().box
    assert box.idle_stop_minutes == 60
    assert box.local_nvme
    assert "mdadm" in box.setup_script
    assert len(box.setup_script.encode()) < 16 * 1024


@pytest.mark.parametrize("machine", ["g6e.xlarge", "g6e.2xlarge", "p5.48xlarge"])
def test_box_with_one_busy_accelerator_is_not_idle(machine):
    """One busy core of 192 is half a percent: with a fixed limit of 2 %, a run on one of eight GPUs was stopped in its first hour."""
    spec, sizing, fit = plans.box_case()
    box = plans.compiled((spec, sizing, plans.on_machine(fit, machine))).box
    one_core = 100 / Catalog.default().machine(machine).vcpus
    assert 0 < box.idle_cpu_percent < one_core


def test_fleet_pool_follows_the_replicas():
    pool = plans.fleet_plan().pool("gpu")
    assert (pool.nodes_min, pool.nodes_start, pool.nodes_max) == (1, 1, 8)
    scaler = manifest(plans.fleet_plan(), "serving.scaler")["spec"]
    assert (scaler["minReplicaCount"], scaler["maxReplicaCount"], scaler["fallback"]["replicas"]) == (1, 8, 3)


def test_fleet_scales_on_waiting_requests_and_on_load():
    triggers = manifest(plans.fleet_plan(), "serving.scaler")["spec"]["triggers"]
    assert [t["metadata"]["threshold"] for t in triggers] == ["4", "19"]
    assert all('namespace="team-chat",service="chat"' in t["metadata"]["query"] for t in triggers)
    assert "vllm:num_requests_waiting" in triggers[0]["metadata"]["query"]


def test_fleet_gateway_is_internal_and_waits_for_long_requests():
    plan = plans.fleet_plan()
    assert manifest(plan, "serving.gateway")["spec"]["gatewayClassName"] == "gke-l7-rilb"
    assert any(subnet.purpose == "proxy" for subnet in plan.network.subnets)
    assert manifest(plan, "serving.health")["spec"]["default"]["config"]["httpHealthCheck"]["requestPath"] == "/health"
    assert manifest(plan, "serving.timeout")["spec"]["default"]["timeoutSec"] == 120


def test_fleet_server_has_the_settings_of_the_fit():
    args = container(plans.fleet_plan())["args"]
    assert "--max-num-seqs=24" in args
    assert "--gpu-memory-utilization=0.9" in args
    assert "--max-model-len=8192" in args


def test_fleet_deployment_has_no_replica_count():
    assert "replicas" not in manifest(plans.fleet_plan(), "serving.deployment")["spec"]


def test_fleet_of_fixed_size_can_be_updated_without_a_spare_machine():
    spec, sizing, fit = plans.fleet_case({"min_replicas": 2, "max_replicas": 2})
    plan = plans.compiled((spec, sizing, plans.with_replicas(fit, 2, 2)))
    assert manifest(plan, "serving.deployment")["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


def test_fleet_does_not_wait_for_weights_that_are_uploaded_later():
    made = next(m for m in plans.fleet_plan().manifests if m.key == "serving.deployment")
    case = plans.fleet_case({"model": {"base": "llama-3.1-8b", "weights": {"uri": "gs://models/llama"}}})
    there = next(m for m in plans.compiled(case).manifests if m.key == "serving.deployment")
    assert made.wait_s == 0
    assert there.wait_s > 600
    volume = there.body["spec"]["template"]["spec"]["volumes"][0]
    assert volume["csi"]["volumeAttributes"]["mountOptions"].endswith("only-dir=llama")


def test_fleet_node_disk_holds_the_weights_cache_of_every_replica():
    """The sidecar reserves 5 GiB by default; reservations of all pods must fit on the disk together with GKE's part."""
    annotations = manifest(plans.fleet_plan(), "serving.deployment")["spec"]["template"]["metadata"]["annotations"]
    assert annotations["gke-gcsfuse/ephemeral-storage-request"] == "17Gi"  # 16 GB and a tenth
    assert {annotations[f"gke-gcsfuse/{what}-limit"] for what in ("cpu", "memory", "ephemeral-storage")} == {"0"}
    spec, sizing, fit = plans.fleet_case({"min_replicas": 8, "max_replicas": 8})
    shared = plans.on_machine(plans.with_replicas(fit, 8, 8), "g2-standard-96", 8)
    disk = plans.compiled((spec, sizing, shared)).pool("gpu").disk.size_gib - 100
    assert 0.9 * disk - min(disk / 2, 6 + 0.35 * disk, 100) >= 8 * 17


def test_fleet_startup_probe_allows_for_the_boot_disk_rate():
    probe = container(plans.fleet_plan())["startupProbe"]
    assert probe["failureThreshold"] * probe["periodSeconds"] >= 600 + 16e9 / 140e6


def test_fleet_downloads_weights_from_the_hub():
    case = plans.fleet_case({"model": {"base": "llama-3.1-8b", "weights": {"uri": "hf://meta-llama/Llama-3.1-8B"}}})
    plan = plans.compiled(case)
    assert plan.buckets == ()
    assert container(plan)["command"] == ["vllm", "serve", "meta-llama/Llama-3.1-8B"]
    assert {"name": "HF_HOME", "value": "/weights"} in container(plan)["env"]


def test_fleet_shares_machines_of_several_accelerators():
    spec, sizing, fit = plans.fleet_case()
    plan = compile_plan(spec, sizing, plans.on_machine(fit, "g2-standard-96", 8), today=plans.TODAY)
    assert (plan.pool("gpu").nodes_min, plan.pool("gpu").nodes_max) == (1, 1)
    assert container(plan)["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_fleet_secrets_come_from_the_secret():
    spec, sizing, fit = plans.fleet_case()
    plan = plans.compiled(plans.with_secret(spec, sizing, fit))
    variable = container(plan)["env"][-1]
    assert variable == {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "run-secrets", "key": "HF_TOKEN"}}}


def test_tpu_has_one_whole_pool_per_slice():
    plan = plans.compiled(plans.tpu_case(slices=2))
    slices = [pool for pool in plan.pools if pool.topology]
    assert [pool.name for pool in slices] == ["slice-0", "slice-1"]
    assert {(p.nodes_min, p.nodes_start, p.nodes_max, p.topology, p.multi_host) for p in slices} == {(4, 4, 4, "4x4", True)}


@pytest.mark.parametrize(
    ("machine", "topology", "nodes", "expected"),
    [("tpu7x-standard-4t", "4x4x4", 16, True), ("tpu7x-standard-4t", "2x2x1", 1, False), ("ct6e-standard-4t", "4x4", 4, False)],
)
def test_only_several_hosts_of_tpu7x_use_a_workload_policy(machine, topology, nodes, expected):
    plan = plans.compiled(plans.tpu_case(machine=machine, topology=topology, nodes=nodes))
    assert plan.pool("slice-0").workload_policy is expected
    assert "V-100" not in {problem.code for problem in check(plan)}


def test_tpu_quota_is_all_chips():
    queue = manifest(plans.compiled(plans.tpu_case(slices=2)), "queue.cluster-queue")
    amounts = {r["name"]: r["nominalQuota"] for r in queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]}
    assert amounts["google.com/tpu"] == 32


def test_tpu_namespace_allows_locked_memory():
    """A container on GKE requires SYS_RESOURCE, which a baseline namespace refuses (rule V-89)."""
    plan = plans.tpu_plan()
    assert dict(plan.namespaces)["team-research"] == "privileged"
    baseline = tuple((name, "baseline" if name == "team-research" else level) for name, level in plan.namespaces)
    assert [problem.code for problem in check(replace(plan, namespaces=baseline))] == ["V-89"]


def test_flex_start_slice_scales_between_zero_and_all_hosts():
    pool = plans.compiled(plans.tpu_case(capacity="flex-start")).pool("slice-0")
    assert (pool.nodes_min, pool.nodes_start, pool.nodes_max) == (0, 0, 4)
    assert pool.capacity.max_run_s == 420000


def test_single_host_slice_has_no_placement_policy():
    spec, sizing, fit = plans.tpu_case(nodes=1, topology="2x2")
    pool = plans.compiled((spec, sizing, fit)).pool("slice-0")
    assert (pool.multi_host, pool.adjacent) == (False, False)


def test_google_ai_zones_rank_last():
    pool = plans.compiled(plans.tpu_case(zones=("us-central1-ai1", "us-central1-b"))).pool("slice-0")
    assert pool.zones == ("us-central1-b",)


def test_unsupported_blueprint_on_a_cloud_is_an_error(monkeypatch):
    assert refused(plans.fleet_case({"min_replicas": 0, "scale_to_zero": True})) == ["V-92"]
    assert refused(plans.fleet_case({"engine": "tensorrt-llm"})) == ["C-engine"]
    assert refused(gke_plans.wide_fleet_case("a3-megagpu-8g")) == ["C-wide-replica"]
    assert refused(plans.training_case(blueprint={"kind": "box"})) == ["C-nodes"]
    assert refused(plans.tpu_case(machine="g2-standard-12")) == ["C-machine"]
    monkeypatch.delitem(PATHS, (BlueprintKind.BOX, "gcp"))
    assert refused(gce_plans.gce_box_case()) == ["C-no-path"]


def test_a_bucket_of_another_cloud_is_rejected_with_a_fix():
    case = plans.fleet_case({"model": {"base": "llama-3.1-8b", "weights": {"uri": "s3://models/llama"}}})
    with pytest.raises(UserError, match=r"C-bucket-cloud.*s3://models/llama is in another cloud.*gs:// bucket"):
        plans.compiled(case)
