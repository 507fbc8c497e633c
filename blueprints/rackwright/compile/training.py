"""TrainingCluster on EKS with EFA: network, cluster, one pool in one zone, Lustre, operators and queues. Jobs stay outside."""

from rackwright.compile.addons import eks_addons
from rackwright.compile.draft import Draft
from rackwright.compile.fabric import expectation
from rackwright.compile.manifests import allow_basics, allow_metrics, allow_within, default_deny, run_secrets, service_account
from rackwright.compile.network import eks_network, existing_network
from rackwright.compile.place import place_want
from rackwright.compile.pools import SYSTEM_IMAGES, accelerator_pool, system_pool
from rackwright.compile.queues import Quota, aws_levels, queues
from rackwright.compile.releases import NAMESPACES, efa_plugin, jobset, kueue, monitoring, nvidia_plugin
from rackwright.compile.storage import buckets, grants, lustre
from rackwright.compile.storage_objects import lustre_volume
from rackwright.compile.versions import KUBERNETES, NODE_RELEASES
from rackwright.compile.wants import (
    AddonWant,
    ClusterWant,
    IdentityWant,
    KeyWant,
    Kind,
    ManifestWant,
    PoolWant,
    ReleaseWant,
    StackPlan,
    VersionPins,
)
from rackwright.spec.blueprint import InsideAccess, PrivateAccess
from rackwright.units import GIB

ACCOUNT = "trainer"


def training_plan(draft: Draft) -> StackPlan:
    place = place_want(draft)
    pool = accelerator_pool(draft, place)
    wanted = buckets(draft)
    file_system = lustre(draft, place.zone, wanted)
    releases = _releases(pool)
    addons = eks_addons(file_system is not None)
    volumes = lustre_volume(file_system, f"{draft.spec.name}-lustre", draft.namespace) if file_system else ()
    return StackPlan(
        name=draft.spec.name,
        kind=Kind.TRAINING_CLUSTER,
        place=place,
        network=existing_network(draft.place.network, pool.fabric) or eks_network(place, pool.fabric),
        key=KeyWant(),
        tags=draft.tags,
        buckets=wanted,
        lustre=file_system,
        identities=(IdentityWant("trainer", grants(wanted), draft.namespace, ACCOUNT),),
        cluster=cluster_want(draft),
        pools=(system_pool(place), pool),
        addons=addons,
        namespaces=namespaces(draft, releases, "privileged" if pool.nics else "baseline"),
        releases=releases,
        manifests=(*team_objects(draft), *_queues(draft, pool), *volumes, allow_metrics(draft.namespace)),
        expected_fabric=expectation(draft.machine),
        pins=pins(releases, _node_images(pool), addons),
        expires_on=draft.expires_on,
    )


def cluster_want(draft: Draft, gateway_api: bool = False) -> ClusterWant:
    """Private unless the spec names the ranges that may reach the API."""
    access = draft.spec.blueprint.api_access
    cidrs = access.cidrs if isinstance(access, PrivateAccess) else ()
    public = access == "public"
    return ClusterWant(
        draft.spec.name,
        KUBERNETES,
        private_api=not (cidrs or public),
        api_cidrs=cidrs,
        public_api=public,
        runner_inside=isinstance(access, InsideAccess),
        gateway_api=gateway_api,
        audit_logs=draft.spec.blueprint.safety.audit_logs,
    )


def namespaces(draft: Draft, releases: tuple[ReleaseWant, ...], team_level: str) -> tuple[tuple[str, str], ...]:
    """The team's, and those of the releases; kube-system exists already."""
    used = {release.namespace for release in releases}
    return ((draft.namespace, team_level), *(row for row in NAMESPACES if row[0] in used))


def team_objects(draft: Draft) -> tuple[ManifestWant, ...]:
    """Account, closed network but for what jobs need, and the secrets the spec names."""
    namespace = draft.namespace
    policies = (default_deny(namespace), allow_basics(namespace, draft.candidate.cloud), allow_within(namespace))
    return (service_account(namespace, ACCOUNT), *policies, *run_secrets(draft.spec.workload.run, namespace))


def pins(
    releases: tuple[ReleaseWant, ...],
    images: tuple[tuple[str, str], ...] = (),
    addons: tuple[AddonWant, ...] = (),
) -> VersionPins:
    """What the decision records; add-ons whose version the cluster carries have none to pin."""
    named = tuple((a.name, a.version) for a in addons if a.version)
    return VersionPins(KUBERNETES, images, tuple((r.name, r.version) for r in releases), named)


def _node_images(pool: PoolWant) -> tuple[tuple[str, str], ...]:
    return tuple((image, NODE_RELEASES[image]) for image in (SYSTEM_IMAGES["aws"], pool.image))


def _releases(pool: PoolWant) -> tuple[ReleaseWant, ...]:
    first = (monitoring(), *([efa_plugin(pool.machine)] if pool.nics else []), nvidia_plugin(), jobset())
    return (*first, kueue(after=tuple(r.name for r in first)))


def _queues(draft: Draft, pool: PoolWant) -> tuple[ManifestWant, ...]:
    machine = draft.machine
    fabric = (machine.efa_interfaces or 0) if pool.nics else 0
    quota = Quota(machine.vcpus or 0, (machine.memory_bytes or 0) // GIB, fabric)
    return queues(pool, 1, quota, draft.namespace, aws_levels(machine.name) if fabric else ())
