"""InferenceFleet on EKS: model servers on Karpenter or managed nodes, an internal load balancer, and scaling by queued requests."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.aws.karpenter import karpenter_image, karpenter_pool, karpenter_releases, placement_group_name, pool_key
from rackwright.compile.kubernetes.aws.pod_logs import pod_log_releases
from rackwright.compile.kubernetes.aws.serving import client_ranges, load_balancer, weights_objects, weights_volume
from rackwright.compile.kubernetes.aws.storage_class import default_storage_class
from rackwright.compile.kubernetes.cluster import cluster_plan, namespaces, node_images, version_pins
from rackwright.compile.kubernetes.manifests import allow, allow_within, from_blocks, from_namespace
from rackwright.compile.network.address_plan import eks_network, existing_network
from rackwright.compile.network.place import place_plan
from rackwright.compile.nodes.capacity import has_started
from rackwright.compile.nodes.fabric import fabric_expectation
from rackwright.compile.nodes.pools import accelerator_pools, extra_pools, system_pool, with_node_image
from rackwright.compile.operators.addons import eks_addons
from rackwright.compile.operators.cluster_autoscaler import cluster_autoscaler
from rackwright.compile.operators.devices import device_releases, efa_claim
from rackwright.compile.operators.helm_releases import keda, metrics_priority, monitoring
from rackwright.compile.operators.leader_worker_set import leader_worker_set, leader_worker_set_release
from rackwright.compile.operators.queues import HUGE_PAGES_MIB
from rackwright.compile.operators.versions import SERVER_IMAGES
from rackwright.compile.serving.entrance import certificate
from rackwright.compile.serving.model_server import WEIGHTS_PATH, ModelServer, server_objects
from rackwright.compile.serving.neuron import with_neuron_settings
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
from rackwright.compile.spec_options import existing_cluster
from rackwright.compile.storage.buckets import bucket_plans, grants
from rackwright.stackplan import (
    BlueprintKind,
    BucketPlan,
    FabricExpectation,
    IdentityPlan,
    KarpenterPlan,
    KeyPlan,
    ManifestPlan,
    NetworkPlan,
    PlacePlan,
    PoolPlan,
    ReleasePlan,
    StackPlan,
)
from rackwright.stackplan.addresses import max_pods
from rackwright.stackplan.images import image_family
from rackwright.stackplan.labels import EFA_CLAIM, EFA_RESOURCE, HUGE_PAGES, SERVER_PORT
from rackwright.stackplan.refs import machine_subnet_refs

KARPENTER_IMAGE_PIN = "karpenter"
"""Key of the decision's version pins for the image of Karpenter nodes."""
FABRIC_ENV = {"FI_PROVIDER": "efa"}
"""Restricts libfabric to EFA; the server image sets the other variables."""
NO_HUGE_PAGES_ENV = {"FI_EFA_USE_HUGE_PAGE": "0"}
"""EFA without huge pages. Karpenter does not know a node's huge pages before it joins, so it starts no node for pods that request them."""


def eks_fleet_plan(context: CompileContext) -> StackPlan:
    place, buckets = place_plan(context, spreads=hosts_per_replica(context) == 1), bucket_plans(context)
    pools = _pools(context, place)
    karpenter_pools = [pool for pool in pools if pool.provisioner == "karpenter"]
    groups = (placement_group_name(context.spec.name, pool) for pool in karpenter_pools if pool.adjacent)
    karpenter = KarpenterPlan(adjacent=tuple(groups)) if karpenter_pools else None
    server = _server(context, buckets, pools)
    security = "privileged" if server.pins_memory else "baseline" if server.as_root else "restricted"  # RDMA locks memory
    extras = [with_node_image(context, pool) for pool in extra_pools(context, place)]
    releases = _releases(context, (*pools, *extras), karpenter, server.hosts > 1)
    addons = eks_addons(*(["object-store-mount"] if buckets else []))
    everything = (system_pool(context, place), *pools, *extras)
    network = existing_network(context.place.network, pools[0].fabric) or eks_network(place, pools[0].fabric)
    karpenter_images = tuple((KARPENTER_IMAGE_PIN, karpenter_image(pool)) for pool in karpenter_pools[:1])
    images = (*node_images(tuple(p for p in everything if p.provisioner == "managed")), *karpenter_images, ("server", server.image))
    return StackPlan(
        name=context.spec.name,
        kind=BlueprintKind.INFERENCE_FLEET,
        place=place,
        network=network,
        key=KeyPlan(),
        tags=context.tags,
        buckets=buckets,
        identities=(IdentityPlan("server", grants(buckets), context.namespace, ACCOUNT),),
        cluster=cluster_plan(context),
        pools=everything,
        addons=addons,
        namespaces=namespaces(context, releases, security),
        releases=releases,
        manifests=(
            *(manifest for pool in karpenter_pools for manifest in karpenter_pool(pool, context.spec.name, context.tags)),
            *_serving_objects(context, network, buckets, pools, server),
            default_storage_class(context.spec.name),
            metrics_priority(),
        ),
        expected_fabric=fabric_expectation(context.machine) if pools[0].nics else FabricExpectation(),
        pins=version_pins(releases, images, addons),
        expires_on=context.expires_on,
        karpenter=karpenter,
    )


