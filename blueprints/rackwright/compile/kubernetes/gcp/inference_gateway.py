"""An InferencePool with its endpoint picker, which selects the replica of each request.

Objects and arguments are those of the chart inferencepool 1.5.0 (kubernetes-sigs/gateway-api-inference-extension, config/charts). GKE
serves InferencePool v1 and calls the picker from the proxies of the load balancer.
"""

from collections.abc import Iterator
from dataclasses import replace

import yaml

from rackwright.compile.kubernetes.manifests import (
    Body,
    account_key,
    allow,
    allow_within,
    from_blocks,
    from_namespace,
    obj,
    service_account,
)
from rackwright.compile.operators.helm_releases import SYSTEM_NODE_SELECTOR
from rackwright.compile.operators.versions import SERVER_IMAGES
from rackwright.compile.serving.engine_metrics import SGLANG_METRICS
from rackwright.compile.serving.model_server import ModelServer
from rackwright.stackplan import ManifestPlan
from rackwright.stackplan.namespaces import MONITORING_NAMESPACE

POOL_GROUP, MODEL_GROUP, RBAC = "inference.networking.k8s.io", "inference.networking.x-k8s.io", "rbac.authorization.k8s.io"
PICKER_PORT, HEALTH_PORT, METRICS_PORT = 9002, 9003, 9090
PICKER = "endpoint-picker"
"""Its image in `catalog/data/versions.csv`."""
SCORES = {"queue-scorer": 2, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3}
"""Plugin of the picker -> its weight."""
ADAPTER_SCORES = {"lora-affinity-scorer": 1}
REQUESTS, LIMITS = {"cpu": "4", "memory": "8Gi"}, {"memory": "16Gi"}
GRACE_S = 130
NOBODY = 65532
"""User of the picker's image."""
READ = ["get", "watch", "list"]
ROLE_RULES = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": READ},
    {"apiGroups": [POOL_GROUP], "resources": ["inferencepools"], "verbs": READ},
    {"apiGroups": [MODEL_GROUP], "resources": ["inferenceobjectives", "inferencemodelrewrites"], "verbs": READ},
]


def pool_target(server: ModelServer) -> Body:
    """Reference to the pool, in policies and routes."""
    return {"group": POOL_GROUP, "kind": "InferencePool", "name": server.name}


def inference_pool(server: ModelServer, proxies: tuple[str, ...], has_adapters: bool) -> Iterator[ManifestPlan]:
    """proxies: address ranges of the load balancer. If the picker fails, requests go to any replica (FailOpen)."""
    name, namespace = _picker(server), server.namespace
    yield service_account(namespace, name)
    yield from _permissions(name, namespace)
    config = {"default-plugins.yaml": yaml.safe_dump(_config(server, has_adapters), sort_keys=False)}
    yield ManifestPlan("picker.config", obj("v1", "ConfigMap", name, namespace, data=config))
    yield ManifestPlan("picker.service", obj("v1", "Service", name, namespace, _service(name)))
    yield _allow_callers(name, namespace, proxies)
    yield allow_within(namespace)
    yield _deployment(server)
    pool = {
        "targetPorts": [{"number": server.port}],
        "appProtocol": "http",
        "selector": {"matchLabels": server.serving_labels},
        "endpointPickerRef": {"name": name, "port": {"number": PICKER_PORT}, "failureMode": "FailOpen"},
    }
    body = obj(f"{POOL_GROUP}/v1", "InferencePool", server.name, namespace, pool)
    yield ManifestPlan("serving.pool", body, ("picker.service", "picker.deployment"))


def _picker(server: ModelServer) -> str:
    return f"{server.name}-picker"


def _allow_callers(name: str, namespace: str, proxies: tuple[str, ...]) -> ManifestPlan:
    """The load balancer calls the picker, and Prometheus reads its metrics; other pods of the namespace keep their rules."""
    callers = [from_blocks(proxies, PICKER_PORT, HEALTH_PORT), from_namespace(MONITORING_NAMESPACE, METRICS_PORT)]
    plan = allow(namespace, "allow-picker", callers)
    selected = {**plan.body["spec"], "podSelector": {"matchLabels": {"app": name}}}
    return replace(plan, body={**plan.body, "spec": selected})


