"""Kubernetes objects with the plan's manifests, without renamed or dropped fields, and Helm releases."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi import CustomTimeouts, Output, ResourceOptions
from rackwright.stackplan import ReleasePlan
from rackwright.stackplan.labels import QUEUES_LABEL

NAMESPACE_LABEL = "pod-security.kubernetes.io"
NOT_AWAITED = ("Deployment", "StatefulSet", "Service", "Job")
"""Kinds of model servers and jobs: updates do not wait for them, because weights may arrive after the stack, and loading weights or a whole
training run may exceed the provider's timeout of 10 minutes (documentation of pulumi_kubernetes.apps.v1.Deployment and batch.v1.Job)."""
DRAINED = ("NodePool",)
"""Kinds whose deletion waits until their machines are drained."""
DRAIN_TIMEOUT = CustomTimeouts(delete="75m")
MAX_REVISIONS = 5
"""Helm revisions to keep."""


class KubernetesObject(pulumi.CustomResource):
    """One object of any kind, built in or custom. body: the manifest, with Outputs for values of the cloud.

    The SDK's classes rename keys (`matchLabels` to `match_labels` and back), and its CustomResource keeps only `metadata` and `spec`, which
    loses the `value` of a WorkloadPriorityClass. The provider accepts the manifest without changes.
    """

    status: Output[Any]

    def __init__(self, name: str, body: Mapping[str, Any], opts: ResourceOptions | None = None):
        hidden = ["data", "stringData"] if body["kind"] == "Secret" else []
        timeouts = DRAIN_TIMEOUT if body["kind"] in DRAINED else None
        opts = ResourceOptions.merge(opts, ResourceOptions(additional_secret_outputs=hidden, custom_timeouts=timeouts))
        super().__init__(token(body["apiVersion"], body["kind"]), name, {**body, "status": None}, opts)


class HelmRelease(pulumi.CustomResource):
    """A Helm release with a pinned version, rolled back if the installation fails. values: the plan's, with resolved Refs.

    An `oci://` chart includes its registry, and accepts no repository. With a digest, Helm compares the tag of the version with it and
    refuses another one (ValidateReference of helm.sh/helm/v3 3.20.2, the version of pulumi-kubernetes 4.31 to 4.34).
    The SDK's class has the same inputs, but its module imports an HTTP client.
    """

    def __init__(self, name: str, plan: ReleasePlan, values: Mapping[str, Any], opts: ResourceOptions):
        version, at, digest = plan.version.partition("@")
        inputs = {
            "atomic": True,
            "chart": f"{plan.chart}{at}{digest}",
            "cleanupOnFail": True,
            "compat": "true",
            "maxHistory": MAX_REVISIONS,
            "name": plan.name,
            "namespace": plan.namespace,
            "repositoryOpts": {"repo": plan.repository} if plan.repository else None,
            "skipAwait": False,
            "timeout": plan.timeout_s,
            "values": values,
            "version": version,
        }
        super().__init__("kubernetes:helm.sh/v3:Release", name, inputs, opts)


def token(api_version: str, kind: str) -> str:
    """Pulumi type token of a kind: `core/v1` for `v1`, the API version for other groups."""
    return f"kubernetes:{'core/v1' if api_version == 'v1' else api_version}:{kind}"


def namespace_body(name: str, level: str, is_of_team: bool = False, has_queue: bool = False) -> dict[str, Any]:
    """A Namespace whose pods must meet the Pod Security level: privileged, baseline or restricted.

    A team's pods that need more than baseline, such as IPC_LOCK for RDMA, are admitted where the level is privileged, but shown and
    audited. has_queue: Kueue manages its jobs where it selects namespaces by label.
    """
    reported = "baseline" if is_of_team and level == "privileged" else level
    labels = {f"{NAMESPACE_LABEL}/{mode}": reported for mode in ("audit", "warn")} | {f"{NAMESPACE_LABEL}/enforce": level}
    labels |= {QUEUES_LABEL: "true"} if has_queue else {}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def without_await(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Servers and jobs with the provider's skipAwait annotation; other objects without changes."""
    if body["kind"] not in NOT_AWAITED:
        return body
    metadata = body["metadata"]
    annotations = {**metadata.get("annotations", {}), "pulumi.com/skipAwait": "true"}
    return {**body, "metadata": {**metadata, "annotations": annotations}}


def draining(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """A ClusterQueue that admits no jobs and drains, because Kueue does not delete one with running jobs; other objects without changes."""
    if body["kind"] != "ClusterQueue":
        return body
    return {**body, "spec": {**body["spec"], "stopPolicy": "HoldAndDrain"}}


def namespace_of(body: Mapping[str, Any]) -> str:
    return body.get("metadata", {}).get("namespace", "")
