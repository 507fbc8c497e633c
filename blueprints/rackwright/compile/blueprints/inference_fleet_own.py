"""InferenceFleet on own servers: model servers on servers that exist, scaled by queued requests, behind a service of the cluster."""

from collections.abc import Iterable
from dataclasses import replace

from rackwright.compile.blueprints.own_cluster import on_any_node, own_metrics, own_objects, own_operators, own_stack
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.gateway.envoy_gateway import PORT, Entrance, envoy_gateway_release, gateway_objects
from rackwright.compile.gateway.routes import Route, with_wake_signal
from rackwright.compile.kubernetes.manifests import Body, allow, allow_within
from rackwright.compile.kubernetes.own.networks import nccl_environment
from rackwright.compile.kubernetes.own.nodes import own_pool
from rackwright.compile.kubernetes.own.rails import NETWORKS_ANNOTATION, Rails, rails_of
from rackwright.compile.observability.serving_alerts import serving_alerts
from rackwright.compile.operators.helm_releases import keda
from rackwright.compile.operators.leader_worker_set import leader_worker_set, leader_worker_set_release
from rackwright.compile.serving.model_server import ModelServer
from rackwright.compile.serving.path_limits import path_limit_objects, with_path_limits
from rackwright.compile.serving.replica import access_objects, hosts_per_replica, hub_weights, model_server
from rackwright.compile.serving.server_objects import server_objects
from rackwright.spec.operators.gateway import EnvoyOptions
from rackwright.stackplan import ManifestPlan, StackPlan
from rackwright.stackplan.labels import SERVER_PORT
from rackwright.stackplan.namespaces import ENVOY_NAMESPACE

ENTRANCE_LABEL = "rackwright/clients"
"""Label of namespaces whose pods may call the servers: the cluster's gateway, and applications."""


def own_fleet_plan(context: CompileContext) -> StackPlan:
    """Only replicas that span servers use RDMA."""
    pool, spans = own_pool(context), hosts_per_replica(context) > 1
    rails = rails_of(context) if spans else None
    volume, model = hub_weights(context)
    metrics = own_metrics(context)
    server = replace(model_server(context, (), pool, volume, model), metrics=metrics)
    server = _over_fabric(server, rails) if rails else server
    options = context.spec.blueprint.envoy
    server = with_path_limits(context, with_wake_signal(server) if options else server)
    lws = (on_any_node(leader_worker_set_release()),) if spans else ()
    gateway = (on_any_node(envoy_gateway_release()),) if options else ()
    releases = (*own_operators(context, rails), on_any_node(keda()), *gateway, *lws)
    clients = {"namespaceSelector": {"matchLabels": {ENTRANCE_LABEL: context.spec.name}}}
    callers = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ENVOY_NAMESPACE}}} if options else clients
    scraped = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": metrics.namespace}}}
    entrance = allow(
        context.namespace,
        "allow-entrance",
        ingress=[{"from": [callers, scraped], "ports": [{"port": port} for port in server.ports.values()]}],
    )
    manifests = (
        *access_objects(context, entrance),
        *((allow_within(context.namespace),) if spans else ()),
        *own_objects(context, rails),
        *path_limit_objects(server),
        *server_objects(server, leader_worker_set(server) if spans else None),
        *serving_alerts(context, server),
        *(_gateway(context, options, server, clients) if options else ()),
    )
    return own_stack(context, pool, releases, manifests, server.pod_security, (("server", server.image),))


def _gateway(context: CompileContext, options: EnvoyOptions, server: ModelServer, clients: Body) -> Iterable[ManifestPlan]:
    """The gateway behind a service of the cluster. clients: peer of a network policy."""
    ports = [{"name": "http", "port": SERVER_PORT, "targetPort": PORT}]
    entrance = Entrance({"ports": ports}, (clients,), selector=())
    return gateway_objects(context.spec.name, options, (Route.of(context, server),), entrance)


def _over_fabric(server: ModelServer, rails: Rails) -> ModelServer:
    """Pods attach every rail of their server, with NCCL's transport pinned to it."""
    return replace(
        server,
        devices=tuple((resource, str(amount)) for resource, amount in rails.pod_resources),
        annotations=(*server.annotations, (NETWORKS_ANNOTATION, rails.pod_networks)),
        env=tuple((nccl_environment(rails) | dict(server.env)).items()),
        pins_memory=True,
    )