def _permissions(name: str, namespace: str) -> Iterator[ManifestPlan]:
    yield ManifestPlan("picker.role", obj(f"{RBAC}/v1", "Role", name, namespace, rules=ROLE_RULES))
    account = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    reference = {"apiGroup": RBAC, "kind": "Role", "name": name}
    bound = obj(f"{RBAC}/v1", "RoleBinding", name, namespace, roleRef=reference, subjects=[account])
    yield ManifestPlan("picker.role.binding", bound, ("picker.role",))


def _config(server: ModelServer, has_adapters: bool) -> Body:
    """Plugins of the picker. It reads the metrics of vLLM by default."""
    scores = SCORES | (ADAPTER_SCORES if has_adapters else {})
    engine = {"parameters": {"defaultEngine": "sglang"}} if server.engine_metrics == SGLANG_METRICS else {}
    source = {"scheme": "http", "path": server.metrics_path, "insecureSkipVerify": True}
    return {
        "apiVersion": f"{MODEL_GROUP}/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": [
            *({"type": name} for name in scores),
            {"type": "metrics-data-source", "parameters": source},
            {"type": "core-metrics-extractor", **engine},
        ],
        "schedulingProfiles": [
            {"name": "default", "plugins": [{"pluginRef": name, "weight": weight} for name, weight in scores.items()]},
        ],
    }


def _service(name: str) -> Body:
    ports = (("grpc-ext-proc", PICKER_PORT), ("http-metrics", METRICS_PORT))
    return {"selector": {"app": name}, "ports": [{"name": port, "port": number, "targetPort": number} for port, number in ports]}


def _deployment(server: ModelServer) -> ManifestPlan:
    """One picker, because it counts cached prefixes in its memory; it runs on a system node."""
    name, namespace = _picker(server), server.namespace
    pod = {
        "serviceAccountName": name,
        "automountServiceAccountToken": True,
        "terminationGracePeriodSeconds": GRACE_S,
        "nodeSelector": SYSTEM_NODE_SELECTOR,
        "securityContext": {"runAsNonRoot": True, "runAsUser": NOBODY, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(server)],
        "volumes": [{"name": "config", "configMap": {"name": name}}],
    }
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 1, "strategy": {"type": "Recreate"}, "selector": {"matchLabels": labels}, "template": template}
    first = (account_key(namespace, name), "picker.role.binding", "picker.config", f"policy.{namespace}.allow-picker")
    return ManifestPlan("picker.deployment", obj("apps/v1", "Deployment", name, namespace, spec), first)


def _container(server: ModelServer) -> Body:
    probe = {"grpc": {"port": HEALTH_PORT, "service": "inference-extension"}}
    ports = (("grpc", PICKER_PORT), ("grpc-health", HEALTH_PORT), ("metrics", METRICS_PORT))
    given = {
        "pool-name": server.name,
        "pool-namespace": server.namespace,
        "pool-group": POOL_GROUP,
        "config-file": "/config/default-plugins.yaml",
        "zap-encoder": "json",
        "tracing": "false",
        "metrics-endpoint-auth": "false",
    }
    return {
        "name": "picker",
        "image": SERVER_IMAGES[PICKER],
        "args": [f"--{key}={value}" for key, value in given.items()],
        "env": [{"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
        "ports": [{"name": port, "containerPort": number} for port, number in ports],
        "livenessProbe": {**probe, "initialDelaySeconds": 5, "periodSeconds": 10},
        "readinessProbe": {**probe, "periodSeconds": 2},
        "resources": {"requests": REQUESTS, "limits": LIMITS},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True},
        "volumeMounts": [{"name": "config", "mountPath": "/config", "readOnly": True}],
    }
