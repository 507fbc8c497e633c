"""Encrypted VPC flow logs."""

from pulumi import Input, Output
from pulumi_aws.cloudwatch.log_group import LogGroup
from pulumi_aws.ec2.flow_log import FlowLog

from rackwright_pulumi.aws.identity.policy_documents import allow, service_trust
from rackwright_pulumi.aws.identity.roles import granted_role
from rackwright_pulumi.aws.tags import ChildContext

RETENTION_DAYS = 90


def flow_logs(child: ChildContext, vpc_id: Output[str], kms_key_arn: Input[str]) -> None:
    group = LogGroup(
        child.name("flows"), kms_key_id=kms_key_arn, retention_in_days=RETENTION_DAYS, tags=child.tagged("flows"), opts=child.opts()
    )
    write = allow(["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"], Output.concat(group.arn, ":*"))
    describe = allow(
        ["logs:DescribeLogGroups"]
    )  # no single group: https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs-iam-role.html
    writer = granted_role(child, "flows-writer", service_trust("vpc-flow-logs.amazonaws.com"), statements=[write, describe])
    FlowLog(
        child.name("flows"),
        vpc_id=vpc_id,
        traffic_type="ALL",
        log_destination_type="cloud-watch-logs",
        log_destination=group.arn,
        iam_role_arn=writer.arn,
        tags=child.tagged("flows"),
        opts=child.opts(depends_on=list(writer.rights)),
    )
