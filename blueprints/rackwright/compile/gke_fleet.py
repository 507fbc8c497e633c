"""InferenceFleet on GKE: replicas on an autoscaled pool, behind an internal gateway, scaled on the server's own queue."""

from dataclasses import replace

from rackwright.compile.addons import gke_addons
from rackwright.compile.cluster import GKE_SERVICES, cluster_want, namespaces, pins
from rackwright.compile.draft import Draft
from rackwright.compile.gke_serving import HEALTH_CHECKERS, boot_disk_gib, fuse_annotations, gateway_objects, weights_volume
from rackwright.compile.manifests import allow, allow_basics, default_deny, from_blocks, from_namespace, run_secrets, service_account
from rackwright.compile.network import GCP_PROXY, gke_network
from rackwright.compile.place import place_want
from rackwright.compile.pools import accelerator_pool, system_pool
from rackwright.compile.releases import keda, monitoring
from rackwright.compile.replica import ACCOUNT, IMAGE_GIB, cache_gib, hub_weights, node_bounds, replicas_per_node, server_of
from rackwright.compile.serving import PORT, WEIGHTS_PATH, Server, server_objects
from rackwright.compile.storage import buckets, grants
from rackwright.compile.wants import BucketWant, IdentityWant, KeyWant, Kind, ManifestWant, PlaceWant, PoolWant, StackPlan


def gke_fleet_plan(draft: Draft) -> StackPlan:
    place = place_want(draft)
    wanted = buckets(draft)
    pool = _pool(draft, place)
    server = _server(draft, wanted, pool)
    releases = (monitoring(), keda())
    return StackPlan(
        name=draft.spec.name,
        kind=Kind.INFERENCE_FLEET,
        place=place,
        network=gke_network(place, "none", proxy=True),
        key=KeyWant(),
        tags=draft.tags,
        buckets=wanted,
        identities=(IdentityWant("server", grants(wanted), draft.namespace, ACCOUNT),),
        cluster=cluster_want(draft, gateway_api=True),
        pools=(system_pool(place), pool),
        addons=gke_addons(),
        namespaces=namespaces(draft, releases, "restricted"),
        releases=releases,
        manifests=(*_policies(draft), *server_objects(server), *gateway_objects(server)),
        services=GKE_SERVICES,
        pins=pins(releases, (("server", server.image),)),
        expires_on=draft.expires_on,
    )


def _pool(draft: Draft, place: PlaceWant) -> PoolWant:
    """Disks hold the weights of each replica. Replicas need no fabric."""
    pool = accelerator_pool(draft, place, "gpu", node_bounds(draft))
    disk = replace(pool.disk, size_gib=IMAGE_GIB + boot_disk_gib(replicas_per_node(draft) * cache_gib(draft)))
    return replace(pool, disk=disk, fabric="none", adjacent=False)


def _server(draft: Draft, wanted: tuple[BucketWant, ...], pool: PoolWant) -> Server:
    """Serves the bucket's folder, or a repository of the hub."""
    if not wanted:
        return server_of(draft, wanted, pool, *hub_weights(draft))
    server = server_of(draft, wanted, pool, weights_volume(wanted[0].key, wanted[0].prefix), WEIGHTS_PATH)
    return replace(server, annotations=fuse_annotations(cache_gib(draft)))


def _policies(draft: Draft) -> tuple[ManifestWant, ...]:
    """Account, secrets, and a network closed but for the gateway's proxies and health checks and the metrics reader."""
    namespace = draft.namespace
    gateway = from_blocks((GCP_PROXY, *HEALTH_CHECKERS), PORT)
    return (
        service_account(namespace, ACCOUNT),
        *run_secrets(draft.spec.workload.run, namespace),
        default_deny(namespace),
        allow_basics(namespace, draft.candidate.cloud),
        allow(namespace, "allow-gateway", ingress=[gateway, from_namespace("monitoring", PORT)]),
    )
