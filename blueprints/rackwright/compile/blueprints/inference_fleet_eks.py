"""InferenceFleet on EKS: model servers on Karpenter or managed nodes, an internal load balancer, and scaling by queued requests."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rackwright.catalog.release.fabric_environment import NO_HUGE_PAGES, fabric_variables
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.existing_cluster import cluster_metrics
from rackwright.compile.gateway.envoy_gateway import envoy_gateway_release, gateway_objects
from rackwright.compile.gateway.routes import Route, with_wake_signal
from rackwright.compile.kubernetes.aws.karpenter import karpenter_image, karpenter_pool, karpenter_releases, placement_group_name, pool_key
from rackwright.compile.kubernetes.aws.pod_logs import pod_log_releases
from rackwright.compile.kubernetes.aws.serving import (
    client_ranges,
    gateway_entrance,
    load_balancer,
    weights_claim_key,
    weights_objects,
    weights_volume,
)
from rackwright.compile.kubernetes.aws.storage_class import default_storage_class
from rackwright.compile.kubernetes.cluster import cluster_plan, namespaces, node_images, version_pins
from rackwright.compile.kubernetes.manifests import allow, allow_within, from_blocks, from_namespace
from rackwright.compile.network.address_plan import eks_network, existing_network
from rackwright.compile.network.place import place_plan
from rackwright.compile.nodes.capacity import has_started
from rackwright.compile.nodes.fabric import fabric_expectation
from rackwright.compile.nodes.pools import accelerator_pools, extra_pools, system_pool, with_node_image
from rackwright.compile.nodes.sharing import sharing_labels
from rackwright.compile.observability.serving_alerts import serving_alerts
from rackwright.compile.operators.addons import eks_addons
from rackwright.compile.operators.cluster_autoscaler import cluster_autoscaler
from rackwright.compile.operators.devices import device_releases, efa_claim
from rackwright.compile.operators.helm_releases import keda, metrics_priority, monitoring
from rackwright.compile.operators.leader_worker_set import leader_worker_set, leader_worker_set_release
from rackwright.compile.operators.versions import SERVER_IMAGES
from rackwright.compile.serving.entrance import certificate
from rackwright.compile.serving.model_server import WEIGHTS_PATH, ModelServer
from rackwright.compile.serving.neuron import with_neuron_settings
from rackwright.compile.serving.path_limits import path_limit_objects, with_path_limits
from rackwright.compile.serving.replica import (
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
from rackwright.stackplan.labels import EFA_CLAIM, EFA_RESOURCE, HUGE_PAGES, HUGE_PAGES_MIB, ROLE_LABEL
from rackwright.stackplan.namespaces import ENVOY_NAMESPACE
from rackwright.stackplan.refs import control_subnet_refs, machine_subnet_refs

KARPENTER_IMAGE_PIN = "karpenter"
"""Key of the decision's version pins for the image of Karpenter nodes."""
SECURITY_LEVELS = ("privileged", "baseline", "restricted")
"""Pod security levels, the least strict first."""
SERVER_VARIABLES = ("FI_PROVIDER",)
"""Variables of the fabric that the plan sets; the server image sets the others."""


@dataclass(frozen=True)
class Service:
    """One workload of a fleet: its buckets, pools and server."""

    context: CompileContext
    buckets: tuple[BucketPlan, ...]
    pools: tuple[PoolPlan, ...]
    server: ModelServer

    @property
    def identity(self) -> IdentityPlan:
        context = self.context
        return IdentityPlan(context.named("server"), grants(self.buckets), context.namespace, self.server.account)


def eks_fleet_plan(context: CompileContext) -> StackPlan:
    place = place_plan(context.each_workload[0], spreads=any(hosts_per_replica(each) == 1 for each in context.each_workload))
    services = _services(context, place)
    pools = tuple(dict.fromkeys(pool for service in services for pool in service.pools))
    buckets = tuple(bucket for service in services for bucket in service.buckets)
    karpenter_pools = [pool for pool in pools if pool.provisioner == "karpenter"]
    groups = (placement_group_name(context.spec.name, pool) for pool in karpenter_pools if pool.adjacent)
    karpenter = KarpenterPlan(adjacent=tuple(groups)) if karpenter_pools else None
    extras = [with_node_image(context, pool) for pool in extra_pools(context, place)]
    releases = _releases(context, (*pools, *extras), karpenter, any(service.server.hosts > 1 for service in services))
    addons = eks_addons(*(["object-store-mount"] if buckets else []))
    everything = (system_pool(context, place), *pools, *extras)
    fabric = next((pool.fabric for pool in pools if pool.nics), pools[0].fabric)
    network = existing_network(context.place.network, fabric) or eks_network(place, fabric)
    return StackPlan(
        name=context.spec.name,
        kind=BlueprintKind.INFERENCE_FLEET,
        place=place,
        network=network,
        key=KeyPlan(),
        tags=context.tags,
        buckets=buckets,
        identities=tuple(service.identity for service in services),
        cluster=cluster_plan(context),
        pools=everything,
        addons=addons,
        namespaces=namespaces(_security_levels(services), releases),
        releases=releases,
        manifests=(
            *(manifest for pool in karpenter_pools for manifest in karpenter_pool(pool, context.spec.name, context.tags)),
            *_objects(services, network),
            *_gateway(context, services, network, everything[0].zones),
            default_storage_class(context.spec.name),
            metrics_priority(),
        ),
        expected_fabric=_expected_fabric(services),
        pins=version_pins(releases, _images(everything, services), addons),
        expires_on=context.expires_on,
        karpenter=karpenter,
    )