def _serving_objects(
    context: CompileContext, network: NetworkPlan, buckets: tuple[BucketPlan, ...], pools: tuple[PoolPlan, ...], server: ModelServer
) -> Iterator[ManifestPlan]:
    """The model server with its network policies, weights volume and load balancer."""
    allowed, namespace = client_ranges(context, network), context.namespace
    entrance = [from_blocks(allowed, SERVER_PORT), from_namespace("monitoring", SERVER_PORT)]
    yield from access_objects(context, allow(namespace, "allow-entrance", ingress=entrance))
    if server.hosts > 1:
        yield allow_within(namespace)
    if buckets:
        yield from weights_objects(buckets[0], context.spec.name, context.namespace, context.candidate.region)
    if server.claim:
        yield efa_claim(pools[0], context.namespace)
    yield from server_objects(server, leader_worker_set(server) if server.hosts > 1 else None)
    yield load_balancer(server, allowed, machine_subnet_refs(pools[0].zones), certificate(context))


def _pools(context: CompileContext, place: PlacePlan) -> tuple[PoolPlan, ...]:
    """The sized pools; without EFA interfaces, and in every zone of the place, where a replica fits one machine."""
    shaped = [with_node_image(context, pool) for pool in accelerator_pools(context, place, node_bounds(context))]
    if hosts_per_replica(context) == 1:
        high, zones = max_pods(context.machine, (), prefixes=True), (place.zone, *place.further_zones)
        shaped = [replace(pool, fabric="none", adjacent=False, nics=(), devices="plugin", max_pods=high, zones=zones) for pool in shaped]
    provisioner = _provisioner(context, shaped)
    return tuple(_with_provisioner(context, pool, provisioner) for pool in shaped)


def _provisioner(context: CompileContext, pools: Sequence[PoolPlan]) -> str:
    """One provisioner for all pools. `auto` is Karpenter, except with images other than AL2023, EFA by DRA, reservation groups, or an
    existing cluster, which Karpenter does not support here."""
    requested = context.spec.blueprint.nodes.provisioner
    started = (image_family(p.image) == "al2023" and p.devices == "plugin" and not p.capacity.group_arn for p in pools)
    supported = not existing_cluster(context) and all(started)
    return requested if requested != "auto" else "karpenter" if supported else "managed"


def _with_provisioner(context: CompileContext, pool: PoolPlan, provisioner: str) -> PoolPlan:
    """Adds disk for downloaded weights where there is no local NVMe. Pools of capacity blocks follow the block's schedule."""
    downloads = not pool.local_nvme and not bucket_plans(context)
    size_gib = IMAGE_GIB + replicas_per_node(context) * cache_gib(context) if downloads else 0
    disk = replace(pool.disk, size_gib=max(pool.disk.size_gib, size_gib))
    grown = replace(pool, disk=disk, provisioner=provisioner)
    if pool.capacity.mode == "capacity-block":
        there = pool.nodes_max if provisioner == "managed" else pool.nodes_start
        return replace(grown, nodes_min=0, nodes_start=there if has_started(pool.capacity, context) else 0, autoscaled=False)
    return replace(grown, autoscaled=provisioner == "managed" and pool.nodes_min < pool.nodes_max)


def _server(context: CompileContext, buckets: tuple[BucketPlan, ...], pools: Sequence[PoolPlan]) -> ModelServer:
    volume, model = (weights_volume(), WEIGHTS_PATH) if buckets else hub_weights(context)
    after = [pool_key(pool) for pool in pools if pool.provisioner == "karpenter"] + (["storage.weights.claim"] if buckets else [])
    server = model_server(context, buckets, pools[0], volume, model)
    ordered = sorted(pools, key=lambda pool: pool.preference)
    server = replace(server, after=(*server.after, *after), preferred_pools=tuple(pool.name for pool in ordered))
    server = with_neuron_settings(context, server) if context.machine.kind == "neuron" else server
    return _with_efa(context, server, pools[0]) if pools[0].nics else server


def _with_efa(context: CompileContext, server: ModelServer, pool: PoolPlan) -> ModelServer:
    """Pods request every EFA interface of their machine; without a request they would use TCP without an error. The default server image
    does not contain EFA, AWS's image does."""
    requested = ((EFA_RESOURCE, str(pool.fabric_interfaces)),) if pool.devices == "plugin" else ()
    image = context.serve.run.image or SERVER_IMAGES["vllm-efa"]
    small = pool.provisioner == "karpenter"
    env = FABRIC_ENV | (NO_HUGE_PAGES_ENV if small else {}) | dict(server.env)
    pages = () if small else ((HUGE_PAGES, f"{HUGE_PAGES_MIB}Mi"),)
    claim = "" if requested else EFA_CLAIM
    return replace(server, image=image, env=tuple(env.items()), devices=(*requested, *pages), claim=claim, pins_memory=True)


def _releases(context: CompileContext, pools: Sequence[PoolPlan], karpenter: KarpenterPlan | None, wide: bool) -> tuple[ReleasePlan, ...]:
    autoscaled = [pool for pool in pools if pool.autoscaled]
    return (
        monitoring(context.catalog, default_storage_class(context.spec.name)),
        *pod_log_releases(context),
        *device_releases(pools),
        keda(),
        *([leader_worker_set_release()] if wide else []),
        *(karpenter_releases(karpenter) if karpenter else ()),
        *([cluster_autoscaler(autoscaled, context.spec.name)] if autoscaled else []),
    )
