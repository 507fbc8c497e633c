"""Kueue objects: fields of the version that is installed, quotas for everything a job asks for."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rackwright.compile.nodes.pools import POOL_LABEL
from rackwright.compile.operators.devices import EFA
from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import PoolPlan, StackPlan
from rackwright.validation.stack.registry import accelerators, manifests, pools, rule

KUEUE = "https://kueue.sigs.k8s.io/docs/concepts/"
KINDS = ("Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue", "WorkloadPriorityClass")
OLD_FIELDS = {"cohort": "cohortName", "admissionChecks": "admissionChecksStrategy"}
MOST_LEVELS, MOST_TAINTS, MOST_GROUPS, MOST_RESOURCES = 16, 8, 16, 64
HOST = "kubernetes.io/hostname"
OWN = "rackwright/"


@rule("V-82", Level.ERROR, "https://kueue.sigs.k8s.io/docs/reference/kueue.v1beta2/", invariant=True)
def queues_speak_v1beta2(plan: StackPlan) -> Iterator[Violation]:
    """Kueue objects use API v1beta2, where cohort is cohortName and admissionChecks is admissionChecksStrategy."""
    for at, manifest in manifests(plan, *KINDS):
        if manifest.body["apiVersion"] != "kueue.x-k8s.io/v1beta2":
            yield Violation(at / "apiVersion", "use kueue.x-k8s.io/v1beta2", detail=f"got {manifest.body['apiVersion']}")
        for old, new in OLD_FIELDS.items():
            if old in manifest.body.get("spec", {}):
                yield Violation(at / "spec" / old, f"use {new}", detail=f"{old} is gone")


@rule("V-83", Level.ERROR, KUEUE + "topology_aware_scheduling/", invariant=True)
def topology_ends_at_the_node(plan: StackPlan) -> Iterator[Violation]:
    """A topology has 1 to 16 different levels, of which the host name is the last."""
    for at, manifest in manifests(plan, "Topology"):
        labels = [level["nodeLabel"] for level in manifest.body["spec"]["levels"]]
        if not 1 <= len(labels) <= MOST_LEVELS or len(set(labels)) != len(labels):
            yield Violation(at / "spec" / "levels", "name each level once", detail=f"there are {len(labels)}, {len(set(labels))} different")
        if HOST in labels[:-1]:
            yield Violation(at / "spec" / "levels", f"put {HOST} last")


@rule("V-84", Level.ERROR, KUEUE + "resource_flavor/", invariant=True)
def flavors_select_nodes(plan: StackPlan) -> Iterator[Violation]:
    """A flavor with a topology selects nodes by a label, and has 8 labels, taints and tolerations at most."""
    for at, manifest in manifests(plan, "ResourceFlavor"):
        spec = manifest.body["spec"]
        if spec.get("topologyName") and not spec.get("nodeLabels"):
            yield Violation(at / "spec" / "nodeLabels", "name the pool's label", detail="it selects no node")
        for field in ("nodeLabels", "nodeTaints", "tolerations"):
            if len(spec.get(field, ())) > MOST_TAINTS:
                yield Violation(at / "spec" / field, f"keep {MOST_TAINTS}", detail=f"{len(spec[field])} {field}")


@rule("V-85", Level.ERROR, KUEUE + "cluster_queue/")
def quotas_are_complete(plan: StackPlan) -> Iterator[Violation]:
    """A queue has 16 resource groups at most; every flavor has a quota for each resource its group covers, and is in one group."""
    for at, manifest in manifests(plan, "ClusterQueue"):
        groups = manifest.body["spec"]["resourceGroups"]
        place = at / "spec" / "resourceGroups"
        if len(groups) > MOST_GROUPS:
            yield Violation(place, "join some", detail=f"there are {len(groups)}")
        for index, group in enumerate(groups):
            covered = group["coveredResources"]
            if not 1 <= len(covered) <= MOST_RESOURCES:
                yield Violation(place / index / "coveredResources", "cover 1 to 64", detail=f"it covers {len(covered)}")
            for flavor in group["flavors"]:
                if [r["name"] for r in flavor["resources"]] != covered:
                    words = f"flavor {flavor['name']} has quotas for {', '.join(r['name'] for r in flavor['resources'])}"
                    yield Violation(place / index / "flavors", "list the covered resources in their order", detail=words)
        used = Counter(flavor["name"] for group in groups for flavor in group["flavors"])
        yield from (Violation(place, "keep it in one", detail=f"flavor {name} is in {n} groups") for name, n in used.items() if n > 1)


@rule("V-86", Level.ERROR, KUEUE + "cluster_queue/", invariant=True)
def everything_a_job_asks_for_has_a_quota(plan: StackPlan) -> Iterator[Violation]:
    """Kueue admits a job only when every resource it asks for has a quota: CPU, memory, accelerators and fabric interfaces."""
    for at, manifest in manifests(plan, "ClusterQueue"):
        groups = manifest.body["spec"]["resourceGroups"]
        covered = {name for group in groups for name in group["coveredResources"]}
        served = _served(plan, {flavor["name"] for group in groups for flavor in group["flavors"]})
        asked = {"cpu", "memory"} | {pool.resource for pool in served if pool.resource}
        asked |= {EFA} if any(pool.nics and pool.devices == "plugin" for pool in served) else set()
        missing = sorted(asked - covered)
        if missing:
            yield Violation(at / "spec" / "resourceGroups", f"cover {', '.join(missing)}", detail=f"no quota for {', '.join(missing)}")


@rule("R-14", Level.ERROR, KUEUE + "resource_flavor/", invariant=True)
def every_pool_has_a_flavor(plan: StackPlan) -> Iterator[Violation]:
    """Where there are queues, each pool of accelerators is reached by a flavor, and no flavor of one pool reaches another's machines."""
    flavors = [manifest.body for _, manifest in manifests(plan, "ResourceFlavor")]
    for at, pool in accelerators(plan) if flavors else ():
        reached = [body["metadata"]["name"] for body in flavors if _selects(body, pool)]
        if len(reached) != 1:
            own = f"label its nodes with {POOL_LABEL}: {pool.name} and give it a flavor of that label"
            yield Violation(at / "labels", own, detail=f"{pool.name} is reached by {', '.join(reached) or 'none'}")


def _served(plan: StackPlan, flavors: set[str]) -> list[PoolPlan]:
    """The pools whose nodes these flavors select."""
    bodies = [manifest.body for _, manifest in manifests(plan, "ResourceFlavor") if manifest.body["metadata"]["name"] in flavors]
    return [pool for _, pool in pools(plan) if any(_selects(body, pool) for body in bodies)]


def _selects(flavor: dict[str, Any], pool: PoolPlan) -> bool:
    """By our own labels: those the cloud gives a node are not in the plan."""
    wanted = {key: value for key, value in flavor["spec"].get("nodeLabels", {}).items() if key.startswith(OWN)}
    return wanted.items() <= dict(pool.labels).items()