def _images(pools: Iterable[PoolPlan], services: Iterable[Service]) -> tuple[tuple[str, str], ...]:
    """Releases of the node images, and images of the servers."""
    by_provisioner = {name: tuple(pool for pool in pools if pool.provisioner == name) for name in ("managed", "karpenter")}
    karpenter = [(KARPENTER_IMAGE_PIN, karpenter_image(pool)) for pool in by_provisioner["karpenter"][:1]]
    servers = ((service.context.named("server"), service.server.image) for service in services)
    return (*node_images(by_provisioner["managed"]), *karpenter, *servers)


def _objects(services: Iterable[Service], network: NetworkPlan) -> Iterable[ManifestPlan]:
    """Objects of every server, once where workloads of a team share them, such as network policies of the namespace."""
    return {manifest.key: manifest for service in services for manifest in _serving_objects(service, network)}.values()


def _services(context: CompileContext, place: PlacePlan) -> tuple[Service, ...]:
    """The workloads of the fleet, whose pools have one provisioner. Several may run on the pool of one of them."""
    members: dict[str, list[CompileContext]] = {}
    for each in context.each_workload:
        members.setdefault(each.fit.pool_owner, []).append(each)
    shaped = {owner: _shaped_pools(some, place) for owner, some in members.items()}
    provisioner = _provisioner(context, [pool for pools in shaped.values() for pool in pools])
    made = {owner: tuple(_with_provisioner(members[owner], pool, provisioner) for pool in pools) for owner, pools in shaped.items()}
    found = []
    for each in context.each_workload:
        pools, buckets = made[each.fit.pool_owner], bucket_plans(each)
        found.append(Service(each, buckets, pools, _server(each, buckets, pools)))
    return tuple(found)


def _security_levels(services: tuple[Service, ...]) -> dict[str, str]:
    """Namespace of each team -> the pod security level that its servers need, the least strict of several."""
    levels: dict[str, str] = {}
    for service in services:
        name = service.context.namespace
        levels[name] = min(service.server.pod_security, levels.get(name, service.server.pod_security), key=SECURITY_LEVELS.index)
    return levels


def _expected_fabric(services: tuple[Service, ...]) -> FabricExpectation:
    wide = next((service for service in services if service.pools[0].nics), None)
    return fabric_expectation(wide.context.machine) if wide else FabricExpectation()


def _serving_objects(service: Service, network: NetworkPlan) -> Iterator[ManifestPlan]:
    """The model server with its network policies, weights volume and load balancer."""
    context, server, pools = service.context, service.server, service.pools
    allowed, namespace = client_ranges(context, network), context.namespace
    envoy = context.spec.blueprint.envoy
    clients = from_namespace(ENVOY_NAMESPACE, server.port) if envoy else from_blocks(allowed, server.port)
    entrance = [clients, from_namespace(server.metrics.namespace, *server.ports.values())]
    yield from access_objects(context, allow(namespace, "allow-entrance", ingress=entrance))
    if server.hosts > 1:
        yield allow_within(namespace)
    if service.buckets:
        yield from weights_objects(service.buckets[0], context)
    if server.claim:
        yield efa_claim(pools[0], namespace, server.claim)
    yield from path_limit_objects(server)
    yield from server_objects(server, leader_worker_set(server) if server.hosts > 1 else None)
    yield from serving_alerts(context, server)
    if not envoy:
        yield load_balancer(server, allowed, machine_subnet_refs(pools[0].zones), certificate(context))


def _gateway(
    context: CompileContext, services: tuple[Service, ...], network: NetworkPlan, zones: tuple[str, ...]
) -> Iterable[ManifestPlan]:
    """The gateway of all models. zones: of the system nodes, where its proxies run."""
    options = context.spec.blueprint.envoy
    if options is None:
        return ()
    entrance = gateway_entrance(client_ranges(context, network), control_subnet_refs(zones), certificate(context.each_workload[0]))
    routes = tuple(Route.of(service.context, service.server) for service in services)
    return gateway_objects(context.spec.name, options, routes, entrance)


def _shaped_pools(members: list[CompileContext], place: PlacePlan) -> list[PoolPlan]:
    """The sized pools; without EFA interfaces, and in every zone of the place, where a replica fits one machine. members: the workloads
    that run there, the owner of the pool first."""
    context, serves = members[0], tuple(name for each in members for name in each.serves)
    shaped = [with_node_image(context, pool) for pool in accelerator_pools(context, place, node_bounds(*members))]
    shaped = [
        replace(pool, serves=serves, labels=(*pool.labels, *sharing_labels(pool.sharing, pool.image))) if pool.sharing else pool
        for pool in shaped
    ]
    if hosts_per_replica(context) == 1:
        high, zones = max_pods(context.machine, (), prefixes=True), (place.zone, *place.further_zones)
        shaped = [replace(pool, fabric="none", adjacent=False, nics=(), devices="plugin", max_pods=high, zones=zones) for pool in shaped]
    return shaped


