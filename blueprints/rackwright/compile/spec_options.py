"""Options of the spec for existing roles, keys and clusters, and for safety, on clouds that support them."""

from dataclasses import replace

from rackwright.clouds import profile, supports
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.existing_cluster import as_tenant_stack
from rackwright.compile.network.address_plan import (
    assign_gke_ranges,
    assign_ranges,
    existing_gke_network,
    existing_reference,
    widen_machine_subnet,
)
from rackwright.spec.blueprint import ExistingCluster
from rackwright.spec.infra import Roles
from rackwright.stackplan import Existing, ManifestPlan, NetworkPlan, StackPlan, ref
from rackwright.stackplan.addresses import addresses_needed
from rackwright.stackplan.labels import ACCOUNT_ANNOTATION


def apply_spec_options(context: CompileContext, plan: StackPlan) -> StackPlan:
    """`plan` with the options of the spec; unchanged on clouds without them."""
    if profile(plan.place.cloud).is_owned or not supports(plan.place.cloud, "network.existing"):
        return plan
    place, safety, roles = context.place, context.spec.blueprint.safety, context.place.roles or Roles()
    teams = {each.namespace for each in context.each_workload}
    manifests = plan.manifests if safety.network_policies else _without(plan.manifests, "NetworkPolicy")
    if roles.workload and profile(plan.place.cloud).service_account:
        manifests = tuple(_acting_as(manifest, plan, teams) for manifest in manifests)
    plan = replace(
        plan,
        place=replace(plan.place, role_arn=place.role or "", boundary_arn=place.permissions_boundary or ""),
        network=_network(context, plan),
        key=replace(plan.key, existing_arn=existing_reference(place.key)),
        # The existing workload role applies to the workload's identities, not to those of operators.
        identities=tuple(
            replace(i, existing_arn=existing_reference(roles.workload)) if i.namespace in ("", *teams) else i for i in plan.identities
        ),
        cluster=replace(
            plan.cluster,
            existing=existing_cluster(context),
            location=_location(context),
            control_role_arn=existing_reference(roles.cluster),
            node_role_arn=existing_reference(roles.nodes),
        )
        if plan.cluster
        else None,
        manifests=manifests,
        protected=safety.deletion_protection,
    )
    return as_tenant_stack(plan) if existing_cluster(context) and plan.cluster else plan


def existing_cluster(context: CompileContext) -> Existing:
    """Name of the existing cluster to use; empty for a new cluster."""
    chosen = context.spec.blueprint.cluster
    return "" if isinstance(chosen, str) else existing_reference(chosen.name if isinstance(chosen, ExistingCluster) else chosen)


def _location(context: CompileContext) -> str:
    """Location of an existing cluster that the spec gives."""
    chosen = context.spec.blueprint.cluster
    return chosen.location or "" if isinstance(chosen, ExistingCluster) else ""


def _network(context: CompileContext, plan: StackPlan) -> NetworkPlan:
    """An existing network keeps its addresses, flow logs and endpoints."""
    safety, network, cidr = context.spec.blueprint.safety, plan.network, context.place.network.cidr
    if profile(plan.place.cloud).has_regional_subnets:
        network = existing_gke_network(network, context.place.network, plan.place)
    if network.existing_id:
        return network
    return replace(
        _in_range(plan, cidr) if cidr else widen_machine_subnet(network, addresses_needed(plan)),
        flow_logs=network.flow_logs and safety.flow_logs,
        private_endpoints=network.private_endpoints if safety.private_endpoints else (),
    )


def _acting_as(manifest: ManifestPlan, plan: StackPlan, teams: set[str]) -> ManifestPlan:
    """The Kubernetes service account of a workload, whose pods act as the existing service account of the spec
    (https://cloud.google.com/kubernetes-engine/docs/how-to/workload-identity)."""
    meta = manifest.body["metadata"]
    owners = [each for each in plan.identities if each.namespace in teams and each.service_account == meta["name"]]
    if manifest.body["kind"] != "ServiceAccount" or meta.get("namespace") not in teams or not owners:
        return manifest
    annotations = meta.get("annotations", {}) | {ACCOUNT_ANNOTATION: ref(f"identity.{owners[0].key}.account")}
    return replace(manifest, body=manifest.body | {"metadata": meta | {"annotations": annotations}})


def _in_range(plan: StackPlan, cidr: str) -> NetworkPlan:
    assign = assign_gke_ranges if profile(plan.place.cloud).has_regional_subnets else assign_ranges
    return assign(plan.network, cidr)


def _without(manifests: tuple[ManifestPlan, ...], kind: str) -> tuple[ManifestPlan, ...]:
    """Removes all objects of a kind and the dependencies on them. A single allow policy would deny all other traffic of its pods."""
    gone = {plan.key for plan in manifests if plan.body["kind"] == kind}
    return tuple(replace(plan, after=tuple(key for key in plan.after if key not in gone)) for plan in manifests if plan.key not in gone)
