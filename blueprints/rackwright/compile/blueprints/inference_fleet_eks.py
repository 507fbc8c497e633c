"""InferenceFleet on EKS: replicas on machines that Karpenter or node groups bring, behind an internal load balancer, scaled on the server's
own queue."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rackwright.compile.aws_options import existing_cluster
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.aws.karpenter import adjacent_group, karpenter_image, karpenter_pool, karpenter_releases, pool_key
from rackwright.compile.kubernetes.aws.serving import MOUNT, callers, entrance, weights_objects, weights_volume
from rackwright.compile.kubernetes.cluster import cluster_plan, namespaces, node_images, pins
from rackwright.compile.kubernetes.manifests import (
    allow,
    allow_basics,
    allow_within,
    default_deny,
    from_blocks,
    from_namespace,
    run_secrets,
    service_account,
)
from rackwright.compile.network.address_plan import eks_network, existing_network
from rackwright.compile.network.place import place_plan
from rackwright.compile.nodes.capacity import has_started
from rackwright.compile.nodes.fabric import expectation
from rackwright.compile.nodes.images import as_asked
from rackwright.compile.nodes.pools import accelerator_pools, extra_pools, system_pool
from rackwright.compile.operators.addons import eks_addons
from rackwright.compile.operators.cluster_autoscaler import cluster_autoscaler
from rackwright.compile.operators.devices import device_releases, efa_claim
from rackwright.compile.operators.helm_releases import keda, monitoring
from rackwright.compile.operators.leader_worker_set import group, leader_worker_set_release
from rackwright.compile.operators.queues import HUGE_PAGES_MIB
from rackwright.compile.operators.versions import SERVER_IMAGES
from rackwright.compile.serving.model_server import WEIGHTS_PATH, ModelServer, server_objects
from rackwright.compile.serving.neuron import with_neuron_settings
from rackwright.compile.serving.replica import (
    ACCOUNT,
    IMAGE_GIB,
    cache_gib,
    hosts_of,
    hub_weights,
    node_bounds,
    replicas_per_node,
    server_of,
)
from rackwright.compile.storage.buckets import buckets, grants
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
from rackwright.stackplan.labels import EFA_CLAIM, EFA_RESOURCE, SERVER_PORT

IMAGE_PIN = "karpenter"
"""Under this name the decision keeps the image of Karpenter's machines."""
FABRIC_ENV = {"FI_PROVIDER": "efa"}
"""Nothing but EFA; what else it needs its image has set."""
HUGE_PAGES = "hugepages-2Mi"
SMALL_PAGES = {"FI_EFA_USE_HUGE_PAGE": "0"}
"""EFA without huge pages: Karpenter knows none of a machine's before it has joined, and would start none for a pod that asks for some."""


def eks_fleet_plan(context: CompileContext) -> StackPlan:
    place, wanted = place_plan(context), buckets(context)
    pools = _pools(context, place)
    made = [pool for pool in pools if pool.provisioner == "karpenter"]
    groups = (adjacent_group(context.spec.name, pool) for pool in made if pool.adjacent)
    karpenter = KarpenterPlan(adjacent=tuple(groups)) if made else None
    server = _server(context, wanted, pools)
    extras = [as_asked(context, pool) for pool in extra_pools(context, place)]
    releases = _releases(context, (*pools, *extras), karpenter, server.hosts > 1)
    addons = (*eks_addons(False), *([MOUNT] if wanted else []))
    everything = (system_pool(place), *pools, *extras)
    network = existing_network(context.place.network, pools[0].fabric) or eks_network(place, pools[0].fabric)
    managed = tuple(pool for pool in everything if pool.provisioner == "managed")
    images = (*node_images(managed), *(((IMAGE_PIN, karpenter_image(made[0])),) if made else ()), ("server", server.image))
    return StackPlan(
        name=context.spec.name,
        kind=BlueprintKind.INFERENCE_FLEET,
        place=place,
        network=network,
        key=KeyPlan(),
        tags=context.tags,
        buckets=wanted,
        identities=(IdentityPlan("server", grants(wanted), context.namespace, ACCOUNT),),
        cluster=cluster_plan(context),
        pools=everything,
        addons=addons,
        namespaces=namespaces(context, releases, _level(server)),
        releases=releases,
        manifests=(
            *(manifest for pool in made for manifest in karpenter_pool(pool, context.spec.name, context.tags)),
            *_serving_objects(context, network, wanted, pools, server),
        ),
        expected_fabric=expectation(context.machine) if pools[0].nics else FabricExpectation(),
        pins=pins(releases, images, addons),
        expires_on=context.expires_on,
        karpenter=karpenter,
    )


def _serving_objects(
    context: CompileContext, network: NetworkPlan, wanted: tuple[BucketPlan, ...], pools: tuple[PoolPlan, ...], server: ModelServer
) -> Iterator[ManifestPlan]:
    """The model server with its network policies, weights volume and load balancer."""
    allowed = callers(context, network)
    yield from _policies(context, server, allowed)
    if wanted:
        yield from weights_objects(wanted[0], context.spec.name, context.namespace, context.candidate.region)
    if server.claim:
        yield efa_claim(pools[0], context.namespace)
    yield from server_objects(server, group(server) if server.hosts > 1 else None)
    yield entrance(server, allowed)


