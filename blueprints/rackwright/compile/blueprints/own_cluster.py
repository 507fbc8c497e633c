"""Stacks in an existing cluster on own servers: missing operators, node labels, RDMA networks and volumes of each blueprint."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.existing_cluster import with_stack_names, with_stack_references
from rackwright.compile.kubernetes.cluster import namespaces, version_pins
from rackwright.compile.kubernetes.own.networks import fabric_objects, network_operator
from rackwright.compile.kubernetes.own.nodes import existing_charts, node_labels, servers_of_fit
from rackwright.compile.kubernetes.own.rails import Rails
from rackwright.compile.kubernetes.own.tolerations import taint_tolerations, tolerating
from rackwright.compile.kubernetes.own.volumes import default_class, volume_objects
from rackwright.compile.nodes.fabric import fabric_expectation
from rackwright.compile.nodes.sharing import sharing_plan
from rackwright.compile.operators.devices import gpu_operator
from rackwright.compile.operators.helm_releases import SYSTEM_NODE_SELECTOR, metrics_priority, monitoring
from rackwright.compile.operators.queue_alerts import queue_alerts
from rackwright.sizing.blueprint_kind import blueprint_kind
from rackwright.spec.own_servers import RdmaFabric
from rackwright.stackplan import (
    BlueprintKind,
    ClusterPlan,
    FabricExpectation,
    KeyPlan,
    ManifestPlan,
    NetworkPlan,
    PlacePlan,
    PoolPlan,
    ReleasePlan,
    StackPlan,
)
from rackwright.stackplan.operators import FEATURE_DISCOVERY, NETWORK_OPERATOR, STACK_METRICS, MetricsEndpoint, installed_metrics


def own_stack(
    context: CompileContext,
    pool: PoolPlan,
    releases: tuple[ReleasePlan, ...],
    manifests: Iterable[ManifestPlan],
    team_level: str,
    images: tuple[tuple[str, str], ...] = (),
) -> StackPlan:
    """The stack of a blueprint. The cluster, its nodes and its network exist; operators of the inventory are not installed again."""
    servers = servers_of_fit(context)
    cluster = servers.inventory.cluster
    missing, present = missing_releases(context, releases)
    built = tuple(_after(plan, present) for plan in manifests)
    joined = len(servers.group.nodes) > 1 and context.candidate.nodes > 1
    pins = replace(version_pins(missing, images), kubernetes=cluster.kubernetes)
    return StackPlan(
        name=context.spec.name,
        kind=BlueprintKind(blueprint_kind(context.spec, context.candidate)),
        place=PlacePlan(context.candidate.cloud, "", "", account=cluster.context or ""),
        network=NetworkPlan("", (), nat=False, flow_logs=False, fabric=pool.fabric, existing_id=cluster.name),
        key=KeyPlan(serves=()),
        tags=context.tags,
        cluster=ClusterPlan(cluster.name, cluster.kubernetes, private_api=False, audit_logs=False, existing=cluster.name),
        pools=(pool,),
        namespaces=namespaces({context.namespace: team_level}, missing),
        releases=with_stack_references(missing, built, context.spec.name, {}),
        installed=tuple(sorted(present)),
        manifests=with_stack_names(built, context.spec.name, {}),
        expected_fabric=fabric_expectation(context.machine) if joined else FabricExpectation(),
        pins=pins,
        expires_on=context.expires_on,
    )


def own_operators(context: CompileContext, rails: Rails | None) -> tuple[ReleasePlan, ...]:
    """Monitoring, the GPU operator, and the network operator for servers with RDMA ports."""
    options = context.place.fabric or RdmaFabric()
    rdma = {"rdma": {"enabled": True, "useHostMofed": options.driver == "host"}} if rails else {}
    driver: dict[str, Any] = {"enabled": False} if options.gpu_driver == "host" else rdma
    network = (network_operator(rails),) if rails and not rails.exist else ()
    shared = sharing_plan(context)
    gpu = gpu_operator(rails is not None and options.gpu_driver == "operator", driver, (shared,) if shared else ())
    labelled = {"nfd": {"enabled": False}} if FEATURE_DISCOVERY in existing_charts(context) else {}
    found = (monitoring(context.catalog, default_class(context), queue_alerts()), replace(gpu, values=gpu.values | labelled), *network)
    taints = taint_tolerations(servers_of_fit(context).group)
    return tuple(tolerating(on_any_node(plan), taints) for plan in found)


def own_objects(context: CompileContext, rails: Rails | None) -> tuple[ManifestPlan, ...]:
    """Node labels, the priority of monitoring, RDMA networks and volumes."""
    taints, has_operator = taint_tolerations(servers_of_fit(context).group), NETWORK_OPERATOR in existing_charts(context)
    return (
        node_labels(context),
        metrics_priority(),
        *(fabric_objects(rails, context.namespace, taints, has_operator) if rails else ()),
        *volume_objects(context),
    )


def extra_tolerations(pool: PoolPlan) -> list[dict[str, str]]:
    """Tolerations of device plugins and drivers on servers with taints; empty without taints, which the charts' defaults cover."""
    return pool.device_tolerations if pool.taints else []


def missing_releases(context: CompileContext, releases: tuple[ReleasePlan, ...]) -> tuple[tuple[ReleasePlan, ...], frozenset[str]]:
    """(releases that the stack installs, names of those that the cluster has)."""
    present = frozenset(plan.name for plan in releases) & existing_charts(context)
    return tuple(_after(plan, present) for plan in releases if plan.name not in present), present


def own_metrics(context: CompileContext) -> MetricsEndpoint:
    """Prometheus of the cluster, else the one that the stack installs."""
    return (
        installed_metrics(each for each in servers_of_fit(context).inventory.installed if each.name in existing_charts(context))
        or STACK_METRICS
    )


def on_any_node(plan: ReleasePlan) -> ReleasePlan:
    """The release without the selector of system nodes, which an existing cluster does not have."""
    return replace(plan, values=_without_selector(plan.values))


def _without_selector(values: Any) -> Any:
    if isinstance(values, dict):
        return {key: _without_selector(value) for key, value in values.items() if value != SYSTEM_NODE_SELECTOR}
    return values


def _after(plan: Any, present: frozenset[str]) -> Any:
    """A release or object that does not wait for releases that the cluster has."""
    return replace(plan, after=tuple(key for key in plan.after if key not in present))
