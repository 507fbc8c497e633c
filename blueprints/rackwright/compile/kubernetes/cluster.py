"""The cluster: API access, namespaces, required cloud APIs and version pins."""

from collections.abc import Mapping
from typing import Literal

from rackwright.clouds import profile, supports
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.operators.versions import KUBERNETES, NODE_RELEASES
from rackwright.spec.blueprint import InsideAccess, PrivateAccess
from rackwright.stackplan import AddonPlan, ClusterPlan, PoolPlan, ReleasePlan, VersionPins
from rackwright.stackplan.namespaces import OPERATOR_NAMESPACES

GKE_SERVICES = ("projects", "compute", "cluster", "identity", "keys", "object-store", "registry", "logs", "metrics")
"""Required cloud APIs. `projects` (Cloud Resource Manager) returns the project's number and roles; it is off in new projects."""
LUSTRE_SERVICES = ("private-services", "file-system")
"""Further cloud APIs of a file system on Google Cloud."""


def cluster_plan(context: CompileContext, gateway_api: bool = False) -> ClusterPlan:
    """The control plane; its API is private unless the spec allows address ranges."""
    blueprint = context.spec.blueprint
    access, prefixes = blueprint.api_access, profile(context.candidate.cloud).principals
    cidrs = access.cidrs if isinstance(access, PrivateAccess) else ()
    public = access == "public"
    admins = tuple(name for name in blueprint.admins if name.startswith(prefixes))
    return ClusterPlan(
        context.spec.name,
        KUBERNETES,
        private_api=not (cidrs or public),
        api_cidrs=cidrs,
        public_api=public,
        runner_inside=isinstance(access, InsideAccess),
        gateway_api=gateway_api,
        audit_logs=blueprint.safety.audit_logs,
        pod_logs=_has_pod_logs(context),
        admins=(*_roles_of_updates(context, admins), *admins),
        viewers=tuple(name for name in blueprint.viewers if name.startswith(prefixes)),
        creator_access=_creator_access(context),
    )


def _creator_access(context: CompileContext) -> Literal["eks", "entry", "none"]:
    if not supports(context.candidate.cloud, "access-entries"):
        return "none"
    return "eks" if context.running.creator_is_admin else "entry"


def _roles_of_updates(context: CompileContext, admins: tuple[str, ...]) -> tuple[str, ...]:
    """The role that the provider assumes, as an administrator beside those of the spec; empty where it has an entry without them."""
    role = context.place.role
    return (role,) if admins and role and role not in admins and _creator_access(context) == "entry" else ()


def _has_pod_logs(context: CompileContext) -> bool:
    """What the spec sets; without it, a running cluster keeps collecting them where it did so by default."""
    blueprint = context.spec.blueprint
    if "pod_logs" in blueprint.model_fields_set:
        return blueprint.pod_logs == "cloud"
    return context.running.has_pod_logs and profile(context.candidate.cloud).earlier_pod_logs


def namespaces(teams: Mapping[str, str], releases: tuple[ReleasePlan, ...]) -> tuple[tuple[str, str], ...]:
    """Namespaces of the releases and of teams; kube-system exists already. teams: namespace -> pod security level."""
    used = {release.namespace for release in releases}
    return (*teams.items(), *(row for row in OPERATOR_NAMESPACES.items() if row[0] in used))


def version_pins(
    releases: tuple[ReleasePlan, ...],
    images: tuple[tuple[str, str], ...] = (),
    addons: tuple[AddonPlan, ...] = (),
) -> VersionPins:
    """Versions that a decision records; add-ons without a version are part of the cluster's release."""
    named = tuple((a.name, a.version) for a in addons if a.version)
    return VersionPins(KUBERNETES, images, tuple((r.name, r.version) for r in releases), named)


def node_images(pools: tuple[PoolPlan, ...]) -> tuple[tuple[str, str], ...]:
    """Release of every EKS image; custom images are identified by their AMI ID."""
    return tuple(dict.fromkeys((pool.image, NODE_RELEASES[pool.image]) for pool in pools if not pool.image_id))
