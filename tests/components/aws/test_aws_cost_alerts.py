"""The topic of cost alerts, and the budget, alarms and reminders that publish to it."""

import json
import re
from datetime import datetime

from rackwright.stackplan import CostAlertsPlan
from rackwright_pulumi.aws.cost_alerts import AwsGuard
from rackwright_pulumi.testing import record

from tests.components.sdk import misfits, untagged

KEY_ARN = "arn:aws:kms:us-east-1:123456789012:key/k"
WANT = CostAlertsPlan(
    budget_usd_per_month=5000.5,
    emails=("a@example.com", "b@example.com"),
    idle_minutes=60,
    expires_on="2026-12-05",
    reminders=((7, "2026-11-28T08:00:00"), (0, "2026-12-05T08:00:00")),
)
TOPIC, BUDGET, ALARM = "aws:sns/topic:Topic", "aws:budgets/budget:Budget", "aws:cloudwatch/metricAlarm:MetricAlarm"
SCHEDULE = "aws:scheduler/schedule:Schedule"


def guard(want=WANT, name="demo-guard", **more):
    args = {
        "guard": want,
        "stack": "demo",
        "account": "123456789012",
        "region": "us-east-1",
        "kms_key_arn": KEY_ARN,
        "groups": {"gpu": "asg-1"},
        "tags": {"owner": "test"},
    }
    return record(lambda: AwsGuard(name, args | more) and None)


def statements(graph, type_token, field):
    return json.loads(graph.one(type_token).inputs[field])["Statement"]


def test_the_sdk_declares_every_input_and_every_taggable_resource_is_tagged():
    graph = guard()
    assert not misfits(graph)
    assert not untagged(graph, "test")
    assert not graph.unregistered()


def test_b1_the_budget_filters_by_the_stack_tag():
    graph = guard()
    inputs = graph.one(BUDGET).inputs
    assert (inputs["budgetType"], inputs["timeUnit"], inputs["limitAmount"], inputs["limitUnit"]) == ("COST", "MONTHLY", "5000.50", "USD")
    assert inputs["costFilters"] == [{"name": "TagKeyValue", "values": ["user:rackwright-stack$demo"]}]
    told = [(n["notificationType"], n["threshold"]) for n in inputs["notifications"]]
    assert told == [("ACTUAL", 50), ("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100)]
    assert {tuple(n["subscriberSnsTopicArns"]) for n in inputs["notifications"]} == {(graph.one(TOPIC).state["arn"],)}


def test_b1_the_budget_depends_on_the_topic_policy():
    graph = guard()
    assert graph.one("aws:sns/topicPolicy:TopicPolicy").urn in graph.one(BUDGET).depends_on


def test_b1_a_plan_without_a_budget_creates_none():
    graph = guard(CostAlertsPlan())
    assert not graph.by_type(BUDGET)
    assert not graph.by_type(ALARM)
    assert not graph.by_type(SCHEDULE)


def test_only_budgets_and_alarms_of_this_account_publish():
    found = statements(guard(), "aws:sns/topicPolicy:TopicPolicy", "policy")
    assert {s["Principal"]["Service"] for s in found} == {"budgets.amazonaws.com", "cloudwatch.amazonaws.com"}
    assert all(s["Condition"] == {"StringEquals": {"aws:SourceAccount": "123456789012"}} for s in found)
    assert all(s["Action"] == ["sns:Publish"] and s["Resource"] != "*" for s in found)


def test_the_topic_is_encrypted_and_has_the_subscriptions_of_the_plan():
    graph = guard()
    assert graph.one(TOPIC).inputs["kmsMasterKeyId"] == KEY_ARN
    mails = {n.inputs["endpoint"] for n in graph.by_type("aws:sns/topicSubscription:TopicSubscription")}
    assert mails == set(WANT.emails)


def test_b3_every_pool_has_an_idle_alarm():
    graph = guard(groups={"gpu": "asg-1", "more": "asg-2"})
    alarms = {n.inputs["dimensions"]["AutoScalingGroupName"]: n.inputs for n in graph.by_type(ALARM)}
    assert set(alarms) == {"asg-1", "asg-2"}
    gpu = alarms["asg-1"]
    assert gpu["alarmActions"] == [graph.one(TOPIC).state["arn"]]
    assert (gpu["statistic"], gpu["evaluationPeriods"] * gpu["period"], gpu["threshold"]) == ("Maximum", 3600, 2)


def test_alarm_periods_stay_within_the_limit_of_cloudwatch():
    """An alarm evaluates a day at most: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html"""
    from rackwright.compile.cost_alerts import IDLE_MINUTES

    assert max(IDLE_MINUTES.values()) * 60 <= 86400


def test_reminders_have_the_time_format_of_the_scheduler():
    for node in guard().by_type(SCHEDULE):
        (moment,) = re.fullmatch(r"at\((.{19})\)", node.inputs["scheduleExpression"]).groups()
        assert datetime.fromisoformat(moment).tzinfo is None
        assert node.inputs["flexibleTimeWindow"] == {"mode": "OFF"}
        assert len(node.inputs["target"]["input"]) < 262144


def test_the_role_of_reminders_can_only_publish():
    graph = guard()
    publish, use = statements(graph, "aws:iam/rolePolicy:RolePolicy", "policy")
    assert (publish["Action"], publish["Resource"]) == (["sns:Publish"], graph.one(TOPIC).state["arn"])
    assert use["Resource"] == KEY_ARN
    (trust,) = statements(graph, "aws:iam/role:Role", "assumeRolePolicy")
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": "123456789012"}}
    rights = graph.one("aws:iam/rolePolicy:RolePolicy").urn
    assert all(rights in n.depends_on for n in graph.by_type(SCHEDULE))


def test_a_long_name_leaves_room_for_the_unique_suffix():
    schedule = guard(name="a" * 60).by_type(SCHEDULE)[0]
    assert len(schedule.inputs["namePrefix"]) <= 64 - 26
