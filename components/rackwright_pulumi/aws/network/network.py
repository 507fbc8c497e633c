"""The network of a stack: private subnets with one NAT gateway, endpoints and flow logs; or an existing network."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_aws.cloudwatch.log_group import LogGroup
from pulumi_aws.ec2.flow_log import FlowLog
from rackwright.stackplan import NetworkPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.aws.identity.policy_documents import account_service_trust, allow, service_trust
from rackwright_pulumi.aws.identity.roles import granted_role
from rackwright_pulumi.aws.network.endpoints import private_endpoints
from rackwright_pulumi.aws.network.security_groups import fabric_group
from rackwright_pulumi.aws.network.subnets import HasSubnets, subnet_plans
from rackwright_pulumi.aws.network.vpc import build_vpc
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.upstream import StackReferences

FLOW_LOG_DAYS = 90


class AwsNetworkArgs(TypedDict):
    """network: NetworkPlan. account: the only account for which flow logs are written with the role; default: any.

    vpc_id and subnet_ids: an existing network instead of the ids in the plan, subnets in the plan's order.
    """

    network: Part[NetworkPlan]
    region: str
    kms_key_arn: Input[str]
    tags: Mapping[str, Input[str]]
    teardown: NotRequired[bool]
    boundary_arn: NotRequired[str | None]
    account: NotRequired[Input[str]]
    vpc_id: NotRequired[Input[str]]
    subnet_ids: NotRequired[Sequence[Input[str]]]


class AwsNetwork(HasSubnets, pulumi.ComponentResource):
    """VPC, subnets, NAT gateway, endpoints, flow logs, and the security group of EFA interfaces.

    An existing network is not changed; only the security group of EFA interfaces is added to it.
    """

    vpc_id: Output[str]
    subnet_ids: Output[Sequence[str]]
    fabric_group_id: Output[str] | None

    def __init__(self, name: str, args: AwsNetworkArgs, opts: ResourceOptions | None = None):
        check_args(AwsNetworkArgs, args)
        super().__init__("rackwright:index:AwsNetwork", name, None, opts)
        plan, child = part(NetworkPlan, args["network"]), ChildContext(self, name, args["tags"], args.get("boundary_arn"))
        if "vpc_id" in args or plan.existing_id:
            stacks = StackReferences(self, name)
            self.vpc_id = Output.from_input(args["vpc_id"] if "vpc_id" in args else stacks.value(plan.existing_id))
            ids = args.get("subnet_ids") or [stacks.value(subnet_id) for subnet_id in plan.existing_subnet_ids]
            self.subnets = list(zip(subnet_plans(plan, len(ids)), map(Output.from_input, ids), strict=True))
        else:
            vpc, self.subnets, private_table, self.zone_names = build_vpc(child, plan, not args.get("teardown"))
            self.vpc_id = vpc.id
            private_endpoints(child, plan, args["region"], vpc.id, private_table.id, self.subnets)
            if plan.flow_logs:
                _flow_logs(child, vpc.id, args)
        self.fabric_group_id = fabric_group(child, self.vpc_id) if plan.self_reachable else None
        self.subnet_ids = Output.all(*dict.fromkeys(subnet_id for _, subnet_id in self.subnets))
        self.register_outputs({"vpcId": self.vpc_id, "subnetIds": self.subnet_ids, "fabricGroupId": self.fabric_group_id})


def _flow_logs(child: ChildContext, vpc_id: Output[str], args: AwsNetworkArgs) -> None:
    """VPC flow logs in an encrypted log group."""
    group = LogGroup(
        child.name("flows"), kms_key_id=args["kms_key_arn"], retention_in_days=FLOW_LOG_DAYS, tags=child.tagged("flows"), opts=child.opts()
    )
    write = allow(["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"], Output.concat(group.arn, ":*"))
    describe = allow(["logs:DescribeLogGroups"])  # for all groups: https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs-iam-role.html
    service = "vpc-flow-logs.amazonaws.com"
    trust = account_service_trust(service, args["account"]) if "account" in args else service_trust(service)
    writer = granted_role(child, "flows-writer", trust, statements=[write, describe])
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
