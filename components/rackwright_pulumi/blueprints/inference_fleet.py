"""InferenceFleet: replicas of a model that follow their traffic."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.compile.wants import Kind

from rackwright_pulumi.args import PlanInput, plan_of
from rackwright_pulumi.blueprints.gke import GkeParts
from rackwright_pulumi.outputs import fabric_output


class InferenceFleetArgs(TypedDict):
    """plan: a StackPlan of kind inference-fleet. teardown: lift every protection. secrets: by the name manifests use.

    project_number: of the GCP project; looked up when absent.
    """

    plan: PlanInput
    teardown: NotRequired[bool]
    secrets: NotRequired[Mapping[str, Input[str]]]
    project_number: NotRequired[Input[str]]


class InferenceFleet(pulumi.ComponentResource):
    """A GKE cluster whose accelerator pools and replicas grow and shrink with load, behind a gateway.

    Raises Unsupported for any other cloud.
    """

    cluster_name: Output[str]
    endpoint: Output[str]
    kubeconfig: Output[str]
    kubeconfig_command: Output[str]
    bucket_names: Output[Mapping[str, str]]
    service_endpoint: Output[str]
    """Address of the gateway; empty until the cloud has given it one."""
    weights_url: Output[str]
    """Where the servers read the model's weights, to be put there when the bucket is new; empty where they download them."""
    expected_fabric: Mapping[str, Any]

    def __init__(self, name: str, args: InferenceFleetArgs, opts: ResourceOptions | None = None):
        super().__init__("rackwright:index:InferenceFleet", name, None, opts)
        parts = GkeParts(self, name, plan_of(Kind.INFERENCE_FLEET, args["plan"]), args)
        self.cluster_name, self.endpoint = parts.cluster.cluster_name, parts.cluster.endpoint
        self.kubeconfig, self.kubeconfig_command = parts.cluster.kubeconfig, parts.cluster.kubeconfig_command
        self.bucket_names = parts.bucket_names
        self.service_endpoint, self.weights_url = _gateway_address(parts), _weights(parts)
        self.expected_fabric = fabric_output(parts.plan.expected_fabric)
        self._outputs = {
            **parts.outputs,
            "serviceEndpoint": self.service_endpoint,
            "weightsUrl": self.weights_url,
            "expectedFabric": self.expected_fabric,
        }
        self.register_outputs(self._outputs)

    def stack_outputs(self) -> dict[str, Any]:
        """What a stack of this blueprint exports."""
        return self._outputs


def _weights(parts: GkeParts) -> Output[str]:
    folders = [want.prefix for want in parts.plan.buckets if want.key == "weights"]
    return Output.format("gs://{0}/{1}", parts.storage.bucket_names["weights"], folders[0]) if folders else Output.from_input("")


def _gateway_address(parts: GkeParts) -> Output[str]:
    gateways = [parts.layer.objects[want.key].status for want in parts.plan.manifests if want.body["kind"] == "Gateway"]
    return gateways[0].apply(_first_address) if gateways else Output.from_input("")


def _first_address(status: Mapping[str, Any] | None) -> str:
    addresses = (status or {}).get("addresses") or []
    return addresses[0]["value"] if addresses else ""
