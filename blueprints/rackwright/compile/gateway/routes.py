"""Routes of a gateway to its models: by the name in the request, a header, or a path; with timeout, rate, and the count of requests."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.compile.serving.model_server import ModelServer
from rackwright.spec.operators.gateway import EnvoyOptions
from rackwright.spec.workload_parts import API_PATH
from rackwright.stackplan import ManifestPlan
from rackwright.stackplan.labels import SERVER_PORT
from rackwright.stackplan.namespaces import ENVOY_NAMESPACE

API, ROUTES = "gateway.envoyproxy.io/v1alpha1", "gateway.networking.k8s.io/v1"
MODEL_HEADER = "X-Gateway-Model-Name"
"""Header with the model's name, which the body-based router sets (kubernetes-sigs/gateway-api-inference-extension, config/charts)."""
MAX_MATCHES = 64
"""Matches of a rule (HTTPRoute of the Gateway API)."""
UNITS = {"second": "Second", "minute": "Minute", "hour": "Hour"}


@dataclass(frozen=True)
class Route:
    """A model behind the gateway. names: that select it. prefix: of the paths that clients may use. workload: key of its replicas."""

    name: str
    namespace: str
    service: str
    names: tuple[str, ...]
    prefix: str
    timeout_s: int
    starts_from_zero: bool
    key: str
    workload: str

    @staticmethod
    def of(context: CompileContext, server: ModelServer) -> "Route":
        serve = context.serve
        adapters = serve.loras.adapters if serve.loras else {}
        names = dict.fromkeys((context.sizing.facts.model, serve.name, *adapters))
        prefix = "/" if serve.server or serve.run.command else API_PATH
        return Route(
            server.name,
            server.namespace,
            server.service,
            tuple(names)[:MAX_MATCHES],
            prefix,
            server.longest_request_s,
            server.min_replicas == 0,
            server.key("route"),
            server.workload,
        )


def with_wake_signal(server: ModelServer) -> ModelServer:
    """The server with the gateway's count of its requests, which exists while it has no replica."""
    if server.min_replicas:
        return server
    cluster = f'{{envoy_cluster_name=~"httproute/{server.namespace}/{server.name}/rule/.*"}}'
    # A request that finds no replica waits for a connection that fails, and counts as pending only.
    counters = (f"sum(increase(envoy_cluster_upstream_rq_{kind}{cluster}[5m]))" for kind in ("total", "pending_total"))
    return replace(server, wake_query=" + ".join(counters))


def model_routes(stack: str, options: EnvoyOptions, routes: tuple[Route, ...], proxies: int) -> Iterator[ManifestPlan]:
    """An HTTPRoute per model with its policy. proxies: number of proxies that share a rate limit; each counts its requests separately."""
    for index, route in enumerate(routes):
        rules = [_rule(options, route, len(routes) > 1)]
        # The router reads the bodies of requests that match a route, so requests without the header need one.
        rules += [_to(route, [_path(route.prefix)])] if index == 0 and len(routes) > 1 and options.route_by == "model" else []
        spec = {"parentRefs": [{"name": stack, "namespace": ENVOY_NAMESPACE}], "rules": rules}
        body = obj(ROUTES, "HTTPRoute", route.name, route.namespace, spec)
        yield ManifestPlan(route.key, body, ("gateway.gateway", route.key.replace(".route", ".service")))
        policy = obj(API, "BackendTrafficPolicy", route.name, route.namespace, _policy(options, route, proxies))
        yield ManifestPlan(route.key.replace(".route", ".traffic"), policy, (route.key,))


def _rule(options: EnvoyOptions, route: Route, several: bool) -> Body:
    if options.route_by == "path":
        own = f"/{route.name}{route.prefix.rstrip('/')}"
        rewrite = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": route.prefix}}
        return _to(route, [_path(own)]) | {"filters": [{"type": "URLRewrite", "urlRewrite": rewrite}]}
    if not several:
        return _to(route, [_path(route.prefix)])
    headers = ([{"type": "Exact", "name": MODEL_HEADER, "value": name}] for name in route.names)
    return _to(route, [_path(route.prefix) | {"headers": each} for each in headers])


def _path(prefix: str) -> Body:
    return {"path": {"type": "PathPrefix", "value": prefix}}


def _to(route: Route, matches: list[Body]) -> Body:
    return {"matches": matches, "backendRefs": [{"name": route.service, "port": SERVER_PORT}]}


def _policy(options: EnvoyOptions, route: Route, proxies: int) -> Body:
    """Least busy replica, the timeout of the longest request, and the rate. A model that starts from zero is reached by the address of its
    Service: the gateway answers requests for a Service without pods itself, and counts none of them (routingType)."""
    target = {"group": ROUTES.partition("/")[0], "kind": "HTTPRoute", "name": route.name}
    spec: Body = {"targetRefs": [target], "timeout": {"http": {"requestTimeout": f"{route.timeout_s}s"}}}
    spec |= {"routingType": "Service"} if route.starts_from_zero else {"loadBalancer": {"type": "LeastRequest"}}
    if limit := options.rate_limit:
        each = {"requests": max(1, limit.requests // proxies), "unit": UNITS[limit.per]}
        spec["rateLimit"] = {"type": "Local", "local": {"rules": [{"limit": each}]}}
    return spec