def _provisioner(context: CompileContext, pools: Sequence[PoolPlan]) -> str:
    """One provisioner for all pools. `auto` is Karpenter, except with images other than AL2023, EFA by DRA, reservation groups, or an
    existing cluster, which Karpenter does not support here, and shared accelerators, of which it counts whole ones
    (https://github.com/kubernetes-sigs/karpenter/issues/2140)."""
    requested = context.spec.blueprint.nodes.provisioner
    started = (image_family(p.image) == "al2023" and p.devices == "plugin" and not p.capacity.group_arn and not p.sharing for p in pools)
    supported = not existing_cluster(context) and all(started)
    return requested if requested != "auto" else "karpenter" if supported else "managed"


def _with_provisioner(members: list[CompileContext], pool: PoolPlan, provisioner: str) -> PoolPlan:
    """Adds disk for downloaded weights on machines without local NVMe. Pools of capacity blocks follow the block's schedule.
    members: as of `_shaped_pools`."""
    context, downloaded = members[0], [cache_gib(each) for each in members if not (pool.local_nvme or bucket_plans(each))]
    size_gib = IMAGE_GIB + replicas_per_node(context) * max(downloaded) if downloaded else 0
    disk = replace(pool.disk, size_gib=max(pool.disk.size_gib, size_gib))
    grown = replace(pool, disk=disk, provisioner=provisioner)
    if pool.capacity.mode == "capacity-block":
        there = pool.nodes_max if provisioner == "managed" else pool.nodes_start
        return replace(grown, nodes_min=0, nodes_start=there if has_started(pool.capacity, context) else 0, autoscaled=False)
    return replace(grown, autoscaled=provisioner == "managed" and pool.nodes_min < pool.nodes_max)


def _server(context: CompileContext, buckets: tuple[BucketPlan, ...], pools: Sequence[PoolPlan]) -> ModelServer:
    volume, model = (weights_volume(context), WEIGHTS_PATH) if buckets else hub_weights(context)
    after = [pool_key(pool) for pool in pools if pool.provisioner == "karpenter"] + ([weights_claim_key(context)] if buckets else [])
    server = model_server(context, buckets, pools[0], volume, model)
    ordered = sorted(pools, key=lambda pool: pool.preference)
    role, metrics = dict(pools[0].labels)[ROLE_LABEL], cluster_metrics(context.spec.blueprint.cluster)
    preferred = tuple(pool.name for pool in ordered)
    server = replace(server, after=(*server.after, *after), preferred_pools=preferred, role=role, metrics=metrics)
    server = with_neuron_settings(context, server) if context.machine.kind == "neuron" else server
    server = _with_efa(context, server, pools[0]) if pools[0].nics else server
    server = with_wake_signal(server) if context.spec.blueprint.envoy else server
    return with_path_limits(context, server)


def _with_efa(context: CompileContext, server: ModelServer, pool: PoolPlan) -> ModelServer:
    """Pods request every EFA interface of their machine; without a request they would use TCP without an error. The default server image
    does not contain EFA, AWS's image does."""
    requested = ((EFA_RESOURCE, str(pool.fabric_interfaces)),) if pool.devices == "plugin" else ()
    image = context.serve.run.image or SERVER_IMAGES["vllm-efa"]
    # Karpenter does not know a node's huge pages before it joins, so it starts no node for pods that request them.
    small = pool.provisioner == "karpenter"
    rows = [row for row in fabric_variables(pool.fabric) if row.variable in SERVER_VARIABLES]
    rows.extend(fabric_variables(pool.fabric, only=NO_HUGE_PAGES) if small else ())
    env = {row.variable: row.value for row in rows} | dict(server.env)
    pages = () if small else ((HUGE_PAGES, f"{HUGE_PAGES_MIB}Mi"),)
    claim = "" if requested else context.named(EFA_CLAIM)
    return replace(server, image=image, env=tuple(env.items()), devices=(*requested, *pages), claim=claim, pins_memory=True)


def _releases(context: CompileContext, pools: Sequence[PoolPlan], karpenter: KarpenterPlan | None, wide: bool) -> tuple[ReleasePlan, ...]:
    autoscaled = [pool for pool in pools if pool.autoscaled]
    return (
        monitoring(context.catalog, default_storage_class(context.spec.name)),
        *pod_log_releases(context),
        *device_releases(pools),
        keda(),
        *([envoy_gateway_release()] if context.spec.blueprint.envoy else []),
        *([leader_worker_set_release()] if wide else []),
        *(karpenter_releases(karpenter) if karpenter else ()),
        *([cluster_autoscaler(autoscaled, context.spec.name)] if autoscaled else []),
    )
