"""Model servers besides plain vLLM: LoRA adapters, SGLang, and a container of the user."""

import pytest
import yaml
from rackwright import check
from rackwright.catalog.release.model_servers import published_servers
from rackwright.compile.compile import compile_plan
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level
from rackwright.spec.spec import Spec

from tests import plans, service_plans


def fleet(workload: dict, case=plans.eks_fleet_case):
    return compile_plan(*case(workload), today=plans.TODAY)


def body(plan, key: str) -> dict:
    return next(manifest.body for manifest in plan.manifests if manifest.key == key)


def container(plan) -> dict:
    return body(plan, "serving.deployment")["spec"]["template"]["spec"]["containers"][0]


def test_adapters_are_served_by_name():
    args = container(fleet({"loras": {"count": 1, **service_plans.ADAPTERS["loras"]}}))["args"]
    assert args[args.index("--enable-lora") :][:4] == ["--enable-lora", "--max-loras=1", "--max-lora-rank=32", "--max-cpu-loras=2"]
    assert args[-3:] == ["--lora-modules", "sql=/weights/adapters/sql", "mail=acme/mail-lora"]


def test_a_count_of_adapters_alone_reserves_their_memory():
    args = container(fleet({"loras": {"count": 4, "rank": 16}}))["args"]
    assert args[-3:] == ["--enable-lora", "--max-loras=4", "--max-lora-rank=16"]


def test_a_server_without_adapters_has_no_argument_for_them():
    assert not [arg for arg in container(fleet({}))["args"] if "lora" in arg]


def test_clients_with_the_key_may_load_adapters():
    variable = {"name": "VLLM_ALLOW_RUNTIME_LORA_UPDATING", "value": "True"}
    assert variable in container(fleet({"loras": {"updates": True}}))["env"]
    assert variable not in container(fleet({"loras": {}}))["env"]


def test_sglang_has_its_own_command_and_metrics():
    plan = fleet({"engine": "sglang", "ttft": {"target": "1 s"}, "loras": {"adapters": {"sql": "weights://sql"}}})
    server = container(plan)
    assert server["image"].startswith("lmsysorg/sglang:v0.5.20@sha256:")
    assert server["command"] == ["python3", "-m", "sglang.launch_server", "--model-path", "/weights"]
    assert {"--port=8000", "--tp-size=1", "--max-running-requests=24", "--enable-metrics", "--lora-paths", "sql=/weights/sql"} <= {
        *server["args"]
    }
    queries = [trigger["metadata"]["query"] for trigger in body(plan, "serving.scaler")["spec"]["triggers"]]
    assert len(queries) == 3
    assert all("sglang:" in query and "vllm" not in query for query in queries)


def test_sglang_gets_the_key_from_the_secret():
    spec, sizing, fit = plans.eks_fleet_case({"engine": "sglang", "api_key": {"secret": "key"}})
    data = spec.model_dump(mode="json", exclude_unset=True) | {"secrets": {"key": {"config": "key"}}}
    plan = compile_plan(Spec.model_validate(plans._units(data)), sizing, fit, today=plans.TODAY)
    assert "--api-key=$(VLLM_API_KEY)" in container(plan)["args"]


@pytest.mark.parametrize(
    ("option", "where"),
    [
        ({"speculation": {"draft": 3, "acceptance": "70 %"}}, "speculation"),
        ({"kv_dtype": "int8"}, "kv_dtype"),
        ({"loras": {"updates": True}}, "loras.updates"),
    ],
)
def test_options_that_sglang_does_not_get_are_refused(option, where):
    with pytest.raises(UserError) as refused:
        fleet({"engine": "sglang"} | option)
    assert [str(problem.at) for problem in refused.value.problems] == [f"workloads[0].{where}"]


def test_sglang_over_several_machines_is_refused():
    spec, sizing, fit = plans.wide_fleet_case()
    data = spec.model_dump(mode="json", exclude_unset=True)
    data["workloads"][0]["engine"] = "sglang"
    with pytest.raises(UserError) as refused:
        compile_plan(Spec.model_validate(plans._units(data)), sizing, fit, today=plans.TODAY)
    assert [problem.code for problem in refused.value.problems] == ["C-engine"]


@pytest.mark.parametrize("case", [plans.eks_fleet_case, plans.fleet_case])
def test_a_container_of_the_user_has_its_port_paths_and_metrics(case):
    plan = fleet(service_plans.OWN_SERVER, case)
    server = container(plan)
    assert (server["command"], server["args"]) == ([], [])
    assert server["ports"] == [{"name": "http", "containerPort": 9000}]
    assert {server[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "readiness", "liveness")} == {"/ready"}
    assert body(plan, "serving.monitor")["spec"]["endpoints"][0]["path"] == "/stats"
    queries = [trigger["metadata"]["query"] for trigger in body(plan, "serving.scaler")["spec"]["triggers"]]
    labels = '{namespace="team-chat",service="chat"}'
    assert queries == [f"sum(sdxl_queue{labels})", f"sum(sdxl_queue{labels}) + sum(sdxl_busy{labels})"]
    ports = [rule for m in plan.manifests if m.body["kind"] == "NetworkPolicy" for rule in m.body["spec"].get("ingress", [])]
    assert {port["port"] for rule in ports for port in rule.get("ports", [])} == {9000}


