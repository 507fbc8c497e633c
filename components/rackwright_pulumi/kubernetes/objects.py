"""Kubernetes objects as the plan writes them: no field is renamed or dropped on the way; servers are marked as not waited for."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi import CustomTimeouts, Output, ResourceOptions

NAMESPACE_LABEL = "pod-security.kubernetes.io"
SERVERS = ("Deployment", "StatefulSet", "Service")
"""Kinds that are ready only when a model server is: that needs weights, which may come after the stack, and longer than the ten minutes
the provider waits for them (documentation of pulumi_kubernetes.apps.v1.Deployment)."""

DRAINED = ("NodePool",)
"""Kinds that go only after their machines: each is drained first, for as long as the object says."""
DRAINS_WITHIN = CustomTimeouts(delete="75m")


class KubernetesObject(pulumi.CustomResource):
    """One object of any kind, built in or custom; `body` is the manifest itself, with Outputs where only the cloud knows.

    The SDK's own classes rename keys (`matchLabels` to `match_labels` and back) and its CustomResource keeps only `metadata` and `spec`,
    which loses the `value` of a WorkloadPriorityClass. The provider takes the manifest as it is.
    """

    status: Output[Any]

    def __init__(self, name: str, body: Mapping[str, Any], opts: ResourceOptions | None = None):
        hidden = ["data", "stringData"] if body["kind"] == "Secret" else []
        timeouts = DRAINS_WITHIN if body["kind"] in DRAINED else None
        opts = ResourceOptions.merge(opts, ResourceOptions(additional_secret_outputs=hidden, custom_timeouts=timeouts))
        super().__init__(token(body["apiVersion"], body["kind"]), name, {**body, "status": None}, opts)


def token(api_version: str, kind: str) -> str:
    """Pulumi type of a kind: `v1` is `core/v1`, every other group names itself."""
    return f"kubernetes:{'core/v1' if api_version == 'v1' else api_version}:{kind}"


def namespace_body(name: str, level: str) -> dict[str, Any]:
    """A Namespace whose pods must meet the Pod Security level: privileged, baseline or restricted."""
    labels = {f"{NAMESPACE_LABEL}/{mode}": level for mode in ("enforce", "audit", "warn")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def unawaited(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Servers with the provider's mark that their readiness is no part of the update; anything else as it is."""
    if body["kind"] not in SERVERS:
        return body
    metadata = body["metadata"]
    annotations = {**metadata.get("annotations", {}), "pulumi.com/skipAwait": "true"}
    return {**body, "metadata": {**metadata, "annotations": annotations}}


def draining(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """A cluster queue that admits nothing more and lets its jobs go; anything else as it is. Kueue keeps a queue that has running jobs."""
    if body["kind"] != "ClusterQueue":
        return body
    return {**body, "spec": {**body["spec"], "stopPolicy": "HoldAndDrain"}}


def namespace_of(body: Mapping[str, Any]) -> str:
    return body.get("metadata", {}).get("namespace", "")
