"""Persistent storage: buckets and a Lustre file system."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.stackplan import BucketPlan, LustrePlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.aws.network.vpc import ANYWHERE
from rackwright_pulumi.aws.storage.bucket import BucketLocation, bucket
from rackwright_pulumi.aws.storage.lustre import FileSystemSettings, Lustre, lustre
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.unsupported import Unsupported


class AwsStorageArgs(TypedDict):
    """buckets: tuple of BucketPlan. lustre: LustrePlan; requires vpc_id, subnet_ids (the first is used) and the clients' security groups.

    fabric_group_id: for a file system with EFA. network_cidr: the range that the file system reaches; default: all.
    teardown: remove the protection, and delete buckets with objects and the file system without a final backup; delete_data sets the latter
    separately.
    """

    buckets: Part[Sequence[BucketPlan]]
    kms_key_arn: Input[str]
    tags: Mapping[str, Input[str]]
    teardown: NotRequired[bool]
    delete_data: NotRequired[bool]
    lustre: NotRequired[Part[LustrePlan | None] | None]
    vpc_id: NotRequired[Input[str]]
    subnet_ids: NotRequired[Sequence[Input[str]]]
    fabric_group_id: NotRequired[Input[str] | None]
    client_group_ids: NotRequired[Sequence[Input[str]]]
    network_cidr: NotRequired[str]


class AwsStorage(pulumi.ComponentResource):
    """Private, encrypted buckets with TLS only, and a Lustre file system linked to them."""

    bucket_names: Output[Mapping[str, str]]
    lustre: Lustre | None

    def __init__(self, name: str, args: AwsStorageArgs, opts: ResourceOptions | None = None):
        check_args(AwsStorageArgs, args)
        super().__init__("rackwright:index:AwsStorage", name, None, opts)
        child = ChildContext(self, name, args["tags"])
        plans = part(tuple[BucketPlan, ...], args["buckets"])
        protect, delete_data = not args.get("teardown"), args.get("delete_data", args.get("teardown", False))
        self.buckets: dict[str, BucketLocation] = {
            plan.key: bucket(child, plan, args["kms_key_arn"], protect, delete_data) for plan in plans
        }
        self.bucket_names = Output.all(**{key: bucket.name for key, bucket in self.buckets.items()})
        plan = part(LustrePlan, args.get("lustre"))
        self.lustre = lustre(child, plan, _file_system_settings(args, protect, delete_data), self.buckets) if plan else None
        self.register_outputs({"bucketNames": self.bucket_names, "lustre": self.lustre.outputs if self.lustre else None})


def _file_system_settings(args: AwsStorageArgs, protect: bool, delete_data: bool) -> FileSystemSettings:
    """Raises Unsupported for a file system without a network."""
    vpc_id, subnet_ids = args.get("vpc_id"), args.get("subnet_ids")
    if vpc_id is None or subnet_ids is None:
        raise Unsupported("a file system without a network", "lustre", "vpc_id and subnet_ids")
    return FileSystemSettings(
        vpc_id=vpc_id,
        subnet_id=subnet_ids[0],
        fabric_group_id=args.get("fabric_group_id"),
        client_group_ids=args.get("client_group_ids", ()),
        kms_key_arn=args["kms_key_arn"],
        protect=protect,
        delete_data=delete_data,
        network_cidr=args.get("network_cidr") or ANYWHERE,
    )
