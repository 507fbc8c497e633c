"""Cost alerts: budget, idle machines, and expiry of the stack."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_aws.budgets.budget import Budget, BudgetCostFilterArgs, BudgetNotificationArgs
from pulumi_aws.cloudwatch.metric_alarm import MetricAlarm
from pulumi_aws.scheduler.schedule import Schedule, ScheduleFlexibleTimeWindowArgs, ScheduleTargetArgs
from pulumi_aws.sns.topic import Topic
from pulumi_aws.sns.topic_policy import TopicPolicy
from pulumi_aws.sns.topic_subscription import TopicSubscription
from rackwright.stackplan import CostAlertsPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.aws.identity.policy_documents import allow, document, key_access
from rackwright_pulumi.aws.identity.roles import granted_role
from rackwright_pulumi.aws.tags import ChildContext, name_or_prefix
from rackwright_pulumi.check_args import check_args

STACK_TAG = "rackwright-stack"
SCHEDULE_NAME_LIMIT = 64
ALARM_PERIOD_S = 60
"""Period of EC2 detailed monitoring."""
PUBLISHERS = (("Budgets", "budgets.amazonaws.com"), ("Alarms", "cloudwatch.amazonaws.com"))
"""Statement id and service."""
ACTIVATE = f"aws ce update-cost-allocation-tags-status --cost-allocation-tags-status TagKey={STACK_TAG},Status=Active"


class AwsGuardArgs(TypedDict):
    """guard: CostAlertsPlan. stack: value of the budget's tag filter. groups: Auto Scaling group by pool, for idle alarms.

    kms_key_arn: encrypts the topic; its policy must allow budgets and alarms (`alarms` in KeyPlan.serves).
    """

    guard: Part[CostAlertsPlan]
    stack: str
    account: Input[str]
    region: str
    kms_key_arn: Input[str]
    groups: Mapping[str, Input[str]]
    tags: Mapping[str, Input[str]]
    boundary_arn: NotRequired[str | None]


class AwsGuard(pulumi.ComponentResource):
    """An SNS topic with email subscriptions, and its budget, alarms and reminders. It sends alerts and deletes nothing.

    Each address must confirm its subscription. The budget counts costs only after the payer account activated the tag for cost
    allocation, with `activate_command`: https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/activating-tags.html
    """

    topic_arn: Output[str]
    activate_command: Output[str]

    def __init__(self, name: str, args: AwsGuardArgs, opts: ResourceOptions | None = None):
        check_args(AwsGuardArgs, args)
        super().__init__("rackwright:index:AwsGuard", name, None, opts)
        plan, child = part(CostAlertsPlan, args["guard"]), ChildContext(self, name, args["tags"], args.get("boundary_arn"))
        topic = Topic(child.name("topic"), kms_master_key_id=args["kms_key_arn"], tags=child.tagged("topic"), opts=child.opts())
        # Budgets and alarms of this account publish; reminders use a role.
        # https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-sns-policy.html
        own = {"StringEquals": {"aws:SourceAccount": args["account"]}}
        publishers = [
            allow(["sns:Publish"], topic.arn, Sid=sid, Principal={"Service": service}, Condition=own) for sid, service in PUBLISHERS
        ]
        policy = TopicPolicy(child.name("topic"), arn=topic.arn, policy=document(*publishers), opts=child.opts())
        for number, address in enumerate(plan.emails):
            TopicSubscription(child.name("mail", number), topic=topic.arn, protocol="email", endpoint=address, opts=child.opts())
        if plan.budget_usd_per_month is not None:
            _budget(child, plan, args["stack"], topic, policy)
        for pool, group in args["groups"].items() if plan.idle_minutes else ():
            _idle(child, plan, pool, group, topic)
        if plan.reminders:
            _reminders(child, plan, args, topic)
        self.topic_arn, self.activate_command = topic.arn, Output.from_input(ACTIVATE)
        self.register_outputs({"topicArn": self.topic_arn, "activateCommand": self.activate_command})


def _budget(child: ChildContext, plan: CostAlertsPlan, stack: str, topic: Topic, policy: TopicPolicy) -> None:
    """The budget depends on the topic policy, because AWS checks it at creation. Filter of user-defined tags: `user:<key>$<value>`.

    https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_budgets_Budget.html
    """
    notifications = [("ACTUAL", percent) for percent in plan.alert_percents] + [("FORECASTED", plan.alert_percents[-1])]
    Budget(
        child.name("budget"),
        budget_type="COST",
        time_unit="MONTHLY",
        limit_amount=f"{plan.budget_usd_per_month:.2f}",
        limit_unit="USD",
        cost_filters=[BudgetCostFilterArgs(name="TagKeyValue", values=[f"user:{STACK_TAG}${stack}"])],
        notifications=[
            BudgetNotificationArgs(
                notification_type=kind,
                comparison_operator="GREATER_THAN",
                threshold=percent,
                threshold_type="PERCENTAGE",
                subscriber_sns_topic_arns=[topic.arn],
            )
            for kind, percent in notifications
        ],
        tags=child.tagged("budget"),
        opts=child.opts(depends_on=[policy]),
    )


def _idle(child: ChildContext, plan: CostAlertsPlan, pool: str, group: Input[str], topic: Topic) -> None:
    """Alarm on the maximum CPU use over all machines of the group; a group without machines has no data and no alarm."""
    MetricAlarm(
        child.name("idle", pool),
        alarm_description=f"The machines of {pool} have done nothing for {plan.idle_minutes} minutes",
        namespace="AWS/EC2",
        metric_name="CPUUtilization",
        dimensions={"AutoScalingGroupName": group},
        statistic="Maximum",
        period=ALARM_PERIOD_S,
        evaluation_periods=plan.idle_minutes,
        comparison_operator="LessThanThreshold",
        threshold=plan.idle_cpu_percent,
        treat_missing_data="notBreaching",
        alarm_actions=[topic.arn],
        tags=child.tagged("idle", pool),
        opts=child.opts(),
    )


def _reminders(child: ChildContext, plan: CostAlertsPlan, args: AwsGuardArgs, topic: Topic) -> None:
    """One-time schedules: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html"""
    trust = document(
        {
            "Effect": "Allow",
            "Principal": {"Service": "scheduler.amazonaws.com"},
            "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"aws:SourceAccount": args["account"]}},
        }
    )
    rights = [allow(["sns:Publish"], topic.arn), key_access(args["kms_key_arn"], "sns", args["region"])]
    publisher = granted_role(child, "reminder", trust, statements=rights)
    for days, moment in plan.reminders:
        Schedule(
            child.name("reminder", days),
            description=f"Says that {args['stack']} ends on {plan.expires_on}",
            schedule_expression=f"at({moment})",
            schedule_expression_timezone="UTC",
            flexible_time_window=ScheduleFlexibleTimeWindowArgs(mode="OFF"),
            target=ScheduleTargetArgs(
                arn=topic.arn,
                role_arn=publisher.arn,
                input=f"The stack {args['stack']} should be gone by {plan.expires_on}. Take it down, or give blueprint.ttl more time.",
            ),
            opts=child.opts(depends_on=list(publisher.rights)),
            **name_or_prefix("name", child.name("reminder", days), SCHEDULE_NAME_LIMIT),
        )
