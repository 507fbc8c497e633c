"""Alert on an idle machine. Cloud Monitoring notifies and stops no machine; the startup script of the machine stops it."""

from collections.abc import Mapping

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_gcp.monitoring import (
    AlertPolicy,
    AlertPolicyConditionArgs,
    AlertPolicyConditionConditionThresholdAggregationArgs,
    AlertPolicyConditionConditionThresholdArgs,
    AlertPolicyDocumentationArgs,
    NotificationChannel,
)
from rackwright.stackplan import BoxPlan, CostAlertsPlan

from rackwright_pulumi.naming import child

STACK_LABEL = "rackwright-stack"
METRIC = 'metric.type = "compute.googleapis.com/instance/cpu/utilization" AND resource.type = "gce_instance"'
MINUTE_S = 60
GRACE_MINUTES = 15
"""Time in which an idle machine stops itself, so that only one that could not causes an alert."""
LONGEST_MINUTES = 23 * 60
"""Of a condition: https://docs.cloud.google.com/monitoring/quotas#alerting_uptime_checks_limits"""


def idle_alert(
    parent: pulumi.Resource, name: str, plan: BoxPlan, guard: CostAlertsPlan, labels: Mapping[str, str], project: Input[str]
) -> None:
    """An alert to every recipient when the machine is idle and has not stopped itself. The metric is measured outside the machine:
    https://docs.cloud.google.com/monitoring/api/metrics_gcp_c#gcp-compute
    """
    minutes = min((plan.idle_stop_minutes or 0) + GRACE_MINUTES, LONGEST_MINUTES)
    idle = AlertPolicyConditionConditionThresholdArgs(
        filter=f'{METRIC} AND metadata.user_labels."{STACK_LABEL}" = "{labels[STACK_LABEL]}"',
        comparison="COMPARISON_LT",
        threshold_value=plan.idle_cpu_percent / 100,
        duration=f"{minutes * MINUTE_S}s",
        aggregations=[
            AlertPolicyConditionConditionThresholdAggregationArgs(alignment_period=f"{MINUTE_S}s", per_series_aligner="ALIGN_MAX")
        ],
    )
    AlertPolicy(
        child(name, "idle"),
        project=project,
        display_name=f"{name}: idle, and not stopped after {minutes} minutes",
        combiner="OR",
        conditions=[AlertPolicyConditionArgs(display_name=f"CPU utilization below {plan.idle_cpu_percent} %", condition_threshold=idle)],
        notification_channels=_channels(parent, name, guard, labels, project),
        documentation=AlertPolicyDocumentationArgs(
            content="The machine should have stopped itself. If it runs, connect to it: systemctl status rackwright-idle-stop",
            mime_type="text/markdown",
        ),
        user_labels=labels,
        opts=ResourceOptions(parent=parent),
    )


def _channels(
    parent: pulumi.Resource, name: str, guard: CostAlertsPlan, labels: Mapping[str, str], project: Input[str]
) -> list[Output[str]]:
    """An e-mail channel per recipient."""
    channels = [
        NotificationChannel(
            child(name, "mail", number),
            project=project,
            display_name=f"Alerts of {name}",
            type="email",
            labels={"email_address": address},
            user_labels=labels,
            opts=ResourceOptions(parent=parent),
        )
        for number, address in enumerate(guard.emails)
    ]
    return [channel.name for channel in channels]
