"""TpuPod on GKE: one node pool per slice, whole slices only; JobSet and Kueue place jobs on them."""

from dataclasses import replace

from rackwright.compile.addons import gke_addons
from rackwright.compile.capacity import bounds
from rackwright.compile.cluster import GKE_SERVICES, cluster_want, namespaces, pins
from rackwright.compile.draft import Draft
from rackwright.compile.fabric import expectation
from rackwright.compile.network import gke_network
from rackwright.compile.place import place_want
from rackwright.compile.pools import accelerator_pool, system_pool
from rackwright.compile.queues import Quota, queues
from rackwright.compile.releases import jobset, kueue
from rackwright.compile.storage import buckets, grants
from rackwright.compile.training import ACCOUNT, team_objects
from rackwright.compile.wants import IdentityWant, KeyWant, Kind, PlaceWant, PoolWant, ReleaseWant, StackPlan
from rackwright.units import GIB


def tpu_plan(draft: Draft) -> StackPlan:
    place = place_want(draft)
    slices = _slices(draft, place)
    wanted = buckets(draft)
    releases = _releases()
    quota = Quota(draft.machine.vcpus or 0, (draft.machine.memory_bytes or 0) // GIB)
    return StackPlan(
        name=draft.spec.name,
        kind=Kind.TPU_POD,
        place=place,
        network=gke_network(place, "ici"),
        key=KeyWant(),
        tags=draft.tags,
        buckets=wanted,
        identities=(IdentityWant("trainer", grants(wanted), draft.namespace, ACCOUNT),),
        cluster=cluster_want(draft),
        pools=(system_pool(place), *slices),
        addons=gke_addons(),
        namespaces=namespaces(draft, releases, "privileged"),  # libtpu pins more memory than a pod may without SYS_RESOURCE
        releases=releases,
        manifests=(*team_objects(draft), *queues(slices, quota, draft.namespace)),
        services=GKE_SERVICES,
        expected_fabric=expectation(draft.machine),
        pins=pins(releases),
        expires_on=draft.expires_on,
    )


def _slices(draft: Draft, place: PlaceWant) -> tuple[PoolWant, ...]:
    """Pools `slice-0`, `slice-1` ...: all hosts of a slice or none."""
    count = max(1, draft.candidate.slices)
    hosts = draft.candidate.nodes // count
    shape = replace(
        accelerator_pool(draft, place, "slice", bounds(draft, hosts)),
        topology=draft.candidate.topology,
        multi_host=hosts > 1,
        adjacent=hosts > 1,
    )
    return tuple(replace(shape, name=f"slice-{index}") for index in range(count))


def _releases() -> tuple[ReleaseWant, ...]:
    return (jobset(), kueue((jobset(),)))
