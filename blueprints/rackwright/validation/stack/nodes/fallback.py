"""Pools of a fallback: all grow from 0 machines, and later ones are used where earlier ones have no capacity."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

import yaml

from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.stackplan.operators import CLUSTER_AUTOSCALER, COMPUTE_CLASS, PROVISIONING_CONTROLLER, PROVISIONING_FLAG, UNLIMITED_RETRIES
from rackwright.validation.stack.registry import manifests, pools, rule

PROVISIONING = "https://kueue.sigs.k8s.io/docs/concepts/admission_check/provisioning_request/"
PODS_READY = "https://kueue.sigs.k8s.io/docs/tasks/manage/setup_wait_for_pods_ready/"
EXPANDERS = "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/expander/priority/readme.md"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CRD = "provisioningrequests.autoscaling.x-k8s.io"


# At the minimum size the autoscaler does not remove nodes that failed to start, and expects them forever. For an empty group it knows
# resources from tags, but no devices of a DRA driver
# (kubernetes/autoscaler, tag cluster-autoscaler-1.35.0, cloudprovider/aws/aws_cloud_provider.go, DeleteNodes and TemplateNodeInfo).
@rule("V-123", Level.ERROR, PROVISIONING)
def pools_of_a_fallback_grow_from_zero(plan: StackPlan) -> Iterator[Violation]:
    """Pools of a fallback have 0 nodes at minimum and are autoscaled, except capacity blocks; only the preferred pool starts with nodes."""
    for at, pool in pools(plan):
        if pool not in plan.fallback_pools or pool.capacity.mode == "capacity-block":
            continue
        if pool.preference and pool.nodes_start:
            message = f"Pool {pool.name} is not preferred, but has {pool.nodes_start} nodes at start"
            yield Violation(at / "nodes_start", "set it to 0", message)
        if pool.nodes_min:
            message = f"Pool {pool.name} has {pool.nodes_min} nodes at minimum, so later pools do not replace nodes that it loses"
            yield Violation(at / "nodes_min", "set it to 0", message)
        if pool.provisioner == "managed" and not pool.autoscaled:
            message = f"Pool {pool.name} is not autoscaled, so it starts no nodes for waiting jobs"
            yield Violation(at / "autoscaled", "set it to true", message)
        if pool.provisioner == "managed" and pool.devices == "dra":
            message = f"Pool {pool.name} can have 0 nodes and has EFA by DRA, for which the autoscaler adds no nodes to an empty pool"
            yield Violation(at / "devices", "use the EFA device plugin", message)


# Kueue and the autoscaler look for the CRD when they start; without it Kueue leaves the check out.
@rule("V-124", Level.ERROR, PROVISIONING, invariant=True)
def queue_of_a_fallback_checks_capacity(plan: StackPlan) -> Iterator[Violation]:
    """In a cluster with queues, jobs of a fallback are admitted after the cluster autoscaler found or added their machines."""
    queues = [*manifests(plan, "ClusterQueue")]
    if not queues or not plan.fallback_pools or any(pool.provisioner == COMPUTE_CLASS for pool in plan.fallback_pools):
        return
    configs = {manifest.body["metadata"]["name"] for _, manifest in manifests(plan, "ProvisioningRequestConfig")}
    checks = {
        manifest.body["metadata"]["name"]
        for _, manifest in manifests(plan, "AdmissionCheck")
        if manifest.body["spec"]["controllerName"] == PROVISIONING_CONTROLLER
        and manifest.body["spec"].get("parameters", {}).get("name") in configs
    }
    at, queue = queues[0]
    used = {each["name"] for each in queue.body["spec"].get("admissionChecksStrategy", {}).get("admissionChecks", [])}
    if not used & checks:
        message = (
            f"Queue {queue.body['metadata']['name']} has no admission check of ProvisioningRequests, so jobs are admitted without machines"
        )
        yield Violation(at / "spec" / "admissionChecksStrategy", f"add an admission check of {PROVISIONING_CONTROLLER}", message)
    if "operators" in plan.layers:
        yield from _unanswered_requests(plan)


def _unanswered_requests(plan: StackPlan) -> Iterator[Violation]:
    """What the autoscaler lacks to answer ProvisioningRequests."""
    index, found = next(((i, each) for i, each in enumerate(plan.releases) if each.name == CLUSTER_AUTOSCALER), (len(plan.releases), None))
    at, values = At() / "releases" / index, found.values if found else {}
    crds = [each["metadata"]["name"] for each in values.get("extraObjects", ())]
    if not values.get("extraArgs", {}).get(PROVISIONING_FLAG):
        message = (
            f"No autoscaler answers ProvisioningRequests: {CLUSTER_AUTOSCALER} is {'installed without the flag' if found else 'missing'}"
        )
        yield Violation(at / "values" / "extraArgs", f"set {PROVISIONING_FLAG}: true on the release {CLUSTER_AUTOSCALER}", message)
    if CRD not in crds:
        message = f"The CRD {CRD} is missing, so Kueue starts without the capacity check"
        yield Violation(at / "values" / "extraObjects", f"add it to the release {CLUSTER_AUTOSCALER}", message)


@rule("V-125", Level.ERROR, PODS_READY, invariant=True)
def waiting_jobs_stay_active(plan: StackPlan) -> Iterator[Violation]:
    """Kueue retries a waiting job without a limit, because it deactivates jobs that reach a limit."""
    for index, release in enumerate(plan.releases):
        text = release.values.get("managerConfig", {}).get("controllerManagerConfigYaml", "") if release.name == "kueue" else ""
        limit = ((_parsed(text) or {}).get("waitForPodsReady", {}).get("requeuingStrategy", {})).get("backoffLimitCount")
        if limit is not None:
            at = At() / "releases" / index / "values" / "managerConfig" / "controllerManagerConfigYaml"
            message = f"Kueue deactivates a job after {limit} retries: waitForPodsReady.requeuingStrategy.backoffLimitCount is {limit}"
            yield Violation(at, "set backoffLimitCount to null", message)
    for at, manifest in manifests(plan, "ProvisioningRequestConfig"):
        limit = manifest.body["spec"].get("retryStrategy", {}).get("backoffLimitCount", 3)
        if limit < UNLIMITED_RETRIES:
            message = f"Kueue deactivates a job after {limit} failed requests for machines"
            yield Violation(at / "spec" / "retryStrategy" / "backoffLimitCount", f"set it to {UNLIMITED_RETRIES}", message)


@rule("V-126", Level.ERROR, EXPANDERS, invariant=True)
def pools_are_filled_in_order(plan: StackPlan) -> Iterator[Violation]:
    """Pools of a fallback are filled in the order of the spec: by the weights of Karpenter's node pools, or the autoscaler's priorities."""
    ordered = plan.fallback_pools
    weights = {
        manifest.body["metadata"]["name"]: (at, manifest.body["spec"].get("weight", 0)) for at, manifest in manifests(plan, "NodePool")
    }
    for first, second in pairwise(pool.name for pool in ordered if pool.name in weights):
        if weights[first][1] <= weights[second][1]:
            message = f"Node pool {second} has weight {weights[second][1]}, but {first}, which is preferred, has {weights[first][1]}"
            yield Violation(weights[second][0] / "spec" / "weight", f"set less than {weights[first][1]}", message)
    growing = {pool.preference for pool in ordered if pool.autoscaled}
    for index, release in enumerate(plan.releases):
        if release.name != CLUSTER_AUTOSCALER or len(growing) < 2:
            continue
        expander = release.values.get("extraArgs", {}).get("expander", "random")
        listed = _parsed(release.values.get("expanderPriorities") or "{}")
        if not expander.startswith("priority") or len(listed) < len(growing):
            message = (
                f"{len(growing)} pools of a fallback grow, but the autoscaler's expander is {expander} with priorities for {len(listed)}"
            )
            yield Violation(At() / "releases" / index / "values" / "expanderPriorities", "list one priority per pool", message)


@lru_cache(maxsize=64)
def _parsed(text: str) -> Any:
    """YAML in a chart's values. PyYAML's C parser takes a tenth of the time of the default one."""
    return yaml.load(text, LOADER)
