"""What every stack on AWS takes from the spec, whatever its blueprint: roles, keys and clusters that exist, and the switches of safety."""

from dataclasses import replace

from rackwright.compile.addresses import laid_out, needed, widened
from rackwright.compile.draft import Draft
from rackwright.compile.guest import guest
from rackwright.compile.network import existing
from rackwright.compile.wants import (
    ClusterWant,
    Existing,
    IdentityWant,
    KeyWant,
    ManifestWant,
    NetworkWant,
    PlaceWant,
    StackPlan,
)
from rackwright.spec.blueprint import ExistingCluster
from rackwright.spec.infra import Roles

NO_ROLES = Roles()


def on_aws(draft: Draft, plan: StackPlan) -> StackPlan:
    """`plan` of a path, with what all paths on AWS share; on another cloud as it is."""
    if plan.place.cloud != "aws":
        return plan
    dressed = _dressed(draft, plan)
    return guest(dressed) if existing_cluster(draft) and plan.cluster else dressed


def _dressed(draft: Draft, plan: StackPlan) -> StackPlan:
    return replace(
        plan,
        place=_place(draft, plan.place),
        network=_network(draft, plan),
        key=_key(draft, plan.key),
        identities=tuple(_identity(draft, want) for want in plan.identities),
        cluster=_cluster(draft, plan.cluster) if plan.cluster else None,
        manifests=plan.manifests if draft.spec.blueprint.safety.network_policies else _without(plan.manifests, "NetworkPolicy"),
        protected=draft.spec.blueprint.safety.deletion_protection,
    )


def existing_cluster(draft: Draft) -> Existing:
    """Name of the cluster that is used in place of a new one; the empty text for a new one."""
    chosen = draft.spec.blueprint.cluster
    return "" if isinstance(chosen, str) else existing(chosen.name if isinstance(chosen, ExistingCluster) else chosen)


def _place(draft: Draft, place: PlaceWant) -> PlaceWant:
    return replace(place, role_arn=draft.place.role or "", boundary_arn=draft.place.permissions_boundary or "")


def _network(draft: Draft, plan: StackPlan) -> NetworkWant:
    """A network that exists has its own addresses, logs and endpoints, which are left alone."""
    safety, network, cidr = draft.spec.blueprint.safety, plan.network, draft.place.network.cidr
    if network.existing_id:
        return network
    return replace(
        laid_out(network, cidr) if cidr else widened(network, needed(plan)),
        flow_logs=network.flow_logs and safety.flow_logs,
        private_endpoints=network.private_endpoints if safety.private_endpoints else (),
    )


def _key(draft: Draft, key: KeyWant) -> KeyWant:
    return replace(key, existing_arn=existing(draft.place.key))


def _identity(draft: Draft, want: IdentityWant) -> IdentityWant:
    """A role of one's own is the workload's; operators have theirs."""
    workloads = want.namespace in ("", draft.namespace)
    return replace(want, existing_arn=existing((draft.place.roles or NO_ROLES).workload)) if workloads else want


def _cluster(draft: Draft, want: ClusterWant) -> ClusterWant:
    roles = draft.place.roles or NO_ROLES
    return replace(
        want,
        existing=existing_cluster(draft),
        control_role_arn=existing(roles.cluster),
        node_role_arn=existing(roles.nodes),
    )


def _without(manifests: tuple[ManifestWant, ...], kind: str) -> tuple[ManifestWant, ...]:
    """All of a kind left out, and waited for by nobody. Of policies all go: one that allows something denies the rest to its pods."""
    gone = {want.key for want in manifests if want.body["kind"] == kind}
    return tuple(replace(want, after=tuple(key for key in want.after if key not in gone)) for want in manifests if want.key not in gone)
