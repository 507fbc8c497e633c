"""TpuPod: TPU slices, one node pool each, with job queues."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.stackplan import BlueprintKind

from rackwright_pulumi.args import PlanInput, plan_of
from rackwright_pulumi.blueprints.gke import GkeParts
from rackwright_pulumi.blueprints.outputs import fabric_output
from rackwright_pulumi.check_args import check_args


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
        check_args(TpuPodArgs, args)
        super().__init__("rackwright:index:TpuPod", name, None, opts)
        plan = plan_of(BlueprintKind.TPU_POD, args["plan"])
        parts = GkeParts(self, name, plan, args.get("teardown", False), args.get("secrets", {}), args.get("project_number"))
        outputs, missing = parts.outputs, Output.from_input("")
        self.cluster_name, self.endpoint = outputs["clusterName"] or missing, outputs["endpoint"] or missing
        self.kubeconfig, self.kubeconfig_command = outputs["kubeconfig"] or missing, outputs["kubeconfigCommand"] or missing
        self.bucket_names = parts.bucket_names
        self.slices = [
            {
                "pool": parts.pools[pool.name].pool_name,
                "machine": pool.machine,
                "topology": pool.topology,
                "hosts": pool.nodes_max,
                "chipsPerHost": pool.accelerator_count,
                "zone": pool.zones[0],
            }
            for pool in plan.pools
            if pool.role != "system" and pool.name in parts.pools
        ]
        self.expected_fabric = fabric_output(plan.expected_fabric)
        self._outputs = {**outputs, "slices": self.slices, "expectedFabric": self.expected_fabric}
        self.register_outputs(self._outputs)

    def stack_outputs(self) -> dict[str, Any]:
        """Outputs of a stack with this blueprint."""
        return self._outputs
