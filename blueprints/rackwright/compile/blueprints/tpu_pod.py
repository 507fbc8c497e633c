"""TpuPod on GKE: one node pool per slice, JobSet and Kueue."""

from dataclasses import replace

from rackwright.compile.blueprints.training_cluster import ACCOUNT, team_objects
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.cluster import GKE_SERVICES, cluster_plan, namespaces, version_pins
from rackwright.compile.kubernetes.gcp.storage_class import storage_classes
from rackwright.compile.network.address_plan import gke_network
from rackwright.compile.network.place import place_plan
from rackwright.compile.nodes.capacity import pool_bounds
from rackwright.compile.nodes.fabric import fabric_expectation
from rackwright.compile.nodes.pools import accelerator_pool, system_pool
from rackwright.compile.operators.addons import gke_addons
from rackwright.compile.operators.helm_releases import jobset, kueue
from rackwright.compile.operators.job_operators import further_kinds, job_operator_releases
from rackwright.compile.operators.queues import QueueQuota, queues
from rackwright.compile.operators.system_queue import system_queue
from rackwright.compile.storage.buckets import bucket_plans, grants
from rackwright.stackplan import BlueprintKind, IdentityPlan, KeyPlan, PlacePlan, PoolPlan, StackPlan


def tpu_plan(context: CompileContext) -> StackPlan:
    place = place_plan(context)
    system, slices = system_pool(context, place), _slices(context, place)
    buckets = bucket_plans(context)
    operators = (jobset(), *job_operator_releases(context))
    releases = (*operators, kueue(operators, kinds=further_kinds(context)))
    return StackPlan(
        name=context.spec.name,
        kind=BlueprintKind.TPU_POD,
        place=place,
        network=gke_network(place, "ici"),
        key=KeyPlan(),
        tags=context.tags,
        buckets=buckets,
        identities=(IdentityPlan("trainer", grants(buckets), context.namespace, ACCOUNT),),
        cluster=cluster_plan(context),
        pools=(system, *slices),
        addons=gke_addons(),
        namespaces=namespaces({context.namespace: slices[0].pod_security}, releases),
        releases=releases,
        manifests=team_objects(
            context,
            slices,
            *queues(slices, QueueQuota.of(context.machine, slices[0], place.cloud), context.namespace),
            *system_queue(context.catalog, place.cloud, system, (slices[0].resource,), context.namespace),
            *storage_classes(context.spec.name, slices),
        ),
        services=GKE_SERVICES,
        expected_fabric=fabric_expectation(context.machine),
        pins=version_pins(releases),
        expires_on=context.expires_on,
    )


def _slices(context: CompileContext, place: PlacePlan) -> tuple[PoolPlan, ...]:
    """Pools slice-0, slice-1 ..., each with all hosts of its slice."""
    count = max(1, context.candidate.slices)
    hosts, topology = context.candidate.nodes // count, context.candidate.topology
    rows = context.catalog.slices_by_machine.get(context.machine.name, ())
    shape = replace(
        accelerator_pool(context, place, "slice", pool_bounds(context, hosts)),
        topology=topology,
        multi_host=hosts > 1,
        workload_policy=hosts > 1 and any(row.workload_policy for row in rows if row.topology == topology),
        adjacent=hosts > 1,
    )
    return tuple(replace(shape, name=f"slice-{index}") for index in range(count))