def _pools(context: CompileContext, place: PlacePlan) -> tuple[PoolPlan, ...]:
    """Replicas within a machine need no fabric, and leave its interfaces out."""
    pools = (as_asked(context, pool) for pool in accelerator_pools(context, place, node_bounds(context)))
    shaped = [pool if hosts_of(context) > 1 else _alone(context, pool) for pool in pools]
    provisioner = _provisioner(context, shaped)
    return tuple(_grown(context, pool, provisioner) for pool in shaped)


def _provisioner(context: CompileContext, pools: Sequence[PoolPlan]) -> str:
    """One for all pools: Karpenter, unless asked otherwise, or asked for what it cannot start: other images than AL2023, interfaces that
    are claimed, reservations by group. On a cluster of somebody else's Karpenter is theirs."""
    asked = context.spec.blueprint.nodes.provisioner
    started = (image_family(p.image) == "al2023" and p.devices == "plugin" and not p.capacity.group_arn for p in pools)
    able = not existing_cluster(context) and all(started)
    return asked if asked != "auto" else "karpenter" if able else "managed"


def _alone(context: CompileContext, pool: PoolPlan) -> PoolPlan:
    most = max_pods(context.machine, (), prefixes=True)
    return replace(pool, fabric="none", adjacent=False, nics=(), devices="plugin", max_pods=most)


def _grown(context: CompileContext, pool: PoolPlan, provisioner: str) -> PoolPlan:
    """A downloaded model needs room on the node's own disk where there is no local one. A block's machines come and go with its hours."""
    downloads = not pool.local_nvme and not buckets(context)
    size_gib = IMAGE_GIB + replicas_per_node(context) * cache_gib(context) if downloads else 0
    disk = replace(pool.disk, size_gib=max(pool.disk.size_gib, size_gib))
    grown = replace(pool, disk=disk, provisioner=provisioner)
    if pool.capacity.mode == "capacity-block":
        there = pool.nodes_max if provisioner == "managed" else pool.nodes_start
        return replace(grown, nodes_min=0, nodes_start=there if has_started(pool.capacity, context) else 0, autoscaled=False)
    return replace(grown, autoscaled=provisioner == "managed" and pool.nodes_min < pool.nodes_max)


def _level(server: ModelServer) -> str:
    """How far the namespace's pods may go: memory for RDMA is locked in a privileged one only, root is none of a restricted one's users."""
    return "privileged" if server.pins_memory else "baseline" if server.as_root else "restricted"


def _server(context: CompileContext, wanted: tuple[BucketPlan, ...], pools: Sequence[PoolPlan]) -> ModelServer:
    volume, model = (weights_volume(), WEIGHTS_PATH) if wanted else hub_weights(context)
    after = tuple(pool_key(pool) for pool in pools if pool.provisioner == "karpenter")
    server = replace(server_of(context, wanted, pools[0], volume, model), after=(*after, *(("storage.weights.claim",) if wanted else ())))
    server = with_neuron_settings(context, server) if context.machine.kind == "neuron" else server
    return _on_fabric(context, server, pools[0]) if pools[0].nics else server


def _on_fabric(context: CompileContext, server: ModelServer, pool: PoolPlan) -> ModelServer:
    """Pods ask for every EFA interface of their machine: one that did not would talk over TCP and say nothing, and an empty pool would grow
    machines without. The usual image has no EFA; AWS's own has."""
    asked = ((EFA_RESOURCE, str(pool.fabric_interfaces)),) if pool.devices == "plugin" else ()
    image = context.serve.run.image or SERVER_IMAGES["vllm-efa"]
    small = pool.provisioner == "karpenter"
    env = FABRIC_ENV | (SMALL_PAGES if small else {}) | dict(server.env)
    pages = () if small else ((HUGE_PAGES, f"{HUGE_PAGES_MIB}Mi"),)
    claim = "" if asked else EFA_CLAIM
    return replace(server, image=image, env=tuple(env.items()), devices=(*asked, *pages), claim=claim, pins_memory=True)


def _releases(context: CompileContext, pools: Sequence[PoolPlan], karpenter: KarpenterPlan | None, wide: bool) -> tuple[ReleasePlan, ...]:
    moved = [pool for pool in pools if pool.autoscaled]
    return (
        monitoring(),
        *device_releases(pools),
        keda(),
        *([leader_worker_set_release()] if wide else []),
        *(karpenter_releases(karpenter) if karpenter else ()),
        *([cluster_autoscaler(moved, context.spec.name)] if moved else []),
    )


def _policies(context: CompileContext, server: ModelServer, cidrs: tuple[str, ...]) -> tuple[ManifestPlan, ...]:
    """Account, secrets, and a network closed but for callers, the metrics reader, and the pods of one replica among themselves."""
    namespace = context.namespace
    return (
        service_account(namespace, ACCOUNT),
        *run_secrets(context.spec.workload.run, namespace),
        default_deny(namespace),
        allow_basics(namespace, context.candidate.cloud),
        allow(namespace, "allow-entrance", ingress=[from_blocks(cidrs, SERVER_PORT), from_namespace("monitoring", SERVER_PORT)]),
        *([allow_within(namespace)] if server.hosts > 1 else []),
    )
