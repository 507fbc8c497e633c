"""Box: one machine, scaled up."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NotRequired

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.stackplan import BlueprintKind, IdentityPlan, StackPlan

from rackwright_pulumi.args import PlanInput, plan_of
from rackwright_pulumi.aws import CLOUD as AWS
from rackwright_pulumi.aws.inputs import AwsInputs
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.gcp import CLOUD as GCP
from rackwright_pulumi.kubernetes import CLOUD as KUBERNETES
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported

if TYPE_CHECKING:
    from rackwright_pulumi.aws.box.box import AwsBox
    from rackwright_pulumi.aws.exports import Storage
    from rackwright_pulumi.blueprints.aws import AwsStack

NO_GRANTS = IdentityPlan("box")


class BoxArgs(AwsInputs):
    """plan: a StackPlan of kind box. teardown: remove every protection. secrets: readable by the machine as `/<stack>/<name>`; on Google
    Cloud in Secret Manager as `<stack>-<name>`.

    image_id: a machine image instead of the plan's.
    """

    plan: PlanInput
    teardown: NotRequired[bool]
    secrets: NotRequired[Mapping[str, Input[str]]]
    image_id: NotRequired[Input[str]]


class Box(pulumi.ComponentResource):
    """A private machine on AWS or Google Cloud (GPU, Neuron or processors alone), its data volume and buckets; or a queue or container on
    own servers.

    Raises Unsupported for any other cloud.
    """

    instance_id: Output[str] | None
    connect_command: Output[str] | None
    """Both are None on own servers, and if the workloads layer belongs to another stack. On Google Cloud the instance has a name only."""
    bucket_names: Output[Mapping[str, str]]

    def __init__(self, name: str, args: BoxArgs, opts: ResourceOptions | None = None):
        check_args(BoxArgs, args)
        super().__init__("rackwright:index:Box", name, None, opts)
        plan = plan_of(BlueprintKind.BOX, args["plan"])
        if plan.place.cloud not in CLOUDS:
            raise Unsupported(f"{plan.kind} on {plan.place.cloud}", "place.cloud", " or ".join(CLOUDS))
        self._outputs = CLOUDS[plan.place.cloud](self, name, plan, args)
        self.instance_id, self.connect_command = self._outputs.get("instanceId"), self._outputs.get("connectCommand")
        self.bucket_names = self._outputs.get("bucketNames", Output.from_input({}))
        self.register_outputs(self._outputs)

    def stack_outputs(self) -> dict[str, Any]:
        """Outputs of a stack with this blueprint."""
        return self._outputs


def _on_aws(parent: pulumi.ComponentResource, name: str, plan: StackPlan, args: BoxArgs) -> dict[str, Any]:
    from rackwright_pulumi.blueprints.aws import AwsStack

    stack = AwsStack(parent, name, plan, args.get("teardown", False), args)
    storage = stack.storage()
    box = _machine(stack, storage, args) if stack.builds("workloads") else None
    if stack.builds("base"):
        stack.cost_alerts()
    return {
        "instanceId": box.instance_id if box else None,
        "connectCommand": box.connect_command if box else None,
        "bucketNames": storage.bucket_names,
        "parts": stack.parts(storage),
    }


def _on_own_servers(parent: pulumi.ComponentResource, name: str, plan: StackPlan, args: BoxArgs) -> dict[str, Any]:
    from rackwright_pulumi.blueprints.own_cluster import own_cluster_parts

    return own_cluster_parts(parent, name, plan, args, args.get("secrets", {})).outputs


def _on_gcp(parent: pulumi.ComponentResource, name: str, plan: StackPlan, args: BoxArgs) -> dict[str, Any]:
    from rackwright_pulumi.blueprints.gce import GceParts

    return GceParts(parent, name, plan, args.get("teardown", False), args.get("secrets", {}), args.get("image_id")).outputs


CLOUDS = {AWS: _on_aws, GCP: _on_gcp, KUBERNETES: _on_own_servers}
"""Cloud to the function that builds its parts; each imports only its cloud's SDK."""


def _machine(stack: "AwsStack", storage: "Storage", args: BoxArgs) -> "AwsBox":
    """The instance with its pinned image, in a subnet of its zone."""
    from rackwright_pulumi.aws.box.box import AwsBox

    plan = stack.plan.box
    if plan is None:
        raise Unsupported(f"a plan of {stack.plan.kind} without a box", "box", f"use the blueprint {stack.plan.kind}")
    identity = stack.identity(next(iter(stack.plan.identities), NO_GRANTS), storage, secrets=args.get("secrets", {}))
    return AwsBox(
        child(stack.name, "box"),
        {
            "box": replace(plan, image=dict(stack.plan.pins.images).get(plan.image, plan.image)),
            "region": stack.region,
            "vpc_id": stack.network.vpc_id,
            "subnet_id": stack.network.machine_subnets([plan.zone])[0],
            "profile_name": identity.profile_name,
            "kms_key_arn": stack.key.key_arn,
            "tags": stack.tags,
            "teardown": stack.teardown,
            "image_id": args.get("image_id"),
            "zone_name": stack.network.zone_names.get(plan.zone),
        },
        stack.child_opts,
    )
