"""The cluster: who reaches it, its namespaces, which cloud APIs it needs, and every version that its stack pins."""

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.operators.helm_releases import NAMESPACES
from rackwright.compile.operators.versions import KUBERNETES, NODE_RELEASES
from rackwright.spec.blueprint import InsideAccess, PrivateAccess
from rackwright.stackplan import AddonPlan, ClusterPlan, PoolPlan, ReleasePlan, VersionPins

GKE_SERVICES = ("projects", "compute", "cluster", "identity", "keys", "object-store", "registry", "logs", "metrics")
"""Cloud APIs that must be on. `projects` (Cloud Resource Manager) answers for the project's number and roles; a new project has it off."""


def cluster_plan(context: CompileContext, gateway_api: bool = False) -> ClusterPlan:
    """Private unless the spec names the ranges that may reach the API."""
    access = context.spec.blueprint.api_access
    cidrs = access.cidrs if isinstance(access, PrivateAccess) else ()
    public = access == "public"
    return ClusterPlan(
        context.spec.name,
        KUBERNETES,
        private_api=not (cidrs or public),
        api_cidrs=cidrs,
        public_api=public,
        runner_inside=isinstance(access, InsideAccess),
        gateway_api=gateway_api,
        audit_logs=context.spec.blueprint.safety.audit_logs,
    )


def namespaces(context: CompileContext, releases: tuple[ReleasePlan, ...], team_level: str) -> tuple[tuple[str, str], ...]:
    """The team's, and those of the releases; kube-system exists already."""
    used = {release.namespace for release in releases}
    return ((context.namespace, team_level), *(row for row in NAMESPACES if row[0] in used))


def version_pins(
    releases: tuple[ReleasePlan, ...],
    images: tuple[tuple[str, str], ...] = (),
    addons: tuple[AddonPlan, ...] = (),
) -> VersionPins:
    """What the decision records; add-ons whose version the cluster carries have none to pin."""
    named = tuple((a.name, a.version) for a in addons if a.version)
    return VersionPins(KUBERNETES, images, tuple((r.name, r.version) for r in releases), named)


def node_images(pools: tuple[PoolPlan, ...]) -> tuple[tuple[str, str], ...]:
    """Release of every image that EKS itself keeps; an image of one's own is its id."""
    return tuple(dict.fromkeys((pool.image, NODE_RELEASES[pool.image]) for pool in pools if not pool.image_id))
