"""Objects of a check: limits from plan, catalog and inventory, and the queue and nodes that they use."""

import json
from typing import Any

import pytest
from rackwright.catalog import Catalog
from rackwright.compile.preflight.write_preflight import Preflight, preflight_of
from rackwright.diagnostics.errors import UserError
from rackwright.stackplan.labels import PREFLIGHT_LABEL
from rackwright.validation.stack import StackContext, stack_problems

from tests import gke_plans, own_plans, plans
from tests.jobs import cases

IMAGE = "registry.example/nccl-tests@sha256:" + "1" * 64


def made(case, image: str = IMAGE, **options: Any) -> Preflight:
    """The check of a case. options: of `blueprint.preflight`."""
    spec, sizing, fit = case
    blueprint = spec.blueprint.model_copy(update={"preflight": spec.blueprint.preflight.model_copy(update=options)})
    return preflight_of(cases.context((spec.model_copy(update={"blueprint": blueprint}), sizing, fit)), image)


def gated_case():
    """The training cluster with an image for the check, whose queue therefore has the gate."""
    return plans.training_case(blueprint=cases.SHAPE | {"preflight": {"image": IMAGE}})


def limits(bodies: list[dict]) -> dict[str, Any]:
    return json.loads(next(body for body in bodies if body["kind"] == "ConfigMap")["data"]["limits.json"])


def test_limits_of_nodes_come_from_the_plan_and_the_catalog():
    found = limits(made(plans.training_case()).node_objects)
    assert found == {
        "gpus": 8,
        "products": ["NVIDIA-H100-80GB-HBM3"],
        "nvlinks": 18,
        "driver": "",
        "uncorrected_ecc_errors": 0,
        "application_xids": [13, 31, 43, 45, 68],
        "fabric": "efa",
        "ports": 32,
        "port_names": [],
        "port_layer": "",
        "port_gbps": 0,
        "firmware": "",
        "local_disks": 8,
        "locked_bytes": 2 * 1024**4,
    }


def test_limits_of_own_servers_come_from_the_inventory():
    case = own_plans.own_training_case()
    check = made(case, driver="580.95.05", firmware="28.43.2566")
    found = limits(check.node_objects)
    assert found["ports"] == 8
    assert found["port_names"] == [f"mlx5_{number}" for number in range(8)]
    assert (found["port_gbps"], found["port_layer"]) == (400.0, "InfiniBand")
    assert (found["driver"], found["firmware"]) == ("580.95.05", "28.43.2566")
    together = limits(check.cluster_objects(4))
    assert together["pair_busbw_gb_s"] == 300.0, "three quarters of eight ports with 400 Gbit/s"


def test_limits_of_the_cluster_come_from_the_plan():
    spec, sizing, fit = plans.training_case()
    found = limits(made((spec, plans.with_storage(sizing, 9e12, 8e9), fit)).cluster_objects(3))
    assert found["hosts"] == [f"preflight-workers-0-{rank}.preflight" for rank in range(3)]
    assert found["pair_busbw_gb_s"] == found["cluster_busbw_gb_s"] == 300.0
    assert (found["storage_gb_s"], found["shared_folder"]) == (8.0, "/shared/.preflight")
    assert found["all_reduce"].startswith("all_reduce_perf -b 1G -e 8G")


