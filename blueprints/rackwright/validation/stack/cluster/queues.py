"""Kueue objects: API version, topologies, flavors and quotas."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import PoolPlan, StackPlan
from rackwright.stackplan.labels import EFA_RESOURCE, HUGE_PAGES, POOL_LABEL, PREFLIGHT_LABEL
from rackwright.stackplan.plan import PREFLIGHT_FLAVOR
from rackwright.validation.stack.registry import accelerators, manifests, pools, rule

KUEUE = "https://kueue.sigs.k8s.io/docs/concepts/"
KINDS = ("Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue", "WorkloadPriorityClass")
OLD_FIELDS = {"cohort": "cohortName", "admissionChecks": "admissionChecksStrategy"}
LEVELS_MAX, TAINTS_MAX, GROUPS_MAX, RESOURCES_MAX = 16, 8, 16, 64
HOST = "kubernetes.io/hostname"
OWN_LABELS = "rackwright/"


@rule("V-82", Level.ERROR, "https://kueue.sigs.k8s.io/docs/reference/kueue.v1beta2/", invariant=True)
def kueue_api_version(plan: StackPlan) -> Iterator[Violation]:
    """Kueue objects use API v1beta2, in which cohort is cohortName and admissionChecks is admissionChecksStrategy."""
    for at, manifest in manifests(plan, *KINDS):
        if manifest.body["apiVersion"] != "kueue.x-k8s.io/v1beta2":
            message = f"{manifest.body['kind']} uses API {manifest.body['apiVersion']}; the installed Kueue serves v1beta2"
            yield Violation(at / "apiVersion", "use kueue.x-k8s.io/v1beta2", message)
        for old, new in OLD_FIELDS.items():
            if old in manifest.body.get("spec", {}):
                yield Violation(at / "spec" / old, f"use {new}", f"Field {old} does not exist in API v1beta2")


@rule("V-83", Level.ERROR, KUEUE + "topology_aware_scheduling/", invariant=True)
def topology_levels(plan: StackPlan) -> Iterator[Violation]:
    """A topology has 1 to 16 different levels, and the host name is the last."""
    for at, manifest in manifests(plan, "Topology"):
        labels = [level["nodeLabel"] for level in manifest.body["spec"]["levels"]]
        if not 1 <= len(labels) <= LEVELS_MAX or len(set(labels)) != len(labels):
            message = (
                f"The topology has {len(labels)} levels, {len(set(labels))} of them different; 1 to {LEVELS_MAX} different ones are allowed"
            )
            yield Violation(at / "spec" / "levels", "list each level once", message)
        if HOST in labels[:-1]:
            yield Violation(at / "spec" / "levels", f"put {HOST} last", f"{HOST} is not the last level of the topology")


@rule("V-84", Level.ERROR, KUEUE + "resource_flavor/", invariant=True)
def flavor_selects_nodes(plan: StackPlan) -> Iterator[Violation]:
    """A flavor with a topology selects nodes by label; a flavor has at most 8 labels, 8 taints and 8 tolerations."""
    for at, manifest in manifests(plan, "ResourceFlavor"):
        spec, name = manifest.body["spec"], manifest.body["metadata"]["name"]
        if spec.get("topologyName") and not spec.get("nodeLabels"):
            yield Violation(at / "spec" / "nodeLabels", "set the pool's label", f"Flavor {name} has a topology, but selects no nodes")
        for field in ("nodeLabels", "nodeTaints", "tolerations"):
            if len(spec.get(field, ())) > TAINTS_MAX:
                message = f"Flavor {name} has {len(spec[field])} {field}; the limit is {TAINTS_MAX}"
                yield Violation(at / "spec" / field, f"keep {TAINTS_MAX}", message)


@rule("V-85", Level.ERROR, KUEUE + "cluster_queue/")
def queue_quotas_are_complete(plan: StackPlan) -> Iterator[Violation]:
    """A cluster queue has at most 16 resource groups. A flavor is in one group and has a quota for each of its resources."""
    for at, manifest in manifests(plan, "ClusterQueue"):
        groups = manifest.body["spec"]["resourceGroups"]
        place = at / "spec" / "resourceGroups"
        if len(groups) > GROUPS_MAX:
            yield Violation(place, "merge some", f"The queue has {len(groups)} resource groups; the limit is {GROUPS_MAX}")
        for index, group in enumerate(groups):
            covered = group["coveredResources"]
            if not 1 <= len(covered) <= RESOURCES_MAX:
                message = f"The resource group covers {len(covered)} resources; 1 to {RESOURCES_MAX} are allowed"
                yield Violation(place / index / "coveredResources", f"cover 1 to {RESOURCES_MAX}", message)
            for flavor in group["flavors"]:
                if [r["name"] for r in flavor["resources"]] != covered:
                    quotas = ", ".join(r["name"] for r in flavor["resources"])
                    message = f"Flavor {flavor['name']} has quotas for {quotas}, but its group covers {', '.join(covered)}"
                    yield Violation(place / index / "flavors", "list the covered resources in their order", message)
        for name, count in Counter(flavor["name"] for group in groups for flavor in group["flavors"]).items():
            if count > 1:
                yield Violation(place, "keep it in one", f"Flavor {name} is in {count} resource groups; one is allowed")


@rule("V-86", Level.ERROR, KUEUE + "cluster_queue/", invariant=True)
def queue_covers_job_resources(plan: StackPlan) -> Iterator[Violation]:
    """A queue has quotas for every resource that jobs request: CPU, memory, accelerators, EFA interfaces and huge pages. Kueue admits no
    others, and counts claims of the EFA driver as interfaces."""
    for at, manifest in manifests(plan, "ClusterQueue"):
        groups = manifest.body["spec"]["resourceGroups"]
        covered = {name for group in groups for name in group["coveredResources"]}
        names = {flavor["name"] for group in groups for flavor in group["flavors"]}
        flavors = [flavor.body for _, flavor in manifests(plan, "ResourceFlavor") if flavor.body["metadata"]["name"] in names]
        served = [pool for _, pool in pools(plan) if any(_selects(flavor, pool) for flavor in flavors)]
        requested = {"cpu", "memory"} | {pool.resource for pool in served if pool.resource}
        requested |= {EFA_RESOURCE, HUGE_PAGES} if any(pool.nics for pool in served) else set()
        missing = ", ".join(sorted(requested - covered))
        if missing:
            message = f"Queue {manifest.body['metadata']['name']} has no quota for {missing}, so jobs that request it are never admitted"
            yield Violation(at / "spec" / "resourceGroups", f"cover {missing}", message)


@rule("R-14", Level.ERROR, KUEUE + "resource_flavor/", invariant=True)
def pools_have_one_flavor(plan: StackPlan) -> Iterator[Violation]:
    """In a cluster with queues, exactly one flavor for jobs selects each accelerator pool; checks of its nodes have another."""
    flavors = [manifest.body for _, manifest in manifests(plan, "ResourceFlavor") if manifest.key != PREFLIGHT_FLAVOR]
    for at, pool in accelerators(plan) if flavors else ():
        selecting = [body["metadata"]["name"] for body in flavors if _selects(body, pool)]
        if len(selecting) != 1:
            fix = f"label its nodes with {POOL_LABEL}: {pool.name} and add a flavor with that label"
            message = f"Pool {pool.name} is selected by {', '.join(selecting) or 'no flavor'}; exactly one flavor must select it"
            yield Violation(at / "labels", fix, message)


def _selects(flavor: dict[str, Any], pool: PoolPlan) -> bool:
    """Compares rackwright's own labels; those that the cloud adds, and the result of a check, are not in the plan."""
    given = flavor["spec"].get("nodeLabels", {}).items()
    labels = {key: value for key, value in given if key.startswith(OWN_LABELS) and key != PREFLIGHT_LABEL}
    return labels.items() <= dict(pool.labels).items()
