"""TpuPod on GKE: one node pool per slice, whole slices only; JobSet and Kueue place jobs on them."""

from dataclasses import replace

from rackwright.compile.blueprints.training_cluster import ACCOUNT, team_objects
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.cluster import GKE_SERVICES, cluster_plan, namespaces, pins
from rackwright.compile.network.address_plan import gke_network
from rackwright.compile.network.place import place_plan
from rackwright.compile.nodes.capacity import bounds
from rackwright.compile.nodes.fabric import expectation
from rackwright.compile.nodes.pools import accelerator_pool, system_pool
from rackwright.compile.operators.addons import gke_addons
from rackwright.compile.operators.helm_releases import jobset, kueue
from rackwright.compile.operators.queues import QueueQuota, queues
from rackwright.compile.storage.buckets import buckets, grants
from rackwright.stackplan import BlueprintKind, IdentityPlan, KeyPlan, PlacePlan, PoolPlan, ReleasePlan, StackPlan
from rackwright.units import GIB


def tpu_plan(context: CompileContext) -> StackPlan:
    place = place_plan(context)
    slices = _slices(context, place)
    wanted = buckets(context)
    releases = _releases()
    quota = QueueQuota(context.machine.vcpus or 0, (context.machine.memory_bytes or 0) // GIB)
    return StackPlan(
        name=context.spec.name,
        kind=BlueprintKind.TPU_POD,
        place=place,
        network=gke_network(place, "ici"),
        key=KeyPlan(),
        tags=context.tags,
        buckets=wanted,
        identities=(IdentityPlan("trainer", grants(wanted), context.namespace, ACCOUNT),),
        cluster=cluster_plan(context),
        pools=(system_pool(context, place), *slices),
        addons=gke_addons(),
        namespaces=namespaces(context, releases, "privileged"),  # libtpu pins more memory than a pod may without SYS_RESOURCE
        releases=releases,
        manifests=(*team_objects(context), *queues(slices, quota, context.namespace)),
        services=GKE_SERVICES,
        expected_fabric=expectation(context.machine),
        pins=pins(releases),
        expires_on=context.expires_on,
    )


def _slices(context: CompileContext, place: PlacePlan) -> tuple[PoolPlan, ...]:
    """Pools `slice-0`, `slice-1` ...: all hosts of a slice or none."""
    count = max(1, context.candidate.slices)
    hosts = context.candidate.nodes // count
    shape = replace(
        accelerator_pool(context, place, "slice", bounds(context, hosts)),
        topology=context.candidate.topology,
        multi_host=hosts > 1,
        adjacent=hosts > 1,
    )
    return tuple(replace(shape, name=f"slice-{index}") for index in range(count))


def _releases() -> tuple[ReleasePlan, ...]:
    return (jobset(), kueue((jobset(),)))
