"""Box: one machine, scaled up."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NotRequired

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.stackplan import BlueprintKind, IdentityPlan

from rackwright_pulumi.args import PlanInput, plan_of
from rackwright_pulumi.aws.box.box import AwsBox
from rackwright_pulumi.aws.exports import Storage
from rackwright_pulumi.aws.inputs import AwsInputs
from rackwright_pulumi.blueprints.aws import AwsStack
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported

NO_GRANTS = IdentityPlan("box")


class BoxArgs(AwsInputs):
    """plan: a StackPlan of kind box. teardown: remove every protection. secrets: readable by the machine as `/<stack>/<name>`.

    image_id: a machine image instead of the plan's.
    """

    plan: PlanInput
    teardown: NotRequired[bool]
    secrets: NotRequired[Mapping[str, Input[str]]]
    image_id: NotRequired[Input[str]]


class Box(pulumi.ComponentResource):
    """A private machine on AWS (GPU, Neuron or processors alone), its data volume and buckets. Raises Unsupported for any other cloud."""

    instance_id: Output[str] | None
    connect_command: Output[str] | None
    """Both are None if the workloads layer belongs to another stack."""
    bucket_names: Output[Mapping[str, str]]

    def __init__(self, name: str, args: BoxArgs, opts: ResourceOptions | None = None):
        check_args(BoxArgs, args)
        super().__init__("rackwright:index:Box", name, None, opts)
        plan = plan_of(BlueprintKind.BOX, args["plan"])
        stack = AwsStack(self, name, plan, args.get("teardown", False), args)
        storage = stack.storage()
        box = _machine(stack, storage, args) if stack.builds("workloads") else None
        if stack.builds("base"):
            stack.cost_alerts()
        self.instance_id, self.connect_command = (box.instance_id, box.connect_command) if box else (None, None)
        self.bucket_names, self._parts = storage.bucket_names, stack.parts(storage)
        self.register_outputs(self.stack_outputs())

    def stack_outputs(self) -> dict[str, Any]:
        """Outputs of a stack with this blueprint."""
        return {
            "instanceId": self.instance_id,
            "connectCommand": self.connect_command,
            "bucketNames": self.bucket_names,
            "parts": self._parts,
        }


def _machine(stack: AwsStack, storage: Storage, args: BoxArgs) -> AwsBox:
    """The instance with its pinned image, in a subnet of its zone."""
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
