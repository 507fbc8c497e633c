"""TpuPod: TPU slices, one node pool each, with job queues."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.stackplan import BlueprintKind, PoolPlan

from rackwright_pulumi.args import PlanInput, plan_of
from rackwright_pulumi.blueprints.gke import GkeParts
from rackwright_pulumi.outputs import fabric_output


class TpuPodArgs(TypedDict):
    """plan: a StackPlan of kind tpu-pod. teardown: remove every protection. secrets: by their name in manifests.

    project_number: of the GCP project; looked up by default.
    """

    plan: PlanInput
    teardown: NotRequired[bool]
    secrets: NotRequired[Mapping[str, Input[str]]]
    project_number: NotRequired[Input[str]]


class TpuPod(pulumi.ComponentResource):
    """A GKE cluster with TPU slices and the operators that place jobs on whole slices. Raises Unsupported for any other cloud."""

    cluster_name: Output[str]
    endpoint: Output[str]
    kubeconfig: Output[str]
    kubeconfig_command: Output[str]
    bucket_names: Output[Mapping[str, str]]
    slices: Sequence[Mapping[str, Any]]
    expected_fabric: Mapping[str, Any]

    def __init__(self, name: str, args: TpuPodArgs, opts: ResourceOptions | None = None):
        super().__init__("rackwright:index:TpuPod", name, None, opts)
        plan = plan_of(BlueprintKind.TPU_POD, args["plan"])
        parts = GkeParts(self, name, plan, args.get("teardown", False), args.get("secrets", {}), args.get("project_number"))
        self.cluster_name, self.endpoint = parts.cluster.cluster_name, parts.cluster.endpoint
        self.kubeconfig, self.kubeconfig_command = parts.cluster.kubeconfig, parts.cluster.kubeconfig_command
        self.bucket_names = parts.bucket_names
        self.slices = [_slice(plan, parts.pools[plan.name].pool_name) for plan in parts.plan.pools if plan.role != "system"]
        self.expected_fabric = fabric_output(parts.plan.expected_fabric)
        self._outputs = {**parts.outputs, "slices": self.slices, "expectedFabric": self.expected_fabric}
        self.register_outputs(self._outputs)

    def stack_outputs(self) -> dict[str, Any]:
        """Outputs of a stack with this blueprint."""
        return self._outputs


def _slice(plan: PoolPlan, pool: Output[str]) -> dict[str, Any]:
    return {
        "pool": pool,
        "machine": plan.machine,
        "topology": plan.topology,
        "hosts": plan.nodes_max,
        "chipsPerHost": plan.accelerator_count,
        "zone": plan.zones[0],
    }
