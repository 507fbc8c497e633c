"""InferenceFleet: autoscaled replicas of a model."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.stackplan import BlueprintKind, StackPlan
from rackwright.stackplan.labels import SERVER_PORT

from rackwright_pulumi.args import PlanInput, plan_of
from rackwright_pulumi.aws import CLOUD as AWS
from rackwright_pulumi.aws.inputs import AwsInputs
from rackwright_pulumi.blueprints.outputs import fabric_output
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.gcp import CLOUD as GCP
from rackwright_pulumi.kubernetes import CLOUD as KUBERNETES
from rackwright_pulumi.unsupported import Unsupported


class InferenceFleetArgs(AwsInputs):
    """plan: a StackPlan of kind inference-fleet. teardown: remove every protection. secrets: by their name in manifests.

    admin_arns: on EKS, administrators beside the plan's, known only at deployment. project_number: of the GCP project, else looked up.
    """

    plan: PlanInput
    teardown: NotRequired[bool]
    secrets: NotRequired[Mapping[str, Input[str]]]
    admin_arns: NotRequired[Sequence[Input[str]]]
    project_number: NotRequired[Input[str]]


class InferenceFleet(pulumi.ComponentResource):
    """A cluster whose accelerators and replicas follow their load: on GKE behind a gateway, on EKS behind an internal load balancer, on own
    servers behind a service of the cluster.

    The output `serviceEndpoints` has the address of each workload where the fleet has several.
    Raises Unsupported for any other cloud.
    """

    cluster_name: Output[str]
    endpoint: Output[str]
    kubeconfig: Output[str]
    kubeconfig_command: Output[str]
    bucket_names: Output[Mapping[str, str]]
    service_endpoint: Output[str]
    """Address of the gateway or load balancer, of several that of the first workload; empty until it has one."""
    weights_url: Output[str]
    """URL of the model's weights in a bucket; upload them to a new bucket. Empty if the servers download them."""
    expected_fabric: Mapping[str, Any]

    def __init__(self, name: str, args: InferenceFleetArgs, opts: ResourceOptions | None = None):
        check_args(InferenceFleetArgs, args)
        super().__init__("rackwright:index:InferenceFleet", name, None, opts)
        plan = plan_of(BlueprintKind.INFERENCE_FLEET, args["plan"])
        if plan.place.cloud not in CLOUDS:
            raise Unsupported(f"{plan.kind} on {plan.place.cloud}", "place.cloud", " or ".join(CLOUDS))
        outputs = CLOUDS[plan.place.cloud](self, name, plan, args)
        missing = Output.from_input("")
        self.cluster_name, self.endpoint = outputs["clusterName"], outputs.get("endpoint", missing)
        self.kubeconfig, self.kubeconfig_command = outputs.get("kubeconfig", missing), outputs["kubeconfigCommand"]
        self.bucket_names = outputs.get("bucketNames", Output.from_input({}))
        self.service_endpoint, self.weights_url = outputs["serviceEndpoint"], outputs["weightsUrl"]
        self.expected_fabric = fabric_output(plan.expected_fabric)
        self._outputs = {**outputs, "expectedFabric": self.expected_fabric}
        self.register_outputs(self._outputs)

    def stack_outputs(self) -> dict[str, Any]:
        """Outputs of a stack with this blueprint."""
        return self._outputs


def _on_gke(parent: pulumi.ComponentResource, name: str, plan: StackPlan, args: InferenceFleetArgs) -> dict[str, Any]:
    from rackwright_pulumi.blueprints.gke import GkeParts

    if aws_only := sorted(args.keys() & AwsInputs.__annotations__.keys()):
        raise Unsupported(f"{', '.join(aws_only)} on {plan.place.cloud}", "place.cloud", "set the network, key and tags in the spec")

    parts = GkeParts(parent, name, plan, args.get("teardown", False), args.get("secrets", {}), args.get("project_number"))
    objects = parts.layer.objects if parts.layer else {}
    keys = [manifest.key for manifest in plan.manifests if manifest.body["kind"] == "Gateway" and manifest.key in objects]
    gateways = [objects[key].status for key in keys]
    address = gateways[0].apply(_gateway_address) if gateways else Output.from_input("")
    return {**parts.outputs, "serviceEndpoint": address, "weightsUrl": _weights(plan, "gs", parts.storage.bucket_names)}


def _on_eks(parent: pulumi.ComponentResource, name: str, plan: StackPlan, args: InferenceFleetArgs) -> dict[str, Any]:
    from rackwright_pulumi.blueprints.eks import eks_parts

    parts = eks_parts(parent, name, plan, args)
    objects = parts.layer.objects if parts.layer else {}
    addresses = {
        manifest.body["metadata"]["name"].removesuffix("-entrance"): objects[manifest.key].status.apply(_balancer_address)
        for manifest in plan.manifests
        if manifest.key in objects and manifest.body["kind"] == "Service" and manifest.body["spec"].get("type") == "LoadBalancer"
    }
    address = next(iter(addresses.values()), Output.from_input(""))
    names = {key: bucket.name for key, bucket in parts.storage.buckets.items()}
    outputs = {key: value for key, value in parts.outputs.items() if key != "lustre"}
    each = {"serviceEndpoints": addresses} if len(addresses) > 1 else {}
    return {**outputs, "serviceEndpoint": address, "weightsUrl": _weights(plan, "s3", names), **each}


def _on_own_servers(parent: pulumi.ComponentResource, name: str, plan: StackPlan, args: InferenceFleetArgs) -> dict[str, Any]:
    from rackwright_pulumi.blueprints.own_cluster import own_cluster_parts

    outputs = own_cluster_parts(parent, name, plan, args, args.get("secrets", {})).outputs
    services = [manifest.body for manifest in plan.manifests if manifest.body["kind"] == "Service"]
    services.sort(key=lambda body: not body["metadata"]["name"].endswith("-entrance"))  # that of a gateway before those of servers
    address = f"http://{services[0]['metadata']['name']}.{services[0]['metadata']['namespace']}:{SERVER_PORT}" if services else ""
    return {**outputs, "serviceEndpoint": Output.from_input(address), "weightsUrl": Output.from_input("")}


CLOUDS = {AWS: _on_eks, GCP: _on_gke, KUBERNETES: _on_own_servers}
"""Cloud to the function that builds its parts; each imports only its cloud's SDK."""


def _weights(plan: StackPlan, scheme: str, names: Mapping[str, Input[str]]) -> Output[str]:
    folders = [bucket.prefix for bucket in plan.buckets if bucket.key == "weights"]
    return Output.format("{0}://{1}/{2}", scheme, names["weights"], folders[0]) if folders else Output.from_input("")


def _gateway_address(status: Mapping[str, Any] | None) -> str:
    addresses = (status or {}).get("addresses") or []
    return addresses[0]["value"] if addresses else ""


def _balancer_address(status: Mapping[str, Any] | None) -> str:
    addresses = ((status or {}).get("loadBalancer") or {}).get("ingress") or []
    return addresses[0].get("hostname") or addresses[0].get("ip") or "" if addresses else ""
