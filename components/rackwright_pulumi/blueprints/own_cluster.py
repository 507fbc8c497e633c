"""Parts of every blueprint in an existing cluster on own servers: Kubernetes objects alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.stackplan import StackPlan
from rackwright.stackplan.labels import is_fabric_config

from rackwright_pulumi.aws.inputs import AwsInputs
from rackwright_pulumi.kubernetes.workloads import KubernetesLayer
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported


@dataclass(frozen=True)
class OwnClusterParts:
    """Objects of a stack, and its outputs."""

    plan: StackPlan
    layer: KubernetesLayer

    @property
    def outputs(self) -> dict[str, Any]:
        """The outputs that blueprints have on every cloud. rdma: resources, networks and environment of pods on the fabric."""
        plan = self.plan
        context = f" --context {plan.place.account}" if plan.place.account else ""
        return {
            "clusterName": Output.from_input(plan.cluster.name if plan.cluster else ""),
            "kubeconfigCommand": Output.from_input(f"kubectl config view --minify --flatten{context}"),
            "namespace": next((name for name, _ in plan.namespaces if not any(r.namespace == name for r in plan.releases)), ""),
            "rdma": _rdma(plan),
        }


def own_cluster_parts(
    parent: pulumi.ComponentResource,
    name: str,
    plan: StackPlan,
    inputs: Mapping[str, Any],
    secrets: Mapping[str, Input[str]],
) -> OwnClusterParts:
    """Build the objects of a plan as children of `parent`, whose provider is that of the cluster. Raises Unsupported for AWS arguments."""
    if aws_only := sorted(inputs.keys() & AwsInputs.__annotations__.keys()):
        raise Unsupported(f"{', '.join(aws_only)} on {plan.place.cloud}", "place.cloud", "leave them out: the cluster exists")
    teardown = inputs.get("teardown", False)
    layer = KubernetesLayer(
        child(name, "layer"),
        {
            "namespaces": plan.namespaces,
            "releases": plan.releases,
            "manifests": plan.manifests,
            "refs": {f"secret.{key}": value for key, value in secrets.items()},
            "protect": plan.protected and not teardown,
            "draining": teardown,
        },
        ResourceOptions(parent=parent),
    )
    return OwnClusterParts(plan, layer)


def _rdma(plan: StackPlan) -> dict[str, Any] | None:
    """Settings of pods on the fabric; None without RDMA."""
    found = next((manifest.body for manifest in plan.manifests if is_fabric_config(manifest.body)), None)
    return {"annotations": found["metadata"]["annotations"], "environment": found["data"]} if found else None
