"""The body-based router: it sets a header with the `model` of a request, by which the gateway selects the route.

Objects and arguments are those of the chart body-based-routing 1.5.0 (kubernetes-sigs/gateway-api-inference-extension, config/charts).
"""

from collections.abc import Iterator

from rackwright.compile.kubernetes.manifests import Body, account_key, obj, service_account
from rackwright.compile.operators.versions import SERVER_IMAGES
from rackwright.stackplan import ManifestPlan
from rackwright.stackplan.namespaces import ENVOY_NAMESPACE

API, RBAC = "gateway.envoyproxy.io/v1alpha1", "rbac.authorization.k8s.io"
IMAGE = "body-router"
"""Its image in `catalog/data/versions.csv`."""
PORT, HEALTH_PORT = 9004, 9005
NOBODY = 65532
REPLICAS, REQUESTS, LIMITS = 2, {"cpu": "200m", "memory": "256Mi"}, {"memory": "1Gi"}
"""Assumed; the chart sets none."""


def body_router(stack: str, selector: dict[str, str]) -> Iterator[ManifestPlan]:
    """Requests fail where no router answers: without the header they would reach another model. selector: labels of its nodes."""
    name, space = f"{stack}-router", ENVOY_NAMESPACE
    yield service_account(space, name)
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]
    yield ManifestPlan("gateway.router.role", obj(f"{RBAC}/v1", "Role", name, space, rules=rules))
    subject, reference = {"kind": "ServiceAccount", "name": name, "namespace": space}, {"apiGroup": RBAC, "kind": "Role", "name": name}
    bound = obj(f"{RBAC}/v1", "RoleBinding", name, space, roleRef=reference, subjects=[subject])
    yield ManifestPlan("gateway.router.binding", bound, ("gateway.router.role",))
    ports = [{"name": "grpc", "port": PORT, "targetPort": PORT, "appProtocol": "kubernetes.io/h2c"}]
    yield ManifestPlan("gateway.router.service", obj("v1", "Service", name, space, {"selector": {"app": name}, "ports": ports}))
    yield ManifestPlan("gateway.router.deployment", _deployment(name, selector), (account_key(space, name), "gateway.router.binding"))
    process = {
        "backendRefs": [{"name": name, "port": PORT}],
        "processingMode": {"request": {"body": "FullDuplexStreamed"}},
        "messageTimeout": "5s",
        "failOpen": False,
    }
    target = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": stack}
    policy = obj(API, "EnvoyExtensionPolicy", stack, space, {"targetRefs": [target], "extProc": [process]})
    yield ManifestPlan("gateway.extension", policy, ("gateway.gateway", "gateway.router.service"))


def _deployment(name: str, selector: dict[str, str]) -> Body:
    labels = {"app": name}
    probe = {"grpc": {"port": HEALTH_PORT}, "periodSeconds": 10}
    container = {
        "name": "router",
        "image": SERVER_IMAGES[IMAGE],
        "args": ["--streaming", "--tracing=false"],
        "env": [{"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
        "ports": [{"name": "grpc", "containerPort": PORT}, {"name": "health", "containerPort": HEALTH_PORT}],
        "readinessProbe": probe,
        "livenessProbe": probe,
        "resources": {"requests": REQUESTS, "limits": LIMITS},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True},
    }
    pod = {
        "serviceAccountName": name,
        "automountServiceAccountToken": True,
        **({"nodeSelector": selector} if selector else {}),
        "securityContext": {"runAsNonRoot": True, "runAsUser": NOBODY, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    return obj("apps/v1", "Deployment", name, ENVOY_NAMESPACE, spec)
