"""What tells that money is being wasted: a budget, idle machines, the stack's last day."""

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
from rackwright.compile.wants import GuardWant

from rackwright_pulumi.args import PartInput, part
from rackwright_pulumi.aws.policies import Statement, allow, document, key_access
from rackwright_pulumi.aws.roles import granted_role
from rackwright_pulumi.aws.tags import Kin, fitting

STACK_TAG = "rackwright-stack"
SCHEDULE_NAME_LIMIT = 64
ALARM_PERIOD_S = 60
"""Of the detailed metrics that every machine of a pool sends."""
ACTIVATE = f"aws ce update-cost-allocation-tags-status --cost-allocation-tags-status TagKey={STACK_TAG},Status=Active"


class AwsGuardArgs(TypedDict):
    """guard: GuardWant. stack: value of the tag that the budget counts by. groups: Auto Scaling group of each pool that should not idle.

    kms_key_arn: encrypts the topic; its policy must let budgets and alarms use it (KeyWant.serves has `alarms`).
    """

    guard: PartInput
    stack: str
    account: Input[str]
    region: str
    kms_key_arn: Input[str]
    groups: Mapping[str, Input[str]]
    tags: Mapping[str, str]
    boundary_arn: NotRequired[str | None]


class AwsGuard(pulumi.ComponentResource):
    """One topic that mails whom the plan names, and what publishes to it. It tells and never deletes.

    Each address must confirm its subscription, and a budget by tag sees costs only once the payer's account has made the tag one for cost
    allocation, which `activate_command` does: https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/activating-tags.html
    """

    topic_arn: Output[str]
    activate_command: Output[str]

    def __init__(self, name: str, args: AwsGuardArgs, opts: ResourceOptions | None = None):
        super().__init__("rackwright:index:AwsGuard", name, None, opts)
        want, kin = part(GuardWant, args["guard"]), Kin(self, name, args["tags"], args.get("boundary_arn"))
        topic = Topic(kin.name("topic"), kms_master_key_id=args["kms_key_arn"], tags=kin.tagged("topic"), opts=kin.opts())
        policy = TopicPolicy(kin.name("topic"), arn=topic.arn, policy=document(*_publishers(topic.arn, args)), opts=kin.opts())
        for number, address in enumerate(want.emails):
            TopicSubscription(kin.name("mail", number), topic=topic.arn, protocol="email", endpoint=address, opts=kin.opts())
        if want.budget_usd_per_month is not None:
            _budget(kin, want, args["stack"], topic, policy)
        for pool, group in args["groups"].items() if want.idle_minutes else ():
            _idle(kin, want, pool, group, topic)
        if want.reminders:
            _reminders(kin, want, args, topic)
        self.topic_arn, self.activate_command = topic.arn, Output.from_input(ACTIVATE)
        self.register_outputs({"topicArn": self.topic_arn, "activateCommand": self.activate_command})


def _publishers(topic_arn: Input[str], args: AwsGuardArgs) -> list[Statement]:
    """Budgets and alarms of this account alone; reminders publish by a role.

    https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-sns-policy.html
    """
    own = {"StringEquals": {"aws:SourceAccount": args["account"]}}
    services = {"Budgets": "budgets.amazonaws.com", "Alarms": "cloudwatch.amazonaws.com"}
    return [allow(["sns:Publish"], topic_arn, Sid=sid, Principal={"Service": name}, Condition=own) for sid, name in services.items()]


def _budget(kin: Kin, want: GuardWant, stack: str, topic: Topic, policy: TopicPolicy) -> None:
    """A budget checks that it may publish to its topic when it is made. User-defined tags are filtered as `user:<key>$<value>`:

    https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_budgets_Budget.html
    """
    told = [("ACTUAL", percent) for percent in want.alert_percents] + [("FORECASTED", want.alert_percents[-1])]
    Budget(
        kin.name("budget"),
        budget_type="COST",
        time_unit="MONTHLY",
        limit_amount=f"{want.budget_usd_per_month:.2f}",
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
            for kind, percent in told
        ],
        tags=kin.tagged("budget"),
        opts=kin.opts(depends_on=[policy]),
    )


def _idle(kin: Kin, want: GuardWant, pool: str, group: Input[str], topic: Topic) -> None:
    """The busiest machine of the group in its busiest minute; a group without machines has no data and costs nothing."""
    MetricAlarm(
        kin.name("idle", pool),
        alarm_description=f"The machines of {pool} have done nothing for {want.idle_minutes} minutes",
        namespace="AWS/EC2",
        metric_name="CPUUtilization",
        dimensions={"AutoScalingGroupName": group},
        statistic="Maximum",
        period=ALARM_PERIOD_S,
        evaluation_periods=want.idle_minutes,
        comparison_operator="LessThanThreshold",
        threshold=want.idle_cpu_percent,
        treat_missing_data="notBreaching",
        alarm_actions=[topic.arn],
        tags=kin.tagged("idle", pool),
        opts=kin.opts(),
    )


def _reminders(kin: Kin, want: GuardWant, args: AwsGuardArgs, topic: Topic) -> None:
    """https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html, one-time schedules."""
    trust = document(
        {
            "Effect": "Allow",
            "Principal": {"Service": "scheduler.amazonaws.com"},
            "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"aws:SourceAccount": args["account"]}},
        }
    )
    rights = [allow(["sns:Publish"], topic.arn), key_access(args["kms_key_arn"], "sns", args["region"])]
    publisher = granted_role(kin, "reminder", trust, statements=rights)
    for days, moment in want.reminders:
        Schedule(
            kin.name("reminder", days),
            description=f"Says that {args['stack']} ends on {want.expires_on}",
            schedule_expression=f"at({moment})",
            schedule_expression_timezone="UTC",
            flexible_time_window=ScheduleFlexibleTimeWindowArgs(mode="OFF"),
            target=ScheduleTargetArgs(
                arn=topic.arn,
                role_arn=publisher.arn,
                input=f"The stack {args['stack']} should be gone by {want.expires_on}. Take it down, or give blueprint.ttl more time.",
            ),
            opts=kin.opts(depends_on=list(publisher.rights)),
            **fitting("name", kin.name("reminder", days), SCHEDULE_NAME_LIMIT),
        )
