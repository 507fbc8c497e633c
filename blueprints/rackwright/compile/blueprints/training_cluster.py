"""TrainingCluster on EKS with EFA: network, cluster, one pool in one zone, Lustre, operators and queues. It contains no jobs."""

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.existing_cluster import cluster_metrics
from rackwright.compile.kubernetes.aws.pod_logs import pod_log_releases
from rackwright.compile.kubernetes.aws.storage_class import default_storage_class
from rackwright.compile.kubernetes.cluster import cluster_plan, namespaces, node_images, version_pins
from rackwright.compile.kubernetes.manifests import (
    allow_basics,
    allow_metrics,
    allow_within,
    default_deny,
    run_secrets,
    service_account,
    team_access,
)
from rackwright.compile.kubernetes.tenancy import NO_RIGHTS, FabricRights, default_account, least_rights, team_quota
from rackwright.compile.network.address_plan import eks_network, existing_network
from rackwright.compile.network.place import place_plan
from rackwright.compile.nodes.fabric import fabric_expectation
from rackwright.compile.nodes.pools import accelerator_pools, extra_pools, system_pool, with_node_image
from rackwright.compile.operators.addons import eks_addons
from rackwright.compile.operators.cluster_autoscaler import cluster_autoscaler
from rackwright.compile.operators.devices import device_releases, efa_claims
from rackwright.compile.operators.helm_releases import jobset, kueue, metrics_priority, monitoring
from rackwright.compile.operators.job_operators import further_kinds, job_operator_objects, job_operator_releases, team_rules
from rackwright.compile.operators.preflight_gate import is_gated
from rackwright.compile.operators.queue_alerts import queue_alerts
from rackwright.compile.operators.queues import QueueQuota, aws_topology_levels, extra_queues, queues
from rackwright.compile.operators.system_queue import default_requests, system_queue
from rackwright.compile.storage.buckets import bucket_plans, grants
from rackwright.compile.storage.lustre import lustre_plan, lustre_volume, with_lustre_interfaces
from rackwright.stackplan import BlueprintKind, IdentityPlan, KeyPlan, ManifestPlan, PoolPlan, ReleasePlan, StackPlan
from rackwright.stackplan.labels import EFA_DEVICE_CLASS, EFA_RESOURCE
from rackwright.stackplan.operators import EFA_DRA_DRIVER

ACCOUNT = "trainer"


def training_plan(context: CompileContext) -> StackPlan:
    place, buckets = place_plan(context), bucket_plans(context)
    file_system = lustre_plan(context, place.zone, buckets)
    sized = tuple(with_node_image(context, pool) for pool in accelerator_pools(context, place))
    listed = tuple(with_node_image(context, pool) for pool in extra_pools(context, place))
    clients = with_lustre_interfaces(context.catalog, file_system, (*sized, *listed))
    pools, extras = clients[: len(sized)], clients[len(sized) :]
    pool, everything, machine = pools[0], (system_pool(context, place), *clients), context.machine
    releases = _releases(context, clients, has_fallback=len(sized) > 1)
    addons = eks_addons(*(["lustre"] if file_system else []))
    volumes = lustre_volume(file_system, place.cloud, f"{context.spec.name}-lustre", context.namespace) if file_system else ()
    return StackPlan(
        name=context.spec.name,
        kind=BlueprintKind.TRAINING_CLUSTER,
        place=place,
        network=existing_network(context.place.network, pool.fabric) or eks_network(place, pool.fabric),
        key=KeyPlan(),
        tags=context.tags,
        buckets=buckets,
        lustre=file_system,
        identities=(IdentityPlan("trainer", grants(buckets), context.namespace, ACCOUNT),),
        cluster=cluster_plan(context),
        pools=everything,
        addons=addons,
        namespaces=namespaces({context.namespace: pool.pod_security}, releases),
        releases=releases,
        manifests=team_objects(
            context,
            clients,
            *_queues(context, everything[0], pools, extras),
            *efa_claims((*pools, *extras), context.namespace),
            *volumes,
            allow_metrics(context.namespace, cluster_metrics(context.spec.blueprint.cluster)),
            *(default_storage_class(context.spec.name), metrics_priority()),
        ),
        expected_fabric=fabric_expectation(machine),
        pins=version_pins(releases, node_images(everything), addons),
        expires_on=context.expires_on,
    )


def _queues(
    context: CompileContext, system: PoolPlan, pools: tuple[PoolPlan, ...], extras: tuple[PoolPlan, ...]
) -> tuple[ManifestPlan, ...]:
    """Queues of the sized pools, of each extra pool, and of the system nodes."""
    machine, pool, cloud = context.machine, pools[0], context.candidate.cloud
    levels = aws_topology_levels(machine) if pool.nics else ()
    quota = QueueQuota.of(machine, pool, cloud)
    return (
        *queues(pools, quota, context.namespace, levels, is_gated(context, pools), context.running.queue_flavor),
        *extra_queues(context.catalog, cloud, extras, context.namespace),
        *system_queue(context.catalog, cloud, system, (pool.resource,), context.namespace),
    )


def team_objects(
    context: CompileContext, pools: tuple[PoolPlan, ...], *objects: ManifestPlan, rights: FabricRights = NO_RIGHTS
) -> tuple[ManifestPlan, ...]:
    """Service account, network policies that allow what jobs need, the secrets of the spec, then `objects`, then the limits of the team.

    pools: those of the jobs. rights: of pods that use their fabric.
    """
    namespace = context.namespace
    policies = (default_deny(namespace), allow_basics(namespace, context.candidate.cloud), allow_within(namespace))
    return (
        service_account(namespace, ACCOUNT),
        *policies,
        *run_secrets(context.spec.workload, namespace),
        *objects,
        *team_access(namespace, team_rules(context)),
        *job_operator_objects(context),
        default_requests(namespace),
        team_quota(namespace, pools),
        default_account(namespace),
        *least_rights(namespace, pools[0].pod_security, rights),
    )


def _releases(context: CompileContext, pools: tuple[PoolPlan, ...], has_fallback: bool) -> tuple[ReleasePlan, ...]:
    autoscaled = [pool for pool in pools if pool.autoscaled]
    operators = (
        monitoring(context.catalog, default_storage_class(context.spec.name), queue_alerts()),
        *pod_log_releases(context),
        *device_releases(pools),
        jobset(),
        *job_operator_releases(context),
        *([cluster_autoscaler(autoscaled, context.spec.name, has_fallback)] if autoscaled or has_fallback else []),
    )
    claims = (EFA_RESOURCE, EFA_DEVICE_CLASS) if any(release.name == EFA_DRA_DRIVER for release in operators) else None
    return (*operators, kueue(operators, claims, further_kinds(context)))
