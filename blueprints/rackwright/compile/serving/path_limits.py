"""Paths of a model server that checks an API key: it refuses those for which vLLM checks none, by a middleware of the stack."""

import hashlib
from dataclasses import replace
from importlib.resources import files

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.manifests import obj
from rackwright.compile.operators.versions import SERVER_IMAGES
from rackwright.compile.serving.entrance import open_path
from rackwright.compile.serving.model_server import MIDDLEWARE_FOLDER, ModelServer
from rackwright.spec.workload_parts import API_PATH
from rackwright.stackplan import ManifestPlan
from rackwright.stackplan.labels import OPEN_PATHS_ARGUMENT

MIDDLEWARE_FILE = "open_paths.py"
MIDDLEWARE = files("rackwright.compile.serving").joinpath(MIDDLEWARE_FILE).read_text(encoding="utf-8")
"""Source of the server's middleware, which its option --middleware imports from PYTHONPATH (vllm/entrypoints/serve/middleware)."""
MIDDLEWARE_NAME = f"open-paths-{hashlib.sha256(MIDDLEWARE.encode()).hexdigest()[:8]}"
"""Of the ConfigMap: other source has another name, so that servers restart with it."""
VLLM_IMAGES = (SERVER_IMAGES["vllm"], SERVER_IMAGES["vllm-efa"])
"""Images of vLLM that set no PYTHONPATH. Whether AWS's image for Neuron and users' images do is not known."""


def with_path_limits(context: CompileContext, server: ModelServer) -> ModelServer:
    """The server with the middleware: vLLM with a key, in its own image and with the plan's arguments; others without changes."""
    if open_path(context) != API_PATH or context.serve.run.args or server.image not in VLLM_IMAGES:
        return server
    env = dict(server.env)
    folders = ":".join(filter(None, (MIDDLEWARE_FOLDER, env.get("PYTHONPATH"))))
    return replace(
        server,
        args=(*server.args, OPEN_PATHS_ARGUMENT),
        env=tuple((env | {"PYTHONPATH": folders}).items()),
        middleware=MIDDLEWARE_NAME,
    )


def path_limit_objects(server: ModelServer) -> tuple[ManifestPlan, ...]:
    """The ConfigMap with the middleware, which the servers of a namespace share.

    Servers do not depend on it: a kubelet mounts it when it exists, and the engine would follow more paths for a refused destroy.
    """
    if not server.middleware:
        return ()
    body = obj("v1", "ConfigMap", server.middleware, server.namespace, data={MIDDLEWARE_FILE: MIDDLEWARE})
    return (ManifestPlan(f"config.{server.namespace}.open-paths", body),)