def test_health_checks_of_the_gateway_follow_the_container():
    check = body(fleet(service_plans.OWN_SERVER, plans.fleet_case), "serving.health")["spec"]["default"]["config"]["httpHealthCheck"]
    assert check == {"port": 9000, "requestPath": "/ready"}


def picked(workload: dict | None = None):
    return plans.compiled(service_plans.picked_case(workload))


def test_the_inference_gateway_routes_to_a_pool_with_a_picker():
    plan = picked()
    pool, target = body(plan, "serving.pool"), {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "chat"}
    assert (
        pool["spec"]["selector"]["matchLabels"].items()
        <= body(plan, "serving.deployment")["spec"]["template"]["metadata"]["labels"].items()
    )
    assert pool["spec"]["endpointPickerRef"] == {"name": "chat-picker", "port": {"number": 9002}, "failureMode": "FailOpen"}
    assert body(plan, "serving.route")["spec"]["rules"][0]["backendRefs"] == [target]
    assert [body(plan, f"serving.{key}")["spec"]["targetRef"] for key in ("health", "timeout")] == [target, target]
    assert dict(plan.pins.images)["endpoint-picker"].endswith("/epp:v1.5.0")
    assert [problem.code for problem in check(plan) if problem.level == "error"] == []


def test_the_picker_prefers_replicas_that_have_the_adapter():
    scorers = [yaml.safe_load(body(picked(given), "picker.config")["data"]["default-plugins.yaml"]) for given in ({}, {"loras": {}})]
    weights = [{entry["pluginRef"]: entry["weight"] for entry in config["schedulingProfiles"][0]["plugins"]} for config in scorers]
    assert "lora-affinity-scorer" not in weights[0]
    assert weights[1]["lora-affinity-scorer"] == 1


def test_the_picker_reads_the_metrics_of_sglang():
    config = yaml.safe_load(body(picked({"engine": "sglang"}), "picker.config")["data"]["default-plugins.yaml"])
    assert {"type": "core-metrics-extractor", "parameters": {"defaultEngine": "sglang"}} in config["plugins"]


def test_a_picker_for_unknown_metrics_is_refused():
    with pytest.raises(UserError) as refused:
        picked(service_plans.OWN_SERVER)
    assert [str(problem.at) for problem in refused.value.problems] == ["blueprint.gateway"]


TRITON = {
    "run": {"image": "registry.example/triton:1.0.0@sha256:" + "0" * 64},
    "server": {
        "port": 8080,
        "health": "/v2/health/ready",
        "metrics": {"queue": 'nv_trt_llm_request_metrics{request_type="waiting"}', "port": 8002},
    },
}


def test_triton_has_a_port_for_metrics_and_a_metric_with_a_label():
    plan = fleet(TRITON)
    assert container(plan)["ports"] == [{"name": "http", "containerPort": 8080}, {"name": "metrics", "containerPort": 8002}]
    assert body(plan, "serving.monitor")["spec"]["endpoints"][0]["port"] == "metrics"
    query = body(plan, "serving.scaler")["spec"]["triggers"][0]["metadata"]["query"]
    assert query == 'sum(nv_trt_llm_request_metrics{namespace="team-chat",service="chat",request_type="waiting"})'
    scraped = [rule for m in plan.manifests if m.body["kind"] == "NetworkPolicy" for rule in m.body["spec"].get("ingress", [])]
    assert {"port": 8002, "protocol": "TCP"} in [port for rule in scraped for port in rule.get("ports", [])]
    assert [problem.code for problem in check(plan) if problem.level == "error"] == []


@pytest.mark.parametrize("name", published_servers())
def test_a_published_server_needs_its_name_only(name):
    """The fleet is that of a spec with the same ports, paths and metrics."""
    run, row = service_plans.OWN_SERVER["run"], published_servers()[name]
    metrics = {"queue": row.queue, "path": row.metrics_path} | ({"in_flight": row.in_flight} if row.in_flight else {})
    metrics |= {"port": row.metrics_port} if row.metrics_port else {}
    written = {"port": row.port, "health": row.health, "metrics": metrics}
    named, described = (plans.compiled(plans.eks_fleet_case({"run": run, "server": server})) for server in (name, written))
    assert named.manifests == described.manifests
    assert [problem.advice for problem in check(named) if problem.level is Level.ERROR] == []
