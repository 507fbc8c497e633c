"""InferenceFleet on EKS: replicas on machines that Karpenter or node groups bring, behind an internal load balancer, scaled on the server's
own queue."""

from collections.abc import Sequence
from dataclasses import replace

from rackwright.compile.addons import eks_addons
from rackwright.compile.autoscaler import cluster_autoscaler
from rackwright.compile.aws import existing_cluster
from rackwright.compile.capacity import begun
from rackwright.compile.cluster import cluster_want, namespaces, node_images, pins
from rackwright.compile.devices import EFA, EFA_CLAIM, device_releases, efa_claim
from rackwright.compile.draft import Draft
from rackwright.compile.eks_serving import MOUNT, callers, entrance, weights_objects, weights_volume
from rackwright.compile.fabric import expectation, most_pods
from rackwright.compile.images import as_asked, family_of
from rackwright.compile.karpenter import adjacent_group, karpenter_image, karpenter_pool, karpenter_releases, pool_key
from rackwright.compile.lws import group, lws
from rackwright.compile.manifests import (
    allow,
    allow_basics,
    allow_within,
    default_deny,
    from_blocks,
    from_namespace,
    run_secrets,
    service_account,
)
from rackwright.compile.network import eks_network, existing_network
from rackwright.compile.neuron import on_neuron
from rackwright.compile.place import place_want
from rackwright.compile.pools import accelerator_pools, extra_pools, system_pool
from rackwright.compile.queues import HUGE_PAGES_MIB
from rackwright.compile.releases import keda, monitoring
from rackwright.compile.replica import ACCOUNT, IMAGE_GIB, cache_gib, hosts_of, hub_weights, node_bounds, replicas_per_node, server_of
from rackwright.compile.serving import PORT, WEIGHTS_PATH, Server, server_objects
from rackwright.compile.storage import buckets, grants
from rackwright.compile.versions import SERVER_IMAGES
from rackwright.compile.wants import (
    BucketWant,
    FabricExpectation,
    IdentityWant,
    KarpenterWant,
    KeyWant,
    Kind,
    ManifestWant,
    PlaceWant,
    PoolWant,
    ReleaseWant,
    StackPlan,
)

IMAGE_PIN = "karpenter"
"""Under this name the decision keeps the image of Karpenter's machines."""
FABRIC_ENV = {"FI_PROVIDER": "efa"}
"""Nothing but EFA; what else it needs its image has set."""
HUGE_PAGES = "hugepages-2Mi"
SMALL_PAGES = {"FI_EFA_USE_HUGE_PAGE": "0"}
"""EFA without huge pages: Karpenter knows none of a machine's before it has joined, and would start none for a pod that asks for some."""


def eks_fleet_plan(draft: Draft) -> StackPlan:
    place, wanted = place_want(draft), buckets(draft)
    pools = _pools(draft, place)
    made = [pool for pool in pools if pool.provisioner == "karpenter"]
    adjacent = tuple(adjacent_group(draft.spec.name, pool) for pool in made if pool.adjacent)
    karpenter = KarpenterWant(adjacent=adjacent) if made else None
    server = _server(draft, wanted, pools)
    extras = tuple(as_asked(draft, pool) for pool in extra_pools(draft, place))
    releases, addons = _releases(draft, (*pools, *extras), karpenter, server.hosts > 1), (*eks_addons(False), *([MOUNT] if wanted else []))
    everything = (system_pool(place), *pools, *extras)
    network = existing_network(draft.place.network, pools[0].fabric) or eks_network(place, pools[0].fabric)
    kept = tuple(pool for pool in everything if pool.provisioner == "managed")
    images = (*node_images(kept), *(((IMAGE_PIN, karpenter_image(made[0])),) if made else ()), ("server", server.image))
    return StackPlan(
        name=draft.spec.name,
        kind=Kind.INFERENCE_FLEET,
        place=place,
        network=network,
        key=KeyWant(),
        tags=draft.tags,
        buckets=wanted,
        identities=(IdentityWant("server", grants(wanted), draft.namespace, ACCOUNT),),
        cluster=cluster_want(draft),
        pools=everything,
        addons=addons,
        namespaces=namespaces(draft, releases, _level(server)),
        releases=releases,
        manifests=(
            *(manifest for pool in made for manifest in karpenter_pool(pool, draft.spec.name, draft.tags)),
            *_policies(draft, server, callers(draft, network)),
            *(weights_objects(wanted[0], draft.spec.name, draft.namespace, place.region) if wanted else ()),
            *((efa_claim(pools[0], draft.namespace),) if server.claim else ()),
            *server_objects(server, group(server) if server.hosts > 1 else None),
            entrance(server, callers(draft, network)),
        ),
        expected_fabric=expectation(draft.machine) if pools[0].nics else FabricExpectation(),
        pins=pins(releases, images, addons),
        expires_on=draft.expires_on,
        karpenter=karpenter,
    )


