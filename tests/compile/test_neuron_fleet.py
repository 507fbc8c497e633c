"""InferenceFleet on Inferentia2 and Trainium: cores by device, compilation, and rejections."""

from dataclasses import replace

import pytest
from rackwright.catalog import Catalog
from rackwright.compile.operators.versions import SERVER_IMAGES
from rackwright.compile.serving.neuron import COMPILE_TIMEOUT_S
from rackwright.diagnostics.errors import UserError
from rackwright.sizing.metrics import ParallelLayout
from rackwright.stackplan import StackPlan
from rackwright.validation.stack import check, quota_needs

from tests import plans
from tests.compile.found import after, manifest, release

PLAN = plans.FLEETS["fleet-neuron"]()
INF_VCPU = "L-1945791B"


def fleet(
    machine: str = "inf2.48xlarge",
    tensor: int = 1,
    model: str = "llama-3.1-8b",
    kv_tokens: int | None = None,
    uri: str = "s3://models/weights",
    **workload,
) -> StackPlan:
    """A fleet with the default image unless `run` is set."""
    asked = {"run": {}, "model": {"base": model, "weights": {"uri": uri}}} | workload
    spec, sizing, fit = plans.neuron_fleet_case(machine, workload=asked, parallelism=ParallelLayout(tensor=tensor), nodes=3)
    sizing = replace(sizing, facts=replace(sizing.facts, model=model))
    return plans.compiled((spec, sizing, replace(fit, speed=replace(fit.speed, kv_tokens=kv_tokens))))


def server(plan: StackPlan) -> dict:
    return manifest(plan, "serving.deployment")["spec"]["template"]["spec"]["containers"][0]


def said(plan: StackPlan) -> dict[str, str]:
    return {name: value for name, _, value in (argument.removeprefix("--").partition("=") for argument in server(plan)["args"])}


@pytest.mark.parametrize(
    ("machine", "devices", "cores"),
    [
        ("inf2.8xlarge", 1, 2), ("inf2.48xlarge", 1, 2), ("trn1.32xlarge", 16, 32), ("trn1n.32xlarge", 16, 32),
        ("trn2.3xlarge", 1, 4), ("trn2.48xlarge", 1, 4), ("trn2.48xlarge", 16, 64), ("trn2u.48xlarge", 16, 64),
    ],
)  # fmt: skip
def test_pods_request_devices_and_the_engine_uses_their_cores(machine, devices, cores):
    model = "llama-3.1-70b" if devices > 1 else "llama-3.1-8b"
    plan = fleet(machine, devices, model)
    assert server(plan)["resources"]["limits"]["aws.amazon.com/neuron"] == str(devices)
    assert said(plan)["tensor-parallel-size"] == str(cores)
    assert not {"V-91", "V-39", "R-41"} & {problem.code for problem in check(plan)}


def test_replicas_share_the_devices_of_a_machine():
    pool = plans.compiled(plans.neuron_fleet_case(max_replicas=30)).pool("neuron")
    assert (pool.nodes_min, pool.nodes_max) == (1, 3)


def test_karpenter_uses_the_neuron_image():
    pool, made = manifest(PLAN, "nodes.neuron.pool")["spec"], manifest(PLAN, "nodes.neuron.class")["spec"]
    assert made["amiSelectorTerms"] == [{"alias": "al2023@v20260728"}]
    assert pool["limits"] == {"aws.amazon.com/neuron": "12"}
    assert pool["template"]["spec"]["taints"] == [{"key": "aws.amazon.com/neuron", "value": "present", "effect": "NoSchedule"}]
    assert "nodes.neuron.pool" in after(PLAN, "serving.deployment")


def test_node_groups_use_the_neuron_image():
    pool = plans.FLEETS["fleet-neuron-managed"]().pool("neuron")
    assert (pool.provisioner, pool.image, pool.autoscaled) == ("managed", "al2023-neuron", False)


def test_neuron_pools_install_the_neuron_plugin_only():
    assert release(PLAN, "neuron-helm-chart").values["neuronInstances"] == ["inf2.48xlarge"]
    assert not {"nvidia-device-plugin", "dcgm-exporter"} & {r.name for r in PLAN.releases}


def test_compiled_programs_have_a_writable_folder_and_time():
    """Weights of a bucket are mounted read-only, and NxD Inference writes beside them by default."""
    plan = fleet()
    main = server(plan)
    env = {row["name"]: row["value"] for row in main["env"]}
    home = next(mount["mountPath"] for mount in main["volumeMounts"] if mount["name"] == "home")
    assert {env["NEURON_COMPILED_ARTIFACTS"], env["NEURON_COMPILE_CACHE_URL"]} == {f"{home}/neuron/artifacts", f"{home}/neuron/cache"}
    assert main["workingDir"] == home
    waits_s = main["startupProbe"]["failureThreshold"] * main["startupProbe"]["periodSeconds"]
    assert waits_s >= COMPILE_TIMEOUT_S
    assert int(env["VLLM_ENGINE_READY_TIMEOUT_S"]) >= COMPILE_TIMEOUT_S
    assert next(m.wait_s for m in plan.manifests if m.key == "serving.deployment") > waits_s


