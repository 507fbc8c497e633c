"""InferenceFleet on GKE: model servers on an autoscaled pool, an internal gateway, and scaling by queued requests."""

from collections.abc import Iterator
from dataclasses import replace

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.existing_cluster import cluster_metrics
from rackwright.compile.kubernetes.cluster import GKE_SERVICES, cluster_plan, namespaces, version_pins
from rackwright.compile.kubernetes.gcp.compute_class import compute_class, in_compute_class
from rackwright.compile.kubernetes.gcp.fabric import fabric_objects
from rackwright.compile.kubernetes.gcp.inference_gateway import PICKER, inference_pool, pool_target
from rackwright.compile.kubernetes.gcp.serving import HEALTH_CHECKERS, boot_disk_gib, fuse_annotations, gateway_objects, weights_volume
from rackwright.compile.kubernetes.gcp.storage_class import storage_classes
from rackwright.compile.kubernetes.gcp.wide_replica import rdma_layout, with_interfaces, with_rdma
from rackwright.compile.kubernetes.manifests import allow, allow_within, from_blocks, from_namespace
from rackwright.compile.network.address_plan import gke_network, proxy_range
from rackwright.compile.network.place import place_plan
from rackwright.compile.nodes.fabric import fabric_expectation
from rackwright.compile.nodes.pools import accelerator_pools, extra_pools, system_pool
from rackwright.compile.observability.serving_alerts import serving_alerts
from rackwright.compile.operators.addons import gke_addons
from rackwright.compile.operators.helm_releases import keda, metrics_priority, monitoring
from rackwright.compile.operators.leader_worker_set import leader_worker_set, leader_worker_set_release
from rackwright.compile.operators.versions import FABRIC_IMAGES, SERVER_IMAGES
from rackwright.compile.serving.entrance import certificate, open_path
from rackwright.compile.serving.model_server import WEIGHTS_PATH, ModelServer
from rackwright.compile.serving.replica import (
    ACCOUNT,
    IMAGE_GIB,
    access_objects,
    cache_gib,
    hosts_per_replica,
    hub_weights,
    model_server,
    node_bounds,
    replicas_per_node,
)
from rackwright.compile.serving.server_objects import server_objects
from rackwright.compile.serving.tpu import with_tpu_settings
from rackwright.compile.storage.buckets import bucket_plans, grants
from rackwright.stackplan import (
    BlueprintKind,
    BucketPlan,
    FabricExpectation,
    IdentityPlan,
    KeyPlan,
    ManifestPlan,
    PlacePlan,
    PoolPlan,
    StackPlan,
)


def gke_fleet_plan(context: CompileContext) -> StackPlan:
    # GKE bounds the nodes of TPU pools per zone, so these have one.
    place = place_plan(context, spreads=hosts_per_replica(context) == 1 and context.machine.kind != "tpu")
    buckets = bucket_plans(context)
    works = _pools(context, place)
    extras = tuple(replace(extra, autoscaled=False) for extra in extra_pools(context, place))  # GKE resizes them
    server = _server(context, buckets, works[0])
    pools = (system_pool(context, place), *works, *extras)
    storage = storage_classes(context.spec.name, pools)
    layout, groups = rdma_layout(context), [leader_worker_set_release()] if server.hosts > 1 else []
    releases = (monitoring(context.catalog, storage[0]), keda(), *groups)
    images = {"server": server.image} | ({PICKER: SERVER_IMAGES[PICKER]} if _has_picker(context) else {})
    return StackPlan(
        name=context.spec.name,
        kind=BlueprintKind.INFERENCE_FLEET,
        place=place,
        network=gke_network(place, works[0].fabric, proxy=True),
        key=KeyPlan(),
        tags=context.tags,
        buckets=buckets,
        identities=(IdentityPlan("server", grants(buckets), context.namespace, ACCOUNT),),
        cluster=replace(cluster_plan(context, gateway_api=True), multi_network=layout is not None),
        pools=pools,
        addons=gke_addons(),
        namespaces=namespaces({context.namespace: server.pod_security}, releases),
        releases=releases,
        manifests=(*_serving_objects(context, server, works), *storage, metrics_priority()),
        services=GKE_SERVICES,
        expected_fabric=fabric_expectation(context.machine) if layout else FabricExpectation(),
        pins=version_pins(releases, tuple((images | (FABRIC_IMAGES if layout else {})).items())),
        expires_on=context.expires_on,
    )