@pytest.mark.parametrize("nodes", [2, 6])
def test_every_checked_node_is_a_host_also_above_the_plan(nodes):
    """Ranks without a host would serve until the check ends, and their nodes would pass untested."""
    check = made(plans.training_case())
    config, body = check.cluster_objects(nodes)
    job = body["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert check.context.nodes == 4
    assert job["parallelism"] == job["completions"] == nodes
    assert limits([config])["hosts"] == [f"preflight-workers-0-{rank}.preflight" for rank in range(nodes)]
    assert job["activeDeadlineSeconds"] == 5400


FLOORS = {
    "a3-highgpu-8g": (60.0, 60.0),
    "a3-megagpu-8g": (250.0, 150.0),
    "a3-ultragpu-8g": (300.0, 300.0),
}
"""Machine -> GB/s between two nodes, and between four: 0.6 of 100 for TCPX, 0.75 of 200 for TCPXO and of 400 for RoCE."""


@pytest.mark.parametrize("machine", FLOORS)
def test_published_floors_are_of_two_nodes(machine):
    check = made(gke_plans.gke_training_case(machine))
    found = [limits(check.cluster_objects(nodes)) for nodes in (2, 4)]
    two, four = FLOORS[machine]
    assert [(each["pair_busbw_gb_s"], each["cluster_busbw_gb_s"]) for each in found] == [(two, two), (two, four)]


def test_node_checks_are_privileged_in_a_namespace_of_their_own():
    space, _, daemon = made(plans.training_case()).node_objects
    assert space["metadata"]["name"] == "llama-70b-sft-preflight"
    assert space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    pod = daemon["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"rackwright/role": "accelerator"}
    assert pod["automountServiceAccountToken"] is False
    assert pod["initContainers"][0]["securityContext"] == {"privileged": True}
    assert not any("nvidia.com/gpu" in each["resources"]["requests"] for each in pod["initContainers"] + pod["containers"])
    assert "runtimeClassName" not in pod
    own = made(own_plans.own_training_case()).node_objects[-1]
    assert own["spec"]["template"]["spec"]["runtimeClassName"] == "nvidia", "the GPU operator injects devices by CDI"


GKE_MACHINES = ("a3-highgpu-8g", "a3-megagpu-8g", "a3-ultragpu-8g")


@pytest.mark.parametrize("machine", GKE_MACHINES)
def test_node_checks_on_gke_mount_the_driver_of_the_host(machine):
    """Nodes of GKE have no container runtime of NVIDIA, and the device plugin serves only pods that request GPUs."""
    pod = made(gke_plans.gke_training_case(machine), image=IMAGE).node_objects[-1]["spec"]["template"]["spec"]
    check = pod["initContainers"][0]
    assert {"name": "driver-0", "hostPath": {"path": "/home/kubernetes/bin/nvidia"}} in pod["volumes"]
    assert {"name": "driver-0", "mountPath": "/usr/local/nvidia", "readOnly": True} in check["volumeMounts"]
    assert check["env"] == [{"name": "LD_LIBRARY_PATH", "value": "/usr/local/nvidia/lib64"}]
    assert check["command"][:4] == ["sh", "-c", 'PATH=/usr/local/nvidia/bin:$PATH exec "$0" "$@"', "python3"]
    assert "runtimeClassName" not in pod


def test_the_cluster_check_has_the_fabric_of_a_job_and_the_queue_without_the_gate():
    body = made(gated_case()).cluster_objects(4)[-1]
    assert body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "preflight"
    job = body["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert (job["parallelism"], job["completions"], body["spec"]["failurePolicy"]["maxRestarts"]) == (4, 4, 0)
    pod = job["template"]["spec"]
    assert PREFLIGHT_LABEL not in pod["nodeSelector"]
    container = pod["containers"][0]
    assert container["image"] == IMAGE
    assert container["command"] == ["python3", "/preflight/check_cluster.py", "/preflight/limits.json"]
    assert container["resources"]["requests"]["vpc.amazonaws.com/efa"] == "32"
    plain = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert (plain["FI_PROVIDER"], plain["NCCL_NET"]) == ("efa", "AWS Libfabric")
    assert {"NODE_NAME", "PREFLIGHT_TOKEN", "NODE_RANK"} <= {*plain}


def test_jobs_start_on_nodes_that_passed():
    assert cases.pod(gated_case())["nodeSelector"][PREFLIGHT_LABEL] == "passed"
    assert PREFLIGHT_LABEL not in cases.pod(plans.training_case())["nodeSelector"], "no image for the check, so none could pass"


def test_the_queue_has_no_gate_where_nodes_come_and_go_or_the_spec_switches_it_off():
    for case in (plans.fallback_case("spot", "on-demand"), cases.tpu_case()):
        assert not plans.compiled(case).has_gated_queue
    spec, sizing, fit = plans.training_case(blueprint=cases.SHAPE | {"preflight": {"gate": False}})
    plan = plans.compiled((spec, sizing, fit))
    assert not plan.has_gated_queue
    flavor = next(manifest.body for manifest in plan.manifests if manifest.key == "queue.flavor")
    assert PREFLIGHT_LABEL not in flavor["spec"]["nodeLabels"]


def test_nodes_of_a_fleet_are_checked_alone():
    check = preflight_of(cases.context(plans.eks_fleet_case()), IMAGE)
    assert not check.has_cluster_check
    assert check.node_objects


REFUSED = {
    "box": (plans.box_case, IMAGE, "V-210", "without a cluster"),
    "tpu": (cases.tpu_case, IMAGE, "V-210", "without GPUs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_stack_that_cannot_be_checked_is_refused(name):
    case, image, code, text = REFUSED[name]
    with pytest.raises(UserError) as caught:
        made(case(), image)
    (problem,) = caught.value.problems
    assert problem.code == code
    assert text in problem.reason


def test_an_image_is_required_and_should_have_a_digest():
    spec, sizing, fit = plans.training_case()
    context = cases.context((spec, sizing, fit), image=None)
    with pytest.raises(UserError, match="V-211"):
        preflight_of(context)
    (problem,) = made(plans.training_case(), "registry.example/nccl-tests:latest").warnings
    assert problem.code == "V-212"
    assert made(plans.training_case(), image="").image == cases.IMAGE, "the image of the job"


def test_the_queue_of_spot_nodes_has_a_gate_only_where_the_spec_sets_it():
    """A replacement lacks the label, so a job that was interrupted would wait for the next check."""
    for gate, is_gated in ((None, False), (True, True)):
        spec, sizing, fit = gke_plans.gke_training_case("a3-ultragpu-8g", capacity="spot")
        options = spec.blueprint.preflight.model_copy(update={"image": IMAGE, "gate": gate})
        spec = spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update={"preflight": options})})
        assert plans.compiled((spec, sizing, fit)).has_gated_queue is is_gated


def test_a_gate_of_spot_nodes_is_a_warning_with_its_consequence():
    (reason,) = gate_problems(gke_plans.gke_training_case("a3-ultragpu-8g", capacity="spot"), "V-216")
    assert reason == (
        "Pool gpu has spot nodes and a queue with `preflight.gate`: "
        "an interrupted job waits until `rackwright preflight` has checked the replacement"
    )
    assert gate_problems(gke_plans.gke_training_case("a3-ultragpu-8g"), "V-216") == []


def gate_problems(case, code: str = "V-213") -> list[str]:
    """Messages of a rule for a spec that requires the gate."""
    spec, sizing, fit = case
    required = spec.blueprint.model_copy(update={"preflight": spec.blueprint.preflight.model_copy(update={"gate": True})})
    chosen = spec.model_copy(update={"blueprint": required})
    context = StackContext(plans.compiled((chosen, sizing, fit)), Catalog.default(), fit=fit, spec=chosen)
    return [problem.reason for problem in stack_problems(context) if problem.code == code]


def test_a_gate_that_no_queue_can_have_is_refused():
    no = "The queue cannot wait for checked nodes: "
    assert gate_problems(plans.training_case()) == []
    assert gate_problems(plans.fallback_case("spot", "on-demand")) == [f"{no}pools of a fallback get their nodes when jobs need them"]
    assert gate_problems(cases.tpu_case()) == [f"{no}pool slice-0 has ct6e-standard-4t without GPUs"]
    assert gate_problems(plans.eks_fleet_case()) == [f"{no}the blueprint inference-fleet has no queue for jobs"]