def test_a_given_folder_for_compiled_programs_is_used():
    env = {"NEURON_COMPILED_ARTIFACTS": "/weights/compiled"}
    main = server(fleet(run={"env": env}))
    assert {row["name"]: row["value"] for row in main["env"]}["NEURON_COMPILED_ARTIFACTS"] == "/weights/compiled"


def test_the_neuron_pod_runs_as_root_in_a_baseline_namespace():
    pod = manifest(PLAN, "serving.deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsUser"] == 0
    assert "runAsNonRoot" not in pod["securityContext"]
    assert dict(PLAN.namespaces)["team-chat"] == "baseline"
    assert dict(plans.FLEETS["fleet-eks"]().namespaces)["team-chat"] == "restricted"


def test_a_cache_block_holds_a_request_of_full_length():
    few = fleet(kv_tokens=50_000)
    assert (said(few)["max-num-seqs"], said(few)["num-gpu-blocks-override"], said(few)["max-model-len"]) == ("6", "6", "8192")
    threshold = manifest(few, "serving.scaler")["spec"]["triggers"][1]["metadata"]["threshold"]
    assert threshold == "4", "a replica is full at what it takes, not at what sizing hoped for"
    assert said(fleet(kv_tokens=500_000))["max-num-seqs"] == "24"


def test_the_default_image_without_digest_is_a_warning():
    plan = fleet()
    assert server(plan)["image"] == SERVER_IMAGES["vllm-neuron"]
    assert [p.code for p in check(plan)] == ["V-13"]


def test_custom_arguments_are_not_checked():
    own = ["--tensor-parallel-size=4"]
    assert server(fleet("trn1.32xlarge", 16, run={"args": own}))["args"] == own


def test_every_chip_has_its_cores():
    """A new chip is rejected until the catalog has its cores and degrees."""
    assert {row.name for row in Catalog.default().accelerators if row.neuron_cores} == {"AWS Inferentia2", "AWS Trainium1", "AWS Trainium2"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"machine": "inf1.6xlarge"}, "C-machine at blueprint.kind: vLLM for Neuron supports AWS Inferentia2"),
        ({"machine": "inf2.48xlarge", "tensor": 24}, "C-wide-replica"),
        ({"machine": "inf2.48xlarge", "tensor": 4}, "A replica uses 4 Neuron devices; on inf2.48xlarge it can use 1 or 12"),
        ({"machine": "inf2.24xlarge", "tensor": 6}, "6 devices have 12 cores; AWS Inferentia2 splits a model over 1, 2, 4, 8, 24 cores"),
        ({"machine": "inf2.48xlarge", "tensor": 12}, "32 attention heads of llama-3.1-8b cannot be divided evenly over 24 cores"),
        ({"model": "gemma-2-9b"}, "does not document gemma-2-9b"),
        ({"model": "qwen3-30b-a3b"}, "does not document qwen3-30b-a3b"),
        ({"machine": "inf2.xlarge"}, "needs 30 GiB of host memory; a replica on inf2.xlarge has 9 GiB"),
        ({"machine": "trn1.32xlarge"}, "needs 30 GiB of host memory; a replica on trn1.32xlarge has 19 GiB"),
        ({"kv_tokens": 4000}, "The cache holds 4,000 tokens, which is less than one request of 8,192; set it to 4000 or less"),
        ({"max_context": None}, "C-neuron-model at workloads[0].max_context"),
        ({"kv_dtype": "fp8"}, "C-neuron-model at workloads[0].kv_dtype"),
        ({"model": "qwen2.5-1.5b", "uri": "hf://Qwen/Qwen2.5-1.5B"}, "copy its files to a bucket"),
    ],
)
def test_undocumented_models_are_rejected(given, words):
    with pytest.raises(UserError) as found:
        fleet(**given)
    assert words in str(found.value)


def test_bottlerocket_is_rejected_for_the_default_neuron_image():
    shape = {"nodes": {"image": "bottlerocket"}}
    with pytest.raises(UserError, match="C-image"):
        plans.compiled(plans.neuron_fleet_case(blueprint=shape, workload={"run": {}}))
    assert plans.compiled(plans.neuron_fleet_case(blueprint=shape)).pool("neuron").provisioner == "managed"


def test_neuron_vcpus_count_towards_the_quota_of_the_family():
    assert {need.code: need.amount for need in quota_needs(PLAN)}[INF_VCPU] == 192
