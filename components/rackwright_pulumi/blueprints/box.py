"""Box: one machine, scaled up."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.compile.wants import BoxWant, IdentityWant, Kind, StackPlan

from rackwright_pulumi.args import PlanInput, plan_of
from rackwright_pulumi.aws.box import AwsBox
from rackwright_pulumi.aws.identity import AwsIdentity
from rackwright_pulumi.blueprints.aws import AwsStack
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported

NO_GRANTS = IdentityWant("box")


class BoxArgs(TypedDict):
    """plan: a StackPlan of kind box. teardown: lift every protection. secrets: what the machine may read, under `/<stack>/<name>`.

    image_id: a machine image in place of the one the plan names.
    """

    plan: PlanInput
    teardown: NotRequired[bool]
    secrets: NotRequired[Mapping[str, Input[str]]]
    image_id: NotRequired[Input[str]]


class Box(pulumi.ComponentResource):
    """A private GPU machine on AWS with its data volume and buckets. Raises Unsupported for any other cloud."""

    instance_id: Output[str]
    connect_command: Output[str]
    bucket_names: Output[Mapping[str, str]]

    def __init__(self, name: str, args: BoxArgs, opts: ResourceOptions | None = None):
        super().__init__("rackwright:index:Box", name, None, opts)
        plan = plan_of(Kind.BOX, args["plan"])
        stack = AwsStack(self, name, plan, args.get("teardown", False))
        want = _box(plan)
        storage = stack.storage()
        machine = stack.identity(next(iter(plan.identities), NO_GRANTS), storage, secrets=args.get("secrets", {}))
        box = _machine(stack, want, machine, args)
        stack.guard()
        self.instance_id, self.connect_command, self.bucket_names = box.instance_id, box.connect_command, storage.bucket_names
        self.register_outputs(self.stack_outputs())

    def stack_outputs(self) -> dict[str, Any]:
        """What a stack of this blueprint exports."""
        return {"instanceId": self.instance_id, "connectCommand": self.connect_command, "bucketNames": self.bucket_names}


def _box(plan: StackPlan) -> BoxWant:
    """The machine with its image's pinned name."""
    if plan.box is None:
        raise Unsupported(f"a box from a plan of {plan.kind}", "box", "the blueprint of that kind")
    return replace(plan.box, image=dict(plan.pins.images).get(plan.box.image, plan.box.image))


def _machine(stack: AwsStack, want: BoxWant, identity: AwsIdentity, args: BoxArgs) -> AwsBox:
    """Behind the network's way out and its private endpoints, in the zone of its capacity."""
    return AwsBox(
        child(stack.name, "box"),
        {
            "box": want,
            "region": stack.region,
            "vpc_id": stack.network.vpc_id,
            "subnet_id": stack.network.machine_subnets([want.zone])[0],
            "profile_name": identity.profile_name,
            "kms_key_arn": stack.key.key_arn,
            "tags": stack.tags,
            "teardown": stack.teardown,
            "image_id": args.get("image_id"),
        },
        stack.below,
    )
