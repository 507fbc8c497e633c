"""Envoy Gateway: its chart, the proxies of a stack, their entrance, metrics and network policy.

Objects are those of envoyproxy/gateway, tag v1.9.0, api/v1alpha1, and of the Gateway API. All are in the namespace of the controller, which
starts the proxies there; routes are in the namespaces of the models.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rackwright.compile.gateway.authentication import authentication
from rackwright.compile.gateway.body_router import body_router
from rackwright.compile.gateway.routes import Route, model_routes
from rackwright.compile.kubernetes.manifests import Body, allow, obj
from rackwright.compile.operators.helm_releases import ONE_STAYS, SYSTEM_NODE_SELECTOR, release
from rackwright.spec.operators.gateway import EnvoyOptions
from rackwright.stackplan import ManifestPlan, ReleasePlan
from rackwright.stackplan.namespaces import ENVOY_NAMESPACE
from rackwright.stackplan.operators import ENVOY_GATEWAY, MONITORING

API, GATEWAYS = "gateway.envoyproxy.io/v1alpha1", "gateway.networking.k8s.io/v1"
CONTROLLER = "gateway.envoyproxy.io/gatewayclass-controller"
CLASS = "envoy"
PORT = 8080
"""Port of the listener, which the proxies open as it is: they move ports below 1024 up by 10000."""
METRICS_PORT, METRICS_PATH = 19001, "/stats/prometheus"
PROXIES = 2
REQUESTS, LIMITS = {"cpu": "500m", "memory": "512Mi"}, {"memory": "1Gi"}
"""Of a proxy: assumed."""


@dataclass(frozen=True)
class Entrance:
    """How clients reach the proxies. service: spec of the Service without selector. callers: peers of a network policy. annotations: of the
    Service. selector: labels of the nodes of the proxies; empty for any."""

    service: Body
    callers: tuple[Body, ...]
    annotations: tuple[tuple[str, Any], ...] = ()
    selector: tuple[tuple[str, str], ...] = tuple(SYSTEM_NODE_SELECTOR.items())


def envoy_gateway_release() -> ReleasePlan:
    """Two controllers; the chart has the definitions of the Gateway API."""
    values = {
        "deployment": {"replicas": 2, "pod": {"nodeSelector": SYSTEM_NODE_SELECTOR}},
        "podDisruptionBudget": {"minAvailable": ONE_STAYS["minAvailable"]},
    }
    return release(ENVOY_GATEWAY, ENVOY_NAMESPACE, values)


def gateway_objects(stack: str, options: EnvoyOptions, routes: tuple[Route, ...], entrance: Entrance) -> Iterator[ManifestPlan]:
    """Every object of the gateway of a stack."""
    spaces = sorted({route.namespace for route in routes})
    after = (ENVOY_GATEWAY,)
    reference = {"group": API.partition("/")[0], "kind": "EnvoyProxy", "name": stack}
    selector = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": spaces}]}
    listener = {
        "name": "http",
        "protocol": "HTTP",
        "port": PORT,
        "allowedRoutes": {"namespaces": {"from": "Selector", "selector": selector}},
    }
    gateway = {"gatewayClassName": CLASS, "infrastructure": {"parametersRef": reference}, "listeners": [listener]}
    yield ManifestPlan("gateway.class", obj(GATEWAYS, "GatewayClass", CLASS, spec={"controllerName": CONTROLLER}), after)
    yield ManifestPlan("gateway.proxy", obj(API, "EnvoyProxy", stack, ENVOY_NAMESPACE, _proxy(dict(entrance.selector))), after)
    yield ManifestPlan(
        "gateway.gateway", obj(GATEWAYS, "Gateway", stack, ENVOY_NAMESPACE, gateway), (*after, "gateway.class", "gateway.proxy")
    )
    yield from authentication(stack, options)
    yield from body_router(stack, dict(entrance.selector)) if options.route_by == "model" and len(routes) > 1 else ()
    yield from model_routes(stack, options, routes, PROXIES)
    yield from _entrance(stack, entrance, (route.workload for route in routes))
    monitor = {"selector": {"matchLabels": proxy_labels(stack)}, "podMetricsEndpoints": [{"port": "metrics", "path": METRICS_PATH}]}
    yield ManifestPlan(
        "gateway.monitor", obj("monitoring.coreos.com/v1", "PodMonitor", f"{stack}-gateway", ENVOY_NAMESPACE, monitor), (MONITORING,)
    )


def proxy_labels(stack: str) -> dict[str, str]:
    """Labels that the controller gives to the proxies of a Gateway."""
    owner = "gateway.envoyproxy.io/owning-gateway"
    return {f"{owner}-name": stack, f"{owner}-namespace": ENVOY_NAMESPACE}


def _proxy(selector: dict[str, str]) -> Body:
    """Two proxies on different nodes. The stack has the Service of their clients, so theirs is internal."""
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    labels = {"app.kubernetes.io/component": "proxy", "app.kubernetes.io/managed-by": "envoy-gateway"}
    pod: Body = {"topologySpreadConstraints": [spread | {"labelSelector": {"matchLabels": labels}}]}
    pod |= {"nodeSelector": selector} if selector else {}
    deployment = {"replicas": PROXIES, "pod": pod, "container": {"resources": {"requests": REQUESTS, "limits": LIMITS}}}
    kubernetes = {"envoyDeployment": deployment, "envoyService": {"type": "ClusterIP"}, "envoyPDB": {"minAvailable": 1}}
    return {"provider": {"type": "Kubernetes", "kubernetes": kubernetes}}


def _entrance(stack: str, entrance: Entrance, workloads: Iterable[str]) -> Iterator[ManifestPlan]:
    """The Service of the clients, updated after the servers, and who may call the proxies. The controller reaches all of their ports."""
    service = entrance.service | {"selector": proxy_labels(stack)}
    body = obj("v1", "Service", f"{stack}-entrance", ENVOY_NAMESPACE, service, annotations=dict(entrance.annotations))
    yield ManifestPlan("gateway.entrance", body, ("gateway.gateway", *workloads))
    metrics = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    rules = [
        {"from": [*entrance.callers], "ports": [{"port": PORT}]},
        {"from": [metrics], "ports": [{"port": METRICS_PORT}]},
        {"from": [{"podSelector": {}}]},
    ]
    plan = allow(ENVOY_NAMESPACE, f"{stack}-proxies", rules)
    selected = {**plan.body["spec"], "podSelector": {"matchLabels": proxy_labels(stack)}}
    yield ManifestPlan("gateway.policy", {**plan.body, "spec": selected})
