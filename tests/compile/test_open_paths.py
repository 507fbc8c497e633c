"""Paths of a model server: with an API key the server itself refuses those for which vLLM checks no key."""

import asyncio
import importlib.util

import pytest
from rackwright.compile.serving.model_server import MIDDLEWARE_FOLDER
from rackwright.compile.serving.path_limits import MIDDLEWARE, MIDDLEWARE_FILE, MIDDLEWARE_NAME
from rackwright.spec.workload_parts import Run, SecretRef
from rackwright.stackplan.labels import OPEN_PATHS_ARGUMENT

from tests import plans
from tests.compile.test_fleet_clients import changed, servers, with_key
from tests.own_plans import own_fleet_case

LIMITED = {
    "karpenter": plans.eks_fleet_case,
    "managed": plans.managed_fleet_case,
    "wide": plans.wide_fleet_case,
    "own": own_fleet_case,
    "own-wide": lambda: own_fleet_case(8, 2),
}
MODULE, _, CLASS = OPEN_PATHS_ARGUMENT.partition("=")[2].partition(".")


def middleware():
    """The class that the server imports, from the text of the ConfigMap."""
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(MODULE, loader=None))
    exec(MIDDLEWARE, module.__dict__)
    return getattr(module, CLASS)


def answer(path: str, kind: str = "http") -> list[dict]:
    """What a client gets; the server answers 200."""
    sent = []

    async def send(message):
        sent.append(message)

    async def server(scope, receive, send):
        await send({"type": "http.response.start", "status": 200})

    asyncio.run(middleware()(server)({"type": kind, "path": path}, None, send))
    return sent


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/models", "/health", "/metrics", "/metrics/"])
def test_clients_reach_the_api_and_probes(path):
    assert answer(path)[0]["status"] == 200


@pytest.mark.parametrize(
    "path",
    ["/invocations", "/tokenize", "/pooling", "/v10/x", "/v1", "/", "", "/health/../invocations", "/metricsx", "/inference/v1/generate"],
)
def test_other_paths_are_not_found(path):
    assert answer(path)[0]["status"] == 404


def test_websockets_of_other_paths_are_closed_and_the_start_of_the_server_is_not():
    assert answer("/realtime", "websocket") == [{"type": "websocket.close", "code": 1008}]
    assert answer("/v1/realtime", "websocket")[0]["status"] == 200
    assert answer("", "lifespan")[0]["status"] == 200


@pytest.mark.parametrize("name", LIMITED)
def test_a_server_with_a_key_loads_the_middleware(name):
    spec, *sized = LIMITED[name]()
    workload = spec.workload.model_copy(update={"api_key": SecretRef(secret="chat-key"), "run": Run()})
    plan = plans.compiled((spec.model_copy(update={"workloads": (workload,)}), *sized))
    (config,) = [m for m in plan.manifests if m.key.endswith(".open-paths")]
    assert config.body["data"] == {MIDDLEWARE_FILE: MIDDLEWARE}
    (deployment,) = [m for m in plan.manifests if m.body["kind"] in ("Deployment", "LeaderWorkerSet")]
    assert config.key not in deployment.after, "the engine would follow more paths for a refused destroy"
    assert config.body["metadata"] == {"name": MIDDLEWARE_NAME, "namespace": deployment.body["metadata"]["namespace"]}
    assert MIDDLEWARE_NAME in str(deployment.body)
    for server in servers(plan):
        assert OPEN_PATHS_ARGUMENT in server["args"]
        assert {"name": "PYTHONPATH", "value": MIDDLEWARE_FOLDER} in server["env"]
        assert MIDDLEWARE_FOLDER in [mount["mountPath"] for mount in server["volumeMounts"]]
    assert f"{MODULE}.py" == MIDDLEWARE_FILE


def test_a_path_of_the_user_stays():
    (server,) = servers(with_key(plans.eks_fleet_case, run={"env": {"PYTHONPATH": "/opt/lib"}}))
    assert [row["value"] for row in server["env"] if row["name"] == "PYTHONPATH"] == [f"{MIDDLEWARE_FOLDER}:/opt/lib"]


@pytest.mark.parametrize("run", [{"image": "a/b:1"}, {"args": ["--port=8000"]}, {"command": ["my-server"]}])
def test_other_images_and_arguments_are_left_alone(run):
    (server,) = servers(with_key(plans.eks_fleet_case, run=run))
    assert OPEN_PATHS_ARGUMENT not in server.get("args", [])
    assert "PYTHONPATH" not in str(server)


def test_servers_without_a_key_and_behind_a_gateway_need_none():
    for plan in (changed(plans.eks_fleet_case), with_key(plans.fleet_case), with_key(plans.neuron_fleet_case)):
        assert "open-paths" not in str(plan.manifests)
