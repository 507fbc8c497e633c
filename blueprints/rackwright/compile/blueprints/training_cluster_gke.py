"""TrainingCluster on GKE with TCPX, TCPXO or RoCE: networks, cluster, a GPU pool, NCCL's plugin, and queues. It contains no jobs."""

from dataclasses import replace

from rackwright.catalog.rows import FabricLayout
from rackwright.compile.blueprints.training_cluster import ACCOUNT, team_objects
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.cluster import GKE_SERVICES, LUSTRE_SERVICES, cluster_plan, namespaces, version_pins
from rackwright.compile.kubernetes.gcp.compute_class import compute_class, in_compute_class
from rackwright.compile.kubernetes.gcp.fabric import fabric_objects, fabric_rights
from rackwright.compile.kubernetes.gcp.storage_class import storage_classes
from rackwright.compile.kubernetes.tenancy import NO_RIGHTS
from rackwright.compile.network.address_plan import gke_network
from rackwright.compile.network.place import place_plan
from rackwright.compile.nodes.fabric import fabric_expectation
from rackwright.compile.nodes.pools import accelerator_pools, extra_pools, system_pool
from rackwright.compile.operators.addons import gke_addons
from rackwright.compile.operators.helm_releases import jobset, kueue, metrics_priority, monitoring
from rackwright.compile.operators.job_operators import further_kinds, job_operator_releases
from rackwright.compile.operators.preflight_gate import is_gated
from rackwright.compile.operators.queue_alerts import queue_alerts
from rackwright.compile.operators.queues import HOST_LABEL, QueueQuota, extra_queues, queues
from rackwright.compile.operators.system_queue import system_queue
from rackwright.compile.operators.versions import FABRIC_IMAGES
from rackwright.compile.storage.buckets import bucket_plans, grants
from rackwright.compile.storage.lustre import lustre_plan, lustre_volume
from rackwright.stackplan import (
    BlueprintKind,
    IdentityPlan,
    KeyPlan,
    LustrePlan,
    ManifestPlan,
    PlacePlan,
    PoolPlan,
    ReleasePlan,
    StackPlan,
)
from rackwright.stackplan.labels import MANAGED_NETWORKS_LABEL, RDMA_DEVICE_CLASS, RDMA_RESOURCE


def gke_training_plan(context: CompileContext) -> StackPlan:
    place, buckets, layout = place_plan(context), bucket_plans(context), _layout(context)
    file_system = lustre_plan(context, place.zone, buckets)
    network = gke_network(place, context.machine.fabric, layout=layout, has_file_system=file_system is not None)
    pools = (system_pool(context, place), *_pools(context, place, layout))
    pool, storage = pools[1], storage_classes(context.spec.name, pools[1:])
    releases = _releases(context, storage[0], pool)
    return StackPlan(
        name=context.spec.name,
        kind=BlueprintKind.TRAINING_CLUSTER,
        place=place,
        network=network,
        key=KeyPlan(),
        tags=context.tags,
        buckets=buckets,
        lustre=file_system,
        identities=(IdentityPlan("trainer", grants(buckets), context.namespace, ACCOUNT),),
        cluster=replace(cluster_plan(context), multi_network=True),  # cannot be turned on when the run grows to several machines
        pools=pools,
        addons=gke_addons(*(["lustre"] if file_system else [])),
        namespaces=namespaces({context.namespace: pool.pod_security}, releases),
        releases=releases,
        manifests=team_objects(
            context,
            pools[1:],
            *_queues(context, pools, layout),
            *(fabric_objects(pool, layout, network.accelerator_networks, context.namespace) if layout else ()),
            *storage,
            *_volumes(context, file_system),
            metrics_priority(),
            rights=fabric_rights(layout.fabric, pool.accelerator_count) if layout else NO_RIGHTS,
        ),
        services=(*GKE_SERVICES, *(LUSTRE_SERVICES if file_system else ())),
        expected_fabric=fabric_expectation(context.machine),
        pins=version_pins(releases, tuple(FABRIC_IMAGES.items()) if layout else ()),
        expires_on=context.expires_on,
    )


def _volumes(context: CompileContext, file_system: LustrePlan | None) -> tuple[ManifestPlan, ...]:
    """The Kubernetes volume of the file system."""
    return lustre_volume(file_system, context.candidate.cloud, f"{context.spec.name}-lustre", context.namespace) if file_system else ()


def _layout(context: CompileContext) -> FabricLayout | None:
    """The interfaces of the machine's fabric; None for machines that communicate over TCP, and for a job on one machine."""
    return context.catalog.layout_by_machine.get(context.machine.name) if context.candidate.is_spread else None


def _pools(context: CompileContext, place: PlacePlan, layout: FabricLayout | None) -> tuple[PoolPlan, ...]:
    """The sized pool or those of a fallback, then the additional pools, which GKE resizes. Pods get the interfaces of networks that GKE
    makes by claims, those of the stack's networks by annotations."""
    found = in_compute_class(accelerator_pools(context, place), context.spec.name)
    extras = tuple(replace(extra, autoscaled=False) for extra in extra_pools(context, place))
    if layout and layout.managed_networks_from:
        found = tuple(replace(pool, devices="dra", labels=(*pool.labels, (MANAGED_NETWORKS_LABEL, "true"))) for pool in found)
    return (*found, *extras)


def _queues(context: CompileContext, pools: tuple[PoolPlan, ...], layout: FabricLayout | None) -> tuple[ManifestPlan, ...]:
    """Queues of the sized pools with the order of their fallback, of each additional pool, and of the system nodes. pools: of the stack."""
    system, *others = pools
    works = tuple(pool for pool in others if pool.does_the_work)
    extras = tuple(pool for pool in others if pool not in works)
    quota, cloud = _quota(context, works[0], layout), context.candidate.cloud
    return (
        *queues(works, quota, context.namespace, (HOST_LABEL,), is_gated(context, works), context.running.queue_flavor),
        *extra_queues(context.catalog, cloud, extras, context.namespace),
        *compute_class(works, context.spec.name),
        *system_queue(context.catalog, cloud, system, (works[0].resource,), context.namespace),
    )


def _releases(context: CompileContext, storage: ManifestPlan, pool: PoolPlan) -> tuple[ReleasePlan, ...]:
    operators = (monitoring(context.catalog, storage, queue_alerts()), jobset(), *job_operator_releases(context))
    claims = (RDMA_RESOURCE, RDMA_DEVICE_CLASS) if pool.devices == "dra" else None
    return (*operators, kueue(operators, claims, further_kinds(context)))


def _quota(context: CompileContext, pool: PoolPlan, layout: FabricLayout | None) -> QueueQuota:
    """Resources of one node for jobs, with its RDMA interfaces where pods claim them."""
    quota, claimed = QueueQuota.of(context.machine, pool, context.candidate.cloud), layout.interfaces if layout else None
    return replace(quota, devices=((RDMA_RESOURCE, claimed),)) if claimed and pool.devices == "dra" else quota
