"""Options of every stack on AWS: existing roles, keys and clusters, and the safety settings."""

from dataclasses import replace

from rackwright.clouds import supports
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.existing_cluster import as_tenant_stack
from rackwright.compile.network.address_plan import assign_ranges, existing_reference, widen_machine_subnet
from rackwright.spec.blueprint import ExistingCluster
from rackwright.spec.infra import Roles
from rackwright.stackplan import ClusterPlan, Existing, IdentityPlan, KeyPlan, ManifestPlan, NetworkPlan, PlacePlan, StackPlan
from rackwright.stackplan.addresses import addresses_needed

NO_ROLES = Roles()


def apply_aws_options(context: CompileContext, plan: StackPlan) -> StackPlan:
    """`plan` with the options of the spec; unchanged on other clouds."""
    if not supports(plan.place.cloud, "blueprint.safety"):
        return plan
    plan = _with_spec_options(context, plan)
    return as_tenant_stack(plan) if existing_cluster(context) and plan.cluster else plan


def _with_spec_options(context: CompileContext, plan: StackPlan) -> StackPlan:
    return replace(
        plan,
        place=_place(context, plan.place),
        network=_network(context, plan),
        key=_key(context, plan.key),
        identities=tuple(_identity(context, identity) for identity in plan.identities),
        cluster=_cluster(context, plan.cluster) if plan.cluster else None,
        manifests=plan.manifests if context.spec.blueprint.safety.network_policies else _without(plan.manifests, "NetworkPolicy"),
        protected=context.spec.blueprint.safety.deletion_protection,
    )


def existing_cluster(context: CompileContext) -> Existing:
    """Name of the existing cluster to use; empty for a new cluster."""
    chosen = context.spec.blueprint.cluster
    return "" if isinstance(chosen, str) else existing_reference(chosen.name if isinstance(chosen, ExistingCluster) else chosen)


def _place(context: CompileContext, place: PlacePlan) -> PlacePlan:
    return replace(place, role_arn=context.place.role or "", boundary_arn=context.place.permissions_boundary or "")


def _network(context: CompileContext, plan: StackPlan) -> NetworkPlan:
    """An existing network keeps its addresses, flow logs and endpoints."""
    safety, network, cidr = context.spec.blueprint.safety, plan.network, context.place.network.cidr
    if network.existing_id:
        return network
    return replace(
        assign_ranges(network, cidr) if cidr else widen_machine_subnet(network, addresses_needed(plan)),
        flow_logs=network.flow_logs and safety.flow_logs,
        private_endpoints=network.private_endpoints if safety.private_endpoints else (),
    )


def _key(context: CompileContext, key: KeyPlan) -> KeyPlan:
    return replace(key, existing_arn=existing_reference(context.place.key))


def _identity(context: CompileContext, plan: IdentityPlan) -> IdentityPlan:
    """The existing workload role applies to the workload's identities, not to those of operators."""
    workloads = plan.namespace in ("", context.namespace)
    return replace(plan, existing_arn=existing_reference((context.place.roles or NO_ROLES).workload)) if workloads else plan


def _cluster(context: CompileContext, plan: ClusterPlan) -> ClusterPlan:
    roles = context.place.roles or NO_ROLES
    return replace(
        plan,
        existing=existing_cluster(context),
        control_role_arn=existing_reference(roles.cluster),
        node_role_arn=existing_reference(roles.nodes),
    )


def _without(manifests: tuple[ManifestPlan, ...], kind: str) -> tuple[ManifestPlan, ...]:
    """Removes all objects of a kind and the dependencies on them. A single allow policy would deny all other traffic of its pods."""
    gone = {plan.key for plan in manifests if plan.body["kind"] == kind}
    return tuple(replace(plan, after=tuple(key for key in plan.after if key not in gone)) for plan in manifests if plan.key not in gone)
