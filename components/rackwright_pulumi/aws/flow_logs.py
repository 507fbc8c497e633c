"""Who talked to whom in the network, kept encrypted."""

from pulumi import Input, Output
from pulumi_aws.cloudwatch.log_group import LogGroup
from pulumi_aws.ec2.flow_log import FlowLog

from rackwright_pulumi.aws.policies import allow, service_trust
from rackwright_pulumi.aws.roles import granted_role
from rackwright_pulumi.aws.tags import Kin

KEPT_DAYS = 90


def flow_logs(kin: Kin, vpc_id: Output[str], kms_key_arn: Input[str]) -> None:
    group = LogGroup(kin.name("flows"), kms_key_id=kms_key_arn, retention_in_days=KEPT_DAYS, tags=kin.tagged("flows"), opts=kin.opts())
    writing = allow(["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"], Output.concat(group.arn, ":*"))
    looking = allow(["logs:DescribeLogGroups"])  # takes no single group: docs.aws.amazon.com/vpc/latest/userguide/flow-logs-iam-role.html
    writer = granted_role(kin, "flows-writer", service_trust("vpc-flow-logs.amazonaws.com"), statements=[writing, looking])
    FlowLog(
        kin.name("flows"),
        vpc_id=vpc_id,
        traffic_type="ALL",
        log_destination_type="cloud-watch-logs",
        log_destination=group.arn,
        iam_role_arn=writer.arn,
        tags=kin.tagged("flows"),
        opts=kin.opts(depends_on=list(writer.rights)),
    )
