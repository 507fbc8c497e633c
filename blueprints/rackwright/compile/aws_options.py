"""What every stack on AWS takes from the spec, whatever its blueprint: roles, keys and clusters that exist, and the switches of safety."""

from dataclasses import replace

from rackwright.clouds import AWS
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.existing_cluster import as_tenant_stack
from rackwright.compile.network.address_plan import existing
from rackwright.compile.network.addresses import addresses_needed, laid_out, widened
from rackwright.spec.blueprint import ExistingCluster
from rackwright.spec.infra import Roles
from rackwright.stackplan import ClusterPlan, Existing, IdentityPlan, KeyPlan, ManifestPlan, NetworkPlan, PlacePlan, StackPlan

NO_ROLES = Roles()


def apply_aws_options(context: CompileContext, plan: StackPlan) -> StackPlan:
    """`plan` of a path, with what all paths on AWS share; on another cloud as it is."""
    if plan.place.cloud != AWS.name:
        return plan
    dressed = _dressed(context, plan)
    return as_tenant_stack(dressed) if existing_cluster(context) and plan.cluster else dressed


def _dressed(context: CompileContext, plan: StackPlan) -> StackPlan:
    return replace(
        plan,
        place=_place(context, plan.place),
        network=_network(context, plan),
        key=_key(context, plan.key),
        identities=tuple(_identity(context, want) for want in plan.identities),
        cluster=_cluster(context, plan.cluster) if plan.cluster else None,
        manifests=plan.manifests if context.spec.blueprint.safety.network_policies else _without(plan.manifests, "NetworkPolicy"),
        protected=context.spec.blueprint.safety.deletion_protection,
    )


def existing_cluster(context: CompileContext) -> Existing:
    """Name of the cluster that is used in place of a new one; the empty text for a new one."""
    chosen = context.spec.blueprint.cluster
    return "" if isinstance(chosen, str) else existing(chosen.name if isinstance(chosen, ExistingCluster) else chosen)


def _place(context: CompileContext, place: PlacePlan) -> PlacePlan:
    return replace(place, role_arn=context.place.role or "", boundary_arn=context.place.permissions_boundary or "")


def _network(context: CompileContext, plan: StackPlan) -> NetworkPlan:
    """A network that exists has its own addresses, logs and endpoints, which are left alone."""
    safety, network, cidr = context.spec.blueprint.safety, plan.network, context.place.network.cidr
    if network.existing_id:
        return network
    return replace(
        laid_out(network, cidr) if cidr else widened(network, addresses_needed(plan)),
        flow_logs=network.flow_logs and safety.flow_logs,
        private_endpoints=network.private_endpoints if safety.private_endpoints else (),
    )


def _key(context: CompileContext, key: KeyPlan) -> KeyPlan:
    return replace(key, existing_arn=existing(context.place.key))


def _identity(context: CompileContext, plan: IdentityPlan) -> IdentityPlan:
    """A role of one's own is the workload's; operators have theirs."""
    workloads = plan.namespace in ("", context.namespace)
    return replace(plan, existing_arn=existing((context.place.roles or NO_ROLES).workload)) if workloads else plan


def _cluster(context: CompileContext, plan: ClusterPlan) -> ClusterPlan:
    roles = context.place.roles or NO_ROLES
    return replace(
        plan,
        existing=existing_cluster(context),
        control_role_arn=existing(roles.cluster),
        node_role_arn=existing(roles.nodes),
    )


def _without(manifests: tuple[ManifestPlan, ...], kind: str) -> tuple[ManifestPlan, ...]:
    """All of a kind left out, and waited for by nobody. Of policies all go: one that allows something denies the rest to its pods."""
    gone = {plan.key for plan in manifests if plan.body["kind"] == kind}
    return tuple(replace(plan, after=tuple(key for key in plan.after if key not in gone)) for plan in manifests if plan.key not in gone)
