"""Fleets on TPU: vLLM on slices with one host, and what is refused."""

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.validation.stack import check

from tests import plans

IMAGE = "registry.example/server@sha256:" + "0" * 64


def refused(case) -> list[str]:
    with pytest.raises(UserError) as error:
        plans.compiled(case)
    return [str(problem) for problem in error.value.problems]


def deployment(plan) -> dict:
    (body,) = [manifest.body for manifest in plan.manifests if manifest.body["kind"] == "Deployment"]
    return body["spec"]["template"]["spec"]


def test_each_node_of_the_pool_is_a_slice_with_one_replica():
    plan = plans.tpu_fleet_plan()
    (pool,) = [pool for pool in plan.pools if pool.role == "accelerator"]
    assert (pool.name, pool.topology, pool.multi_host, pool.adjacent, pool.max_pods) == ("slice", "2x2", False, False, 15)
    assert (pool.nodes_min, pool.nodes_max, len(pool.zones)) == (1, 8, 1)


def test_a_server_requests_every_chip_of_its_slice_by_the_labels_of_gke():
    pod = deployment(plans.tpu_fleet_plan())
    (main,) = pod["containers"]
    assert pod["nodeSelector"]["cloud.google.com/gke-tpu-accelerator"] == "tpu-v6e-slice"
    assert pod["nodeSelector"]["cloud.google.com/gke-tpu-topology"] == "2x2"
    assert main["resources"]["limits"]["google.com/tpu"] == "4"
    assert main["image"].startswith("vllm/vllm-tpu:")
    assert "--tensor-parallel-size=4" in main["args"]
    env = {entry["name"]: entry.get("value") for entry in main["env"]}
    assert env["VLLM_XLA_CACHE_PATH"].startswith(env["HOME"])


def test_the_start_up_probe_allows_for_compilation():
    (main,) = deployment(plans.tpu_fleet_plan())["containers"]
    probe = main["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] > 1800


def test_only_the_digest_of_the_image_is_missing():
    assert {problem.code for problem in check(plans.tpu_fleet_plan())} == {"V-13"}
    assert not check(plans.compiled(plans.tpu_fleet_case({"run": {"image": IMAGE}})))


def test_generations_that_vllm_does_not_document_are_refused():
    (reason,) = refused(plans.tpu_fleet_case(machine="ct5p-hightpu-4t", topology="2x2x1"))
    assert "vLLM documents TPU v5e, TPU v6e (Trillium), TPU7x (Ironwood); ct5p-hightpu-4t has TPU v5p" in reason


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"loras": {"rank": 16, "count": 4}}, "without `loras`"),
        ({"engine": "sglang"}, "Engine sglang is not supported on TPU"),
    ],
)
def test_options_without_documented_support_are_refused(option, said):
    assert any(said in reason for reason in refused(plans.tpu_fleet_case(option)))


def test_a_server_of_your_own_runs_on_a_slice():
    """JetStream and MaxDiffusion, with the image, the port and the metrics of the spec."""
    metrics = {"queue": "jetstream_prefill_backlog_size", "path": "/metrics"}
    server = {"server": {"port": 9000, "health": "/", "metrics": metrics}, "run": {"image": IMAGE, "args": ["--tokenizer=x"]}}
    (main,) = deployment(plans.compiled(plans.tpu_fleet_case(server)))["containers"]
    assert (main["image"], main["args"]) == (IMAGE, ["--tokenizer=x"])
    assert main["resources"]["limits"]["google.com/tpu"] == "4"
