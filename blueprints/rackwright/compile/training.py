"""TrainingCluster on EKS with EFA: network, cluster, one pool in one zone, Lustre, operators and queues. Jobs stay outside."""

from rackwright.compile.addons import eks_addons
from rackwright.compile.draft import Draft
from rackwright.compile.fabric import expectation
from rackwright.compile.manifests import allow_basics, allow_within, default_deny, service_account
from rackwright.compile.network import eks_network
from rackwright.compile.place import place_want
from rackwright.compile.pools import accelerator_pool, system_pool
from rackwright.compile.queues import AWS_LEVELS, Quota, queues
from rackwright.compile.releases import NAMESPACES, efa_plugin, jobset, kueue, monitoring, nvidia_plugin
from rackwright.compile.storage import GIB, buckets, grants, lustre
from rackwright.compile.storage_objects import lustre_volume
from rackwright.compile.versions import EKS_VERSION
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
from rackwright.spec.infra import PrivateAccess

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
        network=eks_network(place, pool.fabric),
        key=KeyWant(),
        tags=draft.tags,
        buckets=wanted,
        lustre=file_system,
        identities=(IdentityWant("trainer", grants(wanted), draft.namespace, ACCOUNT),),
        cluster=cluster_want(draft, EKS_VERSION),
        pools=(system_pool(place), pool),
        addons=addons,
        namespaces=namespaces(draft, releases, "privileged" if pool.nics else "baseline"),
        releases=releases,
        manifests=(*team_objects(draft.namespace), *_queues(draft, pool), *volumes),
        expected_fabric=expectation(draft.machine),
        pins=pins(EKS_VERSION, releases, addons=addons),
        expires_on=draft.expires_on,
    )


def cluster_want(draft: Draft, version: str, **more) -> ClusterWant:
    """Private unless the spec names the ranges that may reach the API."""
    access = draft.spec.blueprint.api_access
    cidrs = access.cidrs if isinstance(access, PrivateAccess) else ()
    return ClusterWant(draft.spec.name, version, private_api=not cidrs, api_cidrs=cidrs, **more)


def namespaces(draft: Draft, releases: tuple[ReleaseWant, ...], team_level: str) -> tuple[tuple[str, str], ...]:
    """The team's, and those of the releases; kube-system exists already."""
    used = {release.namespace for release in releases}
    return ((draft.namespace, team_level), *(row for row in NAMESPACES if row[0] in used))


def team_objects(namespace: str) -> tuple[ManifestWant, ...]:
    return (service_account(namespace, ACCOUNT), default_deny(namespace), allow_basics(namespace), allow_within(namespace))


def pins(
    kubernetes: str,
    releases: tuple[ReleaseWant, ...],
    images: tuple[tuple[str, str], ...] = (),
    addons: tuple[AddonWant, ...] = (),
) -> VersionPins:
    """What the decision records; add-ons whose version the cluster carries have none to pin."""
    named = tuple((a.name, a.version) for a in addons if a.version)
    return VersionPins(kubernetes, images, tuple((r.name, r.version) for r in releases), named)


def _releases(pool: PoolWant) -> tuple[ReleaseWant, ...]:
    first = (monitoring(), *([efa_plugin(pool.machine)] if pool.nics else []), nvidia_plugin(), jobset())
    return (*first, kueue(after=tuple(r.name for r in first)))


def _queues(draft: Draft, pool: PoolWant) -> tuple[ManifestWant, ...]:
    machine = draft.machine
    fabric = machine.efa_interfaces if pool.nics else 0
    quota = Quota(machine.vcpus or 0, (machine.memory_bytes or 0) // GIB, fabric)
    return queues(pool, 1, quota, draft.namespace, AWS_LEVELS if fabric else ())
