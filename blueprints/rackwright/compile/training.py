"""TrainingCluster on EKS with EFA: network, cluster, one pool in one zone, Lustre, operators and queues. Jobs stay outside."""

from rackwright.compile.addons import eks_addons
from rackwright.compile.autoscaler import cluster_autoscaler
from rackwright.compile.cluster import cluster_want, namespaces, node_images, pins
from rackwright.compile.devices import DRANET, EFA, EFA_CLASS, device_releases, efa_claims
from rackwright.compile.draft import Draft
from rackwright.compile.fabric import expectation
from rackwright.compile.images import as_asked
from rackwright.compile.lustre import lustre
from rackwright.compile.lustre_clients import lustre_clients
from rackwright.compile.manifests import allow_basics, allow_metrics, allow_within, default_deny, run_secrets, service_account
from rackwright.compile.network import eks_network, existing_network
from rackwright.compile.place import place_want
from rackwright.compile.pools import accelerator_pools, extra_pools, system_pool
from rackwright.compile.queues import Quota, aws_levels, extra_queues, queues
from rackwright.compile.releases import jobset, kueue, monitoring
from rackwright.compile.storage import buckets, grants
from rackwright.compile.storage_objects import lustre_volume
from rackwright.compile.wants import (
    IdentityWant,
    KeyWant,
    Kind,
    ManifestWant,
    PoolWant,
    ReleaseWant,
    StackPlan,
)
from rackwright.units import GIB

ACCOUNT = "trainer"


def training_plan(draft: Draft) -> StackPlan:
    place = place_want(draft)
    wanted = buckets(draft)
    file_system = lustre(draft, place.zone, wanted)
    sized = tuple(as_asked(draft, pool) for pool in accelerator_pools(draft, place))
    listed = tuple(as_asked(draft, pool) for pool in extra_pools(draft, place))
    clients = lustre_clients(file_system, (*sized, *listed))
    pools, extras = clients[: len(sized)], clients[len(sized) :]
    pool, everything = pools[0], (system_pool(place), *clients)
    releases = _releases(draft, clients)
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
        pools=everything,
        addons=addons,
        namespaces=namespaces(draft, releases, "privileged" if pool.nics else "baseline"),
        releases=releases,
        manifests=(
            *team_objects(draft),
            *_queues(draft, pools),
            *extra_queues(extras, draft.namespace),
            *efa_claims((*pools, *extras), draft.namespace),
            *volumes,
            allow_metrics(draft.namespace),
        ),
        expected_fabric=expectation(draft.machine),
        pins=pins(releases, node_images(everything), addons),
        expires_on=draft.expires_on,
    )


def team_objects(draft: Draft) -> tuple[ManifestWant, ...]:
    """Account, closed network but for what jobs need, and the secrets the spec names."""
    namespace = draft.namespace
    policies = (default_deny(namespace), allow_basics(namespace, draft.candidate.cloud), allow_within(namespace))
    return (service_account(namespace, ACCOUNT), *policies, *run_secrets(draft.spec.workload.run, namespace))


def _releases(draft: Draft, pools: tuple[PoolWant, ...]) -> tuple[ReleaseWant, ...]:
    moved = [pool for pool in pools if pool.autoscaled]
    first = (monitoring(), *device_releases(pools), jobset(), *([cluster_autoscaler(moved, draft.spec.name)] if moved else []))
    claims = (EFA, EFA_CLASS) if any(release.name == DRANET for release in first) else None
    return (*first, kueue(first, claims))


def _queues(draft: Draft, pools: tuple[PoolWant, ...]) -> tuple[ManifestWant, ...]:
    machine = draft.machine
    fabric = (machine.efa_interfaces or 0) if pools[0].nics else 0
    quota = Quota(machine.vcpus or 0, (machine.memory_bytes or 0) // GIB, fabric)
    return queues(pools, quota, draft.namespace, aws_levels(machine.name) if fabric else ())
