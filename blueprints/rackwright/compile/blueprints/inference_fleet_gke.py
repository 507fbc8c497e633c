"""InferenceFleet on GKE: model servers on an autoscaled pool, an internal gateway, and scaling by queued requests."""

from dataclasses import replace

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.existing_cluster import cluster_metrics
from rackwright.compile.kubernetes.cluster import GKE_SERVICES, cluster_plan, namespaces, version_pins
from rackwright.compile.kubernetes.gcp.compute_class import compute_class, in_compute_class
from rackwright.compile.kubernetes.gcp.inference_gateway import PICKER, inference_pool, pool_target
from rackwright.compile.kubernetes.gcp.serving import HEALTH_CHECKERS, boot_disk_gib, fuse_annotations, gateway_objects, weights_volume
from rackwright.compile.kubernetes.gcp.storage_class import storage_classes
from rackwright.compile.kubernetes.manifests import allow, from_blocks, from_namespace
from rackwright.compile.network.address_plan import gke_network, proxy_range
from rackwright.compile.network.place import place_plan
from rackwright.compile.nodes.pools import accelerator_pools, extra_pools, system_pool
from rackwright.compile.observability.serving_alerts import serving_alerts
from rackwright.compile.operators.addons import gke_addons
from rackwright.compile.operators.helm_releases import keda, metrics_priority, monitoring
from rackwright.compile.operators.versions import SERVER_IMAGES
from rackwright.compile.serving.entrance import certificate, open_path
from rackwright.compile.serving.model_server import WEIGHTS_PATH, ModelServer
from rackwright.compile.serving.replica import (
    ACCOUNT,
    IMAGE_GIB,
    access_objects,
    cache_gib,
    hub_weights,
    model_server,
    node_bounds,
    replicas_per_node,
)
from rackwright.compile.serving.server_objects import server_objects
from rackwright.compile.serving.tpu import with_tpu_settings
from rackwright.compile.storage.buckets import bucket_plans, grants
from rackwright.stackplan import BlueprintKind, BucketPlan, IdentityPlan, KeyPlan, ManifestPlan, PlacePlan, PoolPlan, StackPlan


def gke_fleet_plan(context: CompileContext) -> StackPlan:
    # A replica fits one machine (C-wide-replica). GKE bounds the nodes of TPU pools per zone, so these have one.
    place = place_plan(context, spreads=context.machine.kind != "tpu")
    buckets = bucket_plans(context)
    works = _pools(context, place)
    extras = tuple(replace(extra, autoscaled=False) for extra in extra_pools(context, place))  # GKE resizes them
    server = _server(context, buckets, works[0])
    pools = (system_pool(context, place), *works, *extras)
    storage = storage_classes(context.spec.name, pools)
    releases = (monitoring(context.catalog, storage[0]), keda())
    callers = (proxy_range(context.place.network), *HEALTH_CHECKERS)
    clients = [from_blocks(callers, server.port), from_namespace(server.metrics.namespace, *server.ports.values())]
    entrance = allow(context.namespace, "allow-gateway", ingress=clients)
    images = {"server": server.image} | ({PICKER: SERVER_IMAGES[PICKER]} if _has_picker(context) else {})
    return StackPlan(
        name=context.spec.name,
        kind=BlueprintKind.INFERENCE_FLEET,
        place=place,
        network=gke_network(place, "none", proxy=True),
        key=KeyPlan(),
        tags=context.tags,
        buckets=buckets,
        identities=(IdentityPlan("server", grants(buckets), context.namespace, ACCOUNT),),
        cluster=cluster_plan(context, gateway_api=True),
        pools=pools,
        addons=gke_addons(),
        namespaces=namespaces({context.namespace: server.pod_security}, releases),
        releases=releases,
        manifests=(
            *access_objects(context, entrance),
            *server_objects(server),
            *serving_alerts(context, server),
            *_gateway(context, server),
            *compute_class(works, context.spec.name),
            *storage,
            metrics_priority(),
        ),
        services=GKE_SERVICES,
        pins=version_pins(releases, tuple(images.items())),
        expires_on=context.expires_on,
    )


def _pools(context: CompileContext, place: PlacePlan) -> tuple[PoolPlan, ...]:
    """The pool of the replicas, or those of a fallback, with a disk for the weights; on TPU each node is a slice of its own.

    GKE starts one node per zone.
    """
    low, high, start = node_bounds(context)
    counts = (0, high, 0) if context.candidate.capacity == "flex-start" else (low, high, start)
    found = in_compute_class(accelerator_pools(context, place, counts), context.spec.name)
    disk = replace(found[0].disk, size_gib=IMAGE_GIB + boot_disk_gib(replicas_per_node(context) * cache_gib(context)))
    zones, topology = (place.zone, *place.further_zones), context.candidate.topology
    shaped = (
        replace(pool, disk=disk, fabric="none", adjacent=False, zones=zones[: max(pool.nodes_max, 1)], topology=topology) for pool in found
    )
    return tuple(replace(pool, zones=(pool.capacity.zone,)) if pool.capacity.zone else pool for pool in shaped)


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
    metrics = cluster_metrics(context.spec.blueprint.cluster)
    volume, model = (weights_volume(buckets[0].key, buckets[0].prefix), WEIGHTS_PATH) if buckets else hub_weights(context)
    server = replace(model_server(context, buckets, pool, volume, model), metrics=metrics)
    server = replace(server, annotations=fuse_annotations(cache_gib(context))) if buckets else server
    return with_tpu_settings(context, server, pool) if context.machine.kind == "tpu" else server
