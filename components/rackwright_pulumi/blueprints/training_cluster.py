"""TrainingCluster: nodes on one fabric, with job queues."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.stackplan import BlueprintKind, StackPlan

from rackwright_pulumi.args import PlanInput, plan_of
from rackwright_pulumi.aws import CLOUD as AWS
from rackwright_pulumi.aws.inputs import AwsInputs
from rackwright_pulumi.blueprints.outputs import fabric_output
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.gcp import CLOUD as GCP
from rackwright_pulumi.kubernetes import CLOUD as KUBERNETES
from rackwright_pulumi.unsupported import Unsupported


class TrainingClusterArgs(AwsInputs):
    """plan: a StackPlan of kind training-cluster. teardown: remove every protection. secrets: by their name in manifests.

    admin_arns: further administrators, known only at deployment (AWS). project_number: of the GCP project; looked up by default.
    """

    plan: PlanInput
    teardown: NotRequired[bool]
    secrets: NotRequired[Mapping[str, Input[str]]]
    admin_arns: NotRequired[Sequence[Input[str]]]
    project_number: NotRequired[Input[str]]


class TrainingCluster(pulumi.ComponentResource):
    """A cluster for jobs on several machines, with their fabric and queues. Raises Unsupported for any other cloud.

    On EKS: accelerator pools on EFA and a parallel file system. On GKE: a GPU pool on TCPX, TCPXO or RoCE, and buckets. On own servers:
    queues, operators and InfiniBand networks in the existing cluster.

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
        if plan.place.cloud not in CLOUDS:
            raise Unsupported(f"{plan.kind} on {plan.place.cloud}", "place.cloud", " or ".join(CLOUDS))
        outputs = CLOUDS[plan.place.cloud](self, name, plan, args)
        self.cluster_name, self.endpoint = outputs["clusterName"], outputs.get("endpoint")
        self.kubeconfig, self.kubeconfig_command = outputs.get("kubeconfig"), outputs["kubeconfigCommand"]
        self.bucket_names = outputs.get("bucketNames", Output.from_input({}))
        self.expected_fabric = fabric_output(plan.expected_fabric)
        self._outputs = {**outputs, "expectedFabric": self.expected_fabric}
        self.register_outputs(self._outputs)

    def stack_outputs(self) -> dict[str, Any]:
        """Outputs of a stack with this blueprint."""
        return self._outputs


def _on_eks(parent: pulumi.ComponentResource, name: str, plan: StackPlan, args: TrainingClusterArgs) -> dict[str, Any]:
    from rackwright_pulumi.blueprints.eks import eks_parts

    return eks_parts(parent, name, plan, args).outputs


def _on_gke(parent: pulumi.ComponentResource, name: str, plan: StackPlan, args: TrainingClusterArgs) -> dict[str, Any]:
    from rackwright_pulumi.blueprints.gke import GkeParts

    return GkeParts(parent, name, plan, args.get("teardown", False), args.get("secrets", {}), args.get("project_number")).outputs


def _on_own_servers(parent: pulumi.ComponentResource, name: str, plan: StackPlan, args: TrainingClusterArgs) -> dict[str, Any]:
    from rackwright_pulumi.blueprints.own_cluster import own_cluster_parts

    return own_cluster_parts(parent, name, plan, args, args.get("secrets", {})).outputs


CLOUDS = {AWS: _on_eks, GCP: _on_gke, KUBERNETES: _on_own_servers}
"""Cloud to the function that builds its parts; each imports only its cloud's SDK."""
