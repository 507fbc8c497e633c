"""AWS resources of pod logs: the log group, and the role of the pods that write to it."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, Resource, ResourceOptions
from pulumi_aws.cloudwatch.log_group import LogGroup
from pulumi_aws.eks.pod_identity_association import PodIdentityAssociation
from rackwright.stackplan import ClusterPlan
from rackwright.stackplan.operators import POD_LOGS_ACCOUNT, POD_LOGS_NAMESPACE, pod_log_group

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.aws.identity.policy_documents import allow, pod_trust
from rackwright_pulumi.aws.identity.roles import granted_role
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.check_args import check_args

WRITE = ("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents")
"""Without CreateLogGroup: https://docs.fluentbit.io/manual/pipeline/outputs/cloudwatch#permissions"""


class AwsPodLogsArgs(TypedDict):
    """cluster: ClusterPlan, with the retention of its logs. kms_key_arn: its policy allows CloudWatch Logs (AwsKey: `logs`)."""

    cluster: Part[ClusterPlan]
    cluster_name: Input[str]
    cluster_arn: Input[str]
    account: Input[str]
    kms_key_arn: Input[str]
    tags: Mapping[str, Input[str]]
    boundary_arn: NotRequired[str | None]


class AwsPodLogs(pulumi.ComponentResource):
    """An encrypted log group, and a role that can write to it alone, for the service account `pod-logs` in kube-system.

    Fluent Bit is a Helm release; make it depend on `ready`.
    """

    log_group_name: Output[str]
    role_arn: Output[str]

    def __init__(self, name: str, args: AwsPodLogsArgs, opts: ResourceOptions | None = None):
        check_args(AwsPodLogsArgs, args)
        super().__init__("rackwright:index:AwsPodLogs", name, None, opts)
        plan, child = part(ClusterPlan, args["cluster"]), ChildContext(self, name, args["tags"], args.get("boundary_arn"))
        group = LogGroup(
            child.name("group"),
            name=pod_log_group(plan.name),
            kms_key_id=args["kms_key_arn"],
            retention_in_days=plan.log_retention_days,
            tags=child.tagged("group"),
            opts=child.opts(delete_before_replace=True),
        )
        trust = pod_trust(args["cluster_arn"], args["account"])
        role = granted_role(child, "role", trust, statements=[allow(WRITE, [group.arn, Output.concat(group.arn, ":*")])])
        pods = PodIdentityAssociation(
            child.name("pods"),
            cluster_name=args["cluster_name"],
            namespace=POD_LOGS_NAMESPACE,
            service_account=POD_LOGS_ACCOUNT,
            role_arn=role.arn,
            tags=child.tagged("pods"),
            opts=child.opts(),
        )
        self.ready: list[Resource] = [*role.rights, pods]
        self.log_group_name, self.role_arn = group.name, role.arn
        self.register_outputs({"logGroupName": group.name, "roleArn": role.arn})
