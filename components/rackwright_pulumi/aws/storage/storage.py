"""What outlives the machines: buckets and a Lustre file system."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.stackplan import BucketPlan, LustrePlan

from rackwright_pulumi.args import PartInput, part
from rackwright_pulumi.aws.storage.bucket import BucketSite, bucket
from rackwright_pulumi.aws.storage.lustre import FileSystemSite, Lustre, lustre
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.unsupported import Unsupported


class AwsStorageArgs(TypedDict):
    """buckets: tuple of BucketPlan. lustre: LustrePlan, with the network it lives in (the first subnet) and its clients' security groups.

    fabric_group_id: the fabric's own group, for a file system that speaks RDMA. teardown lifts the protection, and lets full buckets and
    the file system go without a last backup; delete_data says the latter apart.
    """

    buckets: PartInput
    kms_key_arn: Input[str]
    tags: Mapping[str, str]
    teardown: NotRequired[bool]
    delete_data: NotRequired[bool]
    lustre: NotRequired[PartInput | None]
    vpc_id: NotRequired[Input[str]]
    subnet_ids: NotRequired[Sequence[Input[str]]]
    fabric_group_id: NotRequired[Input[str] | None]
    client_group_ids: NotRequired[Sequence[Input[str]]]


class AwsStorage(pulumi.ComponentResource):
    """Buckets, each private, encrypted, reached by TLS only; and a file system that shows them to the machines."""

    bucket_names: Output[Mapping[str, str]]
    lustre: Lustre | None

    def __init__(self, name: str, args: AwsStorageArgs, opts: ResourceOptions | None = None):
        super().__init__("rackwright:index:AwsStorage", name, None, opts)
        child = ChildContext(self, name, args["tags"])
        wants = part(tuple[BucketPlan, ...], args["buckets"])
        protect, delete_data = not args.get("teardown"), args.get("delete_data", args.get("teardown", False))
        self.buckets: dict[str, BucketSite] = {plan.key: bucket(child, plan, args["kms_key_arn"], protect, delete_data) for plan in wants}
        self.bucket_names = Output.all(**{key: place.name for key, place in self.buckets.items()})
        plan = part(LustrePlan, args.get("lustre"))
        self.lustre = lustre(child, plan, _site(args, protect, delete_data), self.buckets) if plan else None
        self.register_outputs({"bucketNames": self.bucket_names, "lustre": self.lustre.outputs if self.lustre else None})


def _site(args: AwsStorageArgs, protect: bool, delete_data: bool) -> FileSystemSite:
    """Raises Unsupported where the network of the file system is not given."""
    vpc_id, subnet_ids = args.get("vpc_id"), args.get("subnet_ids")
    if vpc_id is None or subnet_ids is None:
        raise Unsupported("a file system without a network", "lustre", "vpc_id and subnet_ids")
    return FileSystemSite(
        vpc_id=vpc_id,
        subnet_id=subnet_ids[0],
        fabric_group_id=args.get("fabric_group_id"),
        client_group_ids=args.get("client_group_ids", ()),
        kms_key_arn=args["kms_key_arn"],
        protect=protect,
        delete_data=delete_data,
    )
