"""TrainingCluster on own servers: operators, RDMA networks per rail, volumes and queues in an existing cluster. It contains no jobs."""

from dataclasses import replace

from rackwright.compile.blueprints.own_cluster import on_any_node, own_metrics, own_objects, own_operators, own_stack
from rackwright.compile.blueprints.training_cluster import team_objects
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.manifests import allow_metrics
from rackwright.compile.kubernetes.own.nodes import cpu_groups, own_pool, racks, servers_of_fit
from rackwright.compile.kubernetes.own.rails import Rails, rails_of
from rackwright.compile.operators.helm_releases import jobset, kueue
from rackwright.compile.operators.job_operators import further_kinds, job_operator_releases
from rackwright.compile.operators.preflight_gate import is_gated
from rackwright.compile.operators.queues import HOST_LABEL, QueueQuota, queues
from rackwright.compile.operators.system_queue import own_system_queue
from rackwright.stackplan import ManifestPlan, PoolPlan, StackPlan
from rackwright.stackplan.labels import RACK_LABEL


def own_training_plan(context: CompileContext) -> StackPlan:
    rails, pool = rails_of(context), own_pool(context)
    operators = (*own_operators(context, rails), on_any_node(jobset()), *(on_any_node(plan) for plan in job_operator_releases(context)))
    manifests = team_objects(
        context,
        (pool,),
        *own_objects(context, rails),
        *own_queues(context, pool, rails, is_gated(context, (pool,))),
        *own_system_queue(cpu_groups(context), context.place.cloud, (pool.resource,), context.namespace),
        allow_metrics(context.namespace, own_metrics(context)),
    )
    return own_stack(context, pool, (*operators, on_any_node(kueue(operators, kinds=further_kinds(context)))), manifests, pool.pod_security)


def own_queues(context: CompileContext, pool: PoolPlan, rails: Rails | None, gated: bool = False) -> tuple[ManifestPlan, ...]:
    """Queues of the servers. Topology: the network levels that the inventory names, else racks; then the host name."""
    servers = servers_of_fit(context)
    labels = servers.inventory.cluster.topology_labels or ((RACK_LABEL,) if racks(servers.group) else ())
    quota = replace(QueueQuota.of(context.machine, pool, context.place.cloud), devices=rails.node_resources if rails else ())
    return queues((pool,), quota, context.namespace, (*labels, HOST_LABEL) if rails else (), gated, context.running.queue_flavor)
