"""Kueue's capacity check of a fallback: the cluster autoscaler answers a ProvisioningRequest before a job is admitted."""

from typing import Any

from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.stackplan import ManifestPlan, PoolPlan
from rackwright.stackplan.operators import PROVISIONING_CONTROLLER, UNLIMITED_RETRIES

API = "kueue.x-k8s.io/v1beta2"
AFTER_KUEUE = ("kueue",)
CAPACITY_CHECK, CHECK_KEY, CONFIG_KEY = "capacity", "queue.admission-check", "queue.provisioning-request-config"
SCALE_UP, CHECK_ONLY = "best-effort-atomic-scale-up.autoscaling.x-k8s.io", "check-capacity.autoscaling.x-k8s.io"
"""Provisioning classes: add all missing machines to one pool, or only look for machines that exist
(kubernetes/autoscaler@55c37cd cluster-autoscaler/FAQ.md)."""
QUEUED = "queued-provisioning.gke.io"
"""Provisioning class of GKE: all machines of a job together, from flex-start capacity
(https://cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest)."""
WAIT_SECONDS, WAIT_MAX_SECONDS = 60, 600
"""First and longest wait before a job is queued again."""
READY_MINUTES = 15
"""Time in which the pods of an admitted job must be ready."""
POOL_BACKOFF_MINUTES = 30
"""Time in which the autoscaler skips a pool without capacity: longer than READY_MINUTES and the longest wait together, so that the next
request of the same job goes to the next pool."""


def capacity_check(pools: tuple[PoolPlan, ...]) -> tuple[ManifestPlan, ...]:
    """The check and its configuration: pools that can grow are grown; pools of a fixed size are only checked.

    A request for fixed pools fails at once without machines (noRetry), and Kueue queues the job again. A request that adds machines stays
    open while no pool has capacity, and the autoscaler repeats it.
    """
    queued = any(pool.capacity.queued for pool in pools)
    grows = queued or any(pool.autoscaled for pool in pools)
    spec: Body = {
        "provisioningClassName": QUEUED if queued else SCALE_UP if grows else CHECK_ONLY,
        "managedResources": [pools[0].resource],
        "podSetMergePolicy": "IdenticalWorkloadSchedulingRequirements",
        "retryStrategy": {
            "backoffLimitCount": UNLIMITED_RETRIES,
            "backoffBaseSeconds": WAIT_SECONDS,
            "backoffMaxSeconds": WAIT_MAX_SECONDS,
        },
    } | ({} if grows else {"parameters": {"noRetry": "true"}})
    config = {"apiGroup": API.partition("/")[0], "kind": "ProvisioningRequestConfig", "name": CAPACITY_CHECK}
    check = obj(API, "AdmissionCheck", CAPACITY_CHECK, spec={"controllerName": PROVISIONING_CONTROLLER, "parameters": config})
    return (
        ManifestPlan(CONFIG_KEY, obj(API, "ProvisioningRequestConfig", CAPACITY_CHECK, spec=spec), AFTER_KUEUE),
        ManifestPlan(CHECK_KEY, check, (*AFTER_KUEUE, CONFIG_KEY)),
    )


def provisioning_request_crd() -> dict[str, Any]:
    """CRD of ProvisioningRequest v1, which the chart of the autoscaler lacks
    (kubernetes/autoscaler, tag cluster-autoscaler-1.35.0, cluster-autoscaler/FAQ.md). Kueue writes these objects and the autoscaler reads
    them, so their fields are not checked in between."""
    unchecked = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": unchecked, "status": unchecked}}
    group, plural = "autoscaling.x-k8s.io", "provisioningrequests"
    names = {"kind": "ProvisioningRequest", "listKind": "ProvisioningRequestList", "plural": plural, "singular": "provisioningrequest"}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": group, "names": names, "scope": "Namespaced", "versions": [version]}
    return obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}", spec=spec)
