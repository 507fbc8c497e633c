"""The stack's KMS key."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_aws.kms.alias import Alias
from pulumi_aws.kms.key import Key
from rackwright.stackplan import KeyPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.aws.identity.policy_documents import Statement, allow, document
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.upstream import StackReferences

USE = ("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey")
ADMINISTER = (
    "kms:CreateAlias", "kms:Describe*", "kms:Enable*", "kms:List*", "kms:Put*", "kms:Update*", "kms:Revoke*", "kms:Disable*", "kms:Get*",
    "kms:Delete*", "kms:TagResource", "kms:UntagResource", "kms:ScheduleKeyDeletion", "kms:CancelKeyDeletion", "kms:RotateKeyOnDemand",
)  # fmt: skip
"""Without `kms:Create*`, because CreateGrant has separate statements."""
LAUNCHERS = (
    "aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling",
    "aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot",
)
LUSTRE_S3 = ("aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access_*",)


class AwsKeyArgs(TypedDict):
    """key: KeyPlan. account: the account whose IAM policies control the key. key_arn: an existing key instead of the plan's."""

    key: Part[KeyPlan]
    account: Input[str]
    region: str
    tags: Mapping[str, Input[str]]
    teardown: NotRequired[bool]
    key_arn: NotRequired[Input[str]]


class AwsKey(pulumi.ComponentResource):
    """A KMS key with rotation, alias, and a policy that separates administration from use; or an existing key with its own policy."""

    key_arn: Output[str]
    key_id: Output[str]

    def __init__(self, name: str, args: AwsKeyArgs, opts: ResourceOptions | None = None):
        check_args(AwsKeyArgs, args)
        super().__init__("rackwright:index:AwsKey", name, None, opts)
        plan, child = part(KeyPlan, args["key"]), ChildContext(self, name, args["tags"])
        if "key_arn" in args or plan.existing_arn:
            self.key_arn = Output.from_input(args["key_arn"] if "key_arn" in args else StackReferences(self, name).value(plan.existing_arn))
            self.key_id = self.key_arn.apply(lambda arn: arn.rpartition("/")[2])
        else:
            key = _key(child, plan, args)
            self.key_arn, self.key_id = key.arn, key.key_id
        self.register_outputs({"keyArn": self.key_arn, "keyId": self.key_id})


def _key(child: ChildContext, plan: KeyPlan, args: AwsKeyArgs) -> Key:
    key = Key(
        child.name("key"),
        description=f"Encrypts {', '.join(plan.serves)} of {child.stem}",
        enable_key_rotation=True,
        rotation_period_in_days=plan.rotation_days,
        deletion_window_in_days=plan.deletion_window_days,
        policy=document(*_statements(plan, args["account"], args["region"])),
        tags=child.tagged("key"),
        opts=child.opts(protect=not args.get("teardown"), retain_on_delete=not args.get("teardown")),
    )
    Alias(child.name("alias"), name=f"alias/{child.stem}", target_key_id=key.key_id, opts=child.opts(delete_before_replace=True))
    return key


def _statements(plan: KeyPlan, account: Input[str], region: str) -> list[Statement]:
    """Services use the key through grants. Grants are limited to services, except with EKS: CreateCluster rejects that condition.

    Sources: https://docs.aws.amazon.com/eks/latest/userguide/enable-kms.html
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html
    https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html (publishers to an encrypted topic need its key)
    """
    owner = {"AWS": Output.format("arn:aws:iam::{0}:root", account)}
    services = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    statements = [
        allow(ADMINISTER, Sid="Administer", Principal=owner),
        allow(USE, Sid="UseByIamPolicy", Principal=owner),
        allow(["kms:CreateGrant"], Sid="GrantByIamPolicy", Principal=owner)
        if "cluster" in plan.serves
        else allow(["kms:CreateGrant"], Sid="GrantToServices", Principal=owner, Condition=services),
    ]
    if "disks" in plan.serves:
        statements += _by_role("Launchers", account, LAUNCHERS, services)
    if "filesystem" in plan.serves:
        statements += _by_role("LustreImports", account, LUSTRE_S3)
    if "logs" in plan.serves:
        groups = {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": Output.format("arn:aws:logs:{0}:{1}:log-group:*", region, account)}}
        statements.append(allow(USE, Sid="Logs", Principal={"Service": f"logs.{region}.amazonaws.com"}, Condition=groups))
    if "alarms" in plan.serves:
        publishers = {"Service": ["budgets.amazonaws.com", "cloudwatch.amazonaws.com"]}
        own = {"StringEquals": {"aws:SourceAccount": account}}
        statements.append(allow(["kms:Decrypt", "kms:GenerateDataKey*"], Sid="Alarms", Principal=publishers, Condition=own))
    return statements


def _by_role(sid: str, account: Input[str], roles: Sequence[str], grants: dict | None = None) -> list[Statement]:
    """Service-linked roles are matched by ARN in a condition, because a principal must exist.

    Instances of Auto Scaling or spot capacity fail with Client.InternalError if the service's role cannot use the key of their disks:
    https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
    A Lustre file system reads encrypted buckets with a service-linked role:
    https://docs.aws.amazon.com/fsx/latest/LustreGuide/s3-server-side-encryption-support.html
    """
    principals = [Output.format("arn:aws:iam::{0}:role/{1}", account, role) for role in roles]
    named = {"ArnLike": {"aws:PrincipalArn": principals}, "StringEquals": {"kms:CallerAccount": account}}
    statements = [allow(USE, Sid=sid, Principal={"AWS": "*"}, Condition=named)]
    if grants:
        statements.append(allow(["kms:CreateGrant"], Sid=f"{sid}Grants", Principal={"AWS": "*"}, Condition={**named, **grants}))
    return statements
