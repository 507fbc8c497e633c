"""TrainingCluster: nodes on one fabric, with job queues."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.stackplan import BlueprintKind

from rackwright_pulumi.args import PlanInput, plan_of
from rackwright_pulumi.aws.inputs import AwsInputs
from rackwright_pulumi.blueprints.eks import eks_parts
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.outputs import fabric_output


class TrainingClusterArgs(AwsInputs):
    """plan: a StackPlan of kind training-cluster. teardown: remove every protection. secrets: by their name in manifests.

    admin_arns: further administrators, known only at deployment.
    """

    plan: PlanInput
    teardown: NotRequired[bool]
    secrets: NotRequired[Mapping[str, Input[str]]]
    admin_arns: NotRequired[Sequence[Input[str]]]


class TrainingCluster(pulumi.ComponentResource):
    """An EKS cluster with accelerator pools on EFA, a parallel file system and job queues. Raises Unsupported for any other cloud.

    Jobs are not part of it; submit them to its queues.
    """

    cluster_name: Output[str] | None
    endpoint: Output[str] | None
    kubeconfig: Output[str] | None
    kubeconfig_command: Output[str] | None
    """These four are None without a cluster layer."""
    bucket_names: Output[Mapping[str, str]]
    expected_fabric: Mapping[str, Any]

    def __init__(self, name: str, args: TrainingClusterArgs, opts: ResourceOptions | None = None):
        check_args(TrainingClusterArgs, args)
        super().__init__("rackwright:index:TrainingCluster", name, None, opts)
        plan = plan_of(BlueprintKind.TRAINING_CLUSTER, args["plan"])
        parts = eks_parts(self, name, plan, args)
        cluster = parts.cluster
        self.cluster_name, self.endpoint = (cluster.cluster_name, cluster.endpoint) if cluster else (None, None)
        self.kubeconfig, self.kubeconfig_command = cluster.kubeconfig if cluster else None, parts.kubeconfig_command
        self.bucket_names = parts.storage.bucket_names
        self.expected_fabric = fabric_output(plan.expected_fabric)
        self._outputs = {**parts.outputs, "expectedFabric": self.expected_fabric}
        self.register_outputs(self._outputs)

    def stack_outputs(self) -> dict[str, Any]:
        """Outputs of a stack with this blueprint."""
        return self._outputs