def _pools(draft: Draft, place: PlaceWant) -> tuple[PoolWant, ...]:
    """Replicas within a machine need no fabric, and leave its interfaces out."""
    pools = (as_asked(draft, pool) for pool in accelerator_pools(draft, place, node_bounds(draft)))
    shaped = [pool if hosts_of(draft) > 1 else _alone(draft, pool) for pool in pools]
    provisioner = _provisioner(draft, shaped)
    return tuple(_grown(draft, pool, provisioner) for pool in shaped)


def _provisioner(draft: Draft, pools: Sequence[PoolWant]) -> str:
    """One for all pools: Karpenter, unless asked otherwise, or asked for what it cannot start: other images than AL2023, interfaces that
    are claimed, reservations by group. On a cluster of somebody else's Karpenter is theirs."""
    asked = draft.spec.blueprint.nodes.provisioner
    started = (family_of(p.image) == "al2023" and p.devices == "plugin" and not p.capacity.group_arn for p in pools)
    able = not existing_cluster(draft) and all(started)
    return asked if asked != "auto" else "karpenter" if able else "managed"


def _alone(draft: Draft, pool: PoolWant) -> PoolWant:
    most = most_pods(draft.machine, (), prefixes=True)
    return replace(pool, fabric="none", adjacent=False, nics=(), devices="plugin", max_pods=most)


def _grown(draft: Draft, pool: PoolWant, provisioner: str) -> PoolWant:
    """A downloaded model needs room on the node's own disk where there is no local one. A block's machines come and go with its hours."""
    downloads = not pool.local_nvme and not buckets(draft)
    size_gib = IMAGE_GIB + replicas_per_node(draft) * cache_gib(draft) if downloads else 0
    disk = replace(pool.disk, size_gib=max(pool.disk.size_gib, size_gib))
    grown = replace(pool, disk=disk, provisioner=provisioner)
    if pool.capacity.mode == "capacity-block":
        there = pool.nodes_max if provisioner == "managed" else pool.nodes_start
        return replace(grown, nodes_min=0, nodes_start=there if begun(pool.capacity, draft) else 0, autoscaled=False)
    return replace(grown, autoscaled=provisioner == "managed" and pool.nodes_min < pool.nodes_max)


def _level(server: Server) -> str:
    """How far the namespace's pods may go: memory for RDMA is locked in a privileged one only, root is none of a restricted one's users."""
    return "privileged" if server.pins_memory else "baseline" if server.as_root else "restricted"


def _server(draft: Draft, wanted: tuple[BucketWant, ...], pools: Sequence[PoolWant]) -> Server:
    volume, model = (weights_volume(), WEIGHTS_PATH) if wanted else hub_weights(draft)
    after = tuple(pool_key(pool) for pool in pools if pool.provisioner == "karpenter")
    server = replace(server_of(draft, wanted, pools[0], volume, model), after=(*after, *(("storage.weights.claim",) if wanted else ())))
    server = on_neuron(draft, server) if draft.machine.kind == "neuron" else server
    return _on_fabric(draft, server, pools[0]) if pools[0].nics else server


def _on_fabric(draft: Draft, server: Server, pool: PoolWant) -> Server:
    """Pods ask for every EFA interface of their machine: one that did not would talk over TCP and say nothing, and an empty pool would grow
    machines without. The usual image has no EFA; AWS's own has."""
    asked = ((EFA, str(pool.fabric_interfaces)),) if pool.devices == "plugin" else ()
    image = draft.serve.run.image or SERVER_IMAGES["vllm-efa"]
    small = pool.provisioner == "karpenter"
    env = FABRIC_ENV | (SMALL_PAGES if small else {}) | dict(server.env)
    pages = () if small else ((HUGE_PAGES, f"{HUGE_PAGES_MIB}Mi"),)
    claim = "" if asked else EFA_CLAIM
    return replace(server, image=image, env=tuple(env.items()), devices=(*asked, *pages), claim=claim, pins_memory=True)


def _releases(draft: Draft, pools: Sequence[PoolWant], karpenter: KarpenterWant | None, wide: bool) -> tuple[ReleaseWant, ...]:
    moved = [pool for pool in pools if pool.autoscaled]
    return (
        monitoring(),
        *device_releases(pools),
        keda(),
        *([lws()] if wide else []),
        *(karpenter_releases(karpenter) if karpenter else ()),
        *([cluster_autoscaler(moved, draft.spec.name)] if moved else []),
    )


def _policies(draft: Draft, server: Server, cidrs: tuple[str, ...]) -> tuple[ManifestWant, ...]:
    """Account, secrets, and a network closed but for callers, the metrics reader, and the pods of one replica among themselves."""
    namespace = draft.namespace
    return (
        service_account(namespace, ACCOUNT),
        *run_secrets(draft.spec.workload.run, namespace),
        default_deny(namespace),
        allow_basics(namespace, draft.candidate.cloud),
        allow(namespace, "allow-entrance", ingress=[from_blocks(cidrs, PORT), from_namespace("monitoring", PORT)]),
        *([allow_within(namespace)] if server.hosts > 1 else []),
    )