def _serving_objects(context: CompileContext, server: ModelServer, works: tuple[PoolPlan, ...]) -> Iterator[ManifestPlan]:
    """The model server with its network policies, fabric and gateway, and the order of a fallback."""
    layout = rdma_layout(context)
    yield from access_objects(context, _entrance(context, server))
    if server.hosts > 1:
        yield allow_within(context.namespace)
    yield from server_objects(server, leader_worker_set(server) if server.hosts > 1 else None)
    yield from fabric_objects(works[0], layout, (), context.namespace) if layout else ()
    yield from serving_alerts(context, server)
    yield from _gateway(context, server)
    yield from compute_class(works, context.spec.name)


def _pools(context: CompileContext, place: PlacePlan) -> tuple[PoolPlan, ...]:
    """The pool of the replicas, or those of a fallback, with a disk for the weights. On TPU each node is one slice.

    GKE starts one node per zone.
    """
    low, high, start = node_bounds(context)
    counts = (0, high, 0) if context.candidate.capacity == "flex-start" else (low, high, start)
    found = in_compute_class(accelerator_pools(context, place, counts), context.spec.name)
    disk = replace(found[0].disk, size_gib=IMAGE_GIB + boot_disk_gib(replicas_per_node(context) * cache_gib(context)))
    zones, layout, topology = (place.zone, *place.further_zones), rdma_layout(context), context.candidate.topology
    fitted = (with_interfaces(pool, layout) for pool in found)
    shaped = (replace(pool, disk=disk, adjacent=False, zones=zones[: max(pool.nodes_max, 1)], topology=topology) for pool in fitted)
    return tuple(replace(pool, zones=(pool.capacity.zone,)) if pool.capacity.zone else pool for pool in shaped)


def _entrance(context: CompileContext, server: ModelServer) -> ManifestPlan:
    """The gateway and its health checks call the server, and Prometheus reads its metrics."""
    callers = (proxy_range(context.place.network), *HEALTH_CHECKERS)
    clients = [from_blocks(callers, server.port), from_namespace(server.metrics.namespace, *server.ports.values())]
    return allow(context.namespace, "allow-gateway", ingress=clients)


def _has_picker(context: CompileContext) -> bool:
    return context.spec.blueprint.gateway == "inference"


def _gateway(context: CompileContext, server: ModelServer) -> tuple[ManifestPlan, ...]:
    """The gateway, and the pool with its endpoint picker where the spec has one."""
    if not _has_picker(context):
        return gateway_objects(server, certificate(context), open_path(context))
    pool = inference_pool(server, (proxy_range(context.place.network), *HEALTH_CHECKERS), context.serve.loras is not None)
    return (*pool, *gateway_objects(server, certificate(context), open_path(context), pool_target(server)))


def _server(context: CompileContext, buckets: tuple[BucketPlan, ...], pool: PoolPlan) -> ModelServer:
    """Serves the bucket's folder, or a repository of the Hugging Face hub."""
    volume, model = (weights_volume(buckets[0].key, buckets[0].prefix), WEIGHTS_PATH) if buckets else hub_weights(context)
    server = replace(model_server(context, buckets, pool, volume, model), metrics=cluster_metrics(context.spec.blueprint.cluster))
    server = replace(server, annotations=fuse_annotations(cache_gib(context))) if buckets else server
    if context.machine.kind == "tpu":
        return with_tpu_settings(context, server, pool)
    return with_rdma(server, layout) if (layout := rdma_layout(context)) else server
