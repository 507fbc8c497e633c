"""IAM role of a workload: for pods, or for one machine."""

import itertools
from collections.abc import Mapping
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_aws.eks.pod_identity_association import PodIdentityAssociation
from pulumi_aws.iam.instance_profile import InstanceProfile
from pulumi_aws.ssm.parameter import Parameter
from rackwright.stackplan import IdentityPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.aws.identity.policy_documents import Statement, allow, bucket_access, key_access, pod_trust, service_trust
from rackwright_pulumi.aws.identity.roles import granted_role, service_role
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.upstream import StackReferences


class AwsIdentityArgs(TypedDict):
    """identity: IdentityPlan. bucket_arns and prefixes: by bucket key, with an entry for every granted bucket.

    cluster_name and cluster_arn: the cluster of the pods; without them the identity is that of a machine with Session Manager.
    secrets: values that the machine may read, stored encrypted as `/<stack>/<name>`.
    """

    identity: Part[IdentityPlan]
    region: str
    account: Input[str]
    kms_key_arn: Input[str]
    bucket_arns: Mapping[str, Input[str]]
    prefixes: Mapping[str, str]
    tags: Mapping[str, Input[str]]
    boundary_arn: NotRequired[str | None]
    cluster_name: NotRequired[Input[str]]
    cluster_arn: NotRequired[Input[str]]
    secrets: NotRequired[Mapping[str, Input[str]]]
    secrets_path: NotRequired[str]


class AwsIdentity(pulumi.ComponentResource):
    """A role with permissions for the granted buckets and prefixes, and for one key through the services that use it.

    An existing role (for a machine: instance profile) is used with its own permissions.
    """

    role_arn: Output[str]
    """Empty for an existing instance profile, whose role is not known."""
    profile_name: Output[str]
    """Empty for pods."""

    def __init__(self, name: str, args: AwsIdentityArgs, opts: ResourceOptions | None = None):
        check_args(AwsIdentityArgs, args)
        super().__init__("rackwright:index:AwsIdentity", name, None, opts)
        plan, child = part(IdentityPlan, args["identity"]), ChildContext(self, name, args["tags"], args.get("boundary_arn"))
        buckets, prefixes = args["bucket_arns"], args["prefixes"]
        granted = [bucket_access(buckets[g.bucket], prefixes.get(g.bucket, ""), g.access == "write") for g in plan.grants]
        through_s3 = [key_access(args["kms_key_arn"], "s3", args["region"])] if plan.grants else []
        statements = [*itertools.chain(*granted), *through_s3, *_secrets(child, args)]
        existing = StackReferences(self, name).value(plan.existing_arn)
        if "cluster_arn" in args:
            self.role_arn, self.profile_name = _pods(child, plan, args, statements, existing), Output.from_input("")
        else:
            self.role_arn, self.profile_name = _machine(child, statements, existing)
        self.register_outputs({"roleArn": self.role_arn, "profileName": self.profile_name})


def _pods(child: ChildContext, plan: IdentityPlan, args: AwsIdentityArgs, statements: list[Statement], existing: Input[str]) -> Output[str]:
    trust = pod_trust(args["cluster_arn"], args["account"])
    role_arn = Output.from_input(service_role(child, "role", trust, existing, statements=statements).arn)
    PodIdentityAssociation(
        child.name("pods"),
        cluster_name=args["cluster_name"],
        namespace=plan.namespace,
        service_account=plan.service_account,
        role_arn=role_arn,
        tags=child.tagged("pods"),
        opts=child.opts(),
    )
    return role_arn


def _machine(child: ChildContext, statements: list[Statement], existing: Input[str]) -> tuple[Output[str], Output[str]]:
    if existing:
        return Output.from_input(""), Output.from_input(existing)
    role = granted_role(child, "role", service_trust("ec2.amazonaws.com"), ["AmazonSSMManagedInstanceCore"], statements)
    profile = InstanceProfile(
        child.name("profile"), role=role.role.name, tags=child.tagged("profile"), opts=child.opts(depends_on=list(role.rights))
    )
    return role.arn, profile.name


def _secrets(child: ChildContext, args: AwsIdentityArgs) -> list[Statement]:
    stored = [
        Parameter(
            child.name("secret", key),
            name=f"{args.get('secrets_path', '/' + child.stem)}/{key}",
            type="SecureString",
            key_id=args["kms_key_arn"],
            value=Output.secret(value),
            tags=child.tagged("secret", key),
            opts=child.opts(delete_before_replace=True),
        )
        for key, value in args.get("secrets", {}).items()
    ]
    if not stored:
        return []
    return [
        allow(["ssm:GetParameter", "ssm:GetParameters"], [parameter.arn for parameter in stored]),
        key_access(args["kms_key_arn"], "ssm", args["region"]),
    ]
