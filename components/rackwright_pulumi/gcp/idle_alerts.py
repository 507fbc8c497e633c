"""What alerts on idle machines share: the metric, its condition, and the e-mail channels of the recipients."""

from collections.abc import Mapping, Sequence

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_gcp.monitoring import (
    AlertPolicyConditionConditionThresholdAggregationArgs,
    AlertPolicyConditionConditionThresholdArgs,
    NotificationChannel,
)

from rackwright_pulumi.naming import child

STACK_LABEL = "rackwright-stack"
CPU = 'resource.type = "gce_instance" AND metric.type = "compute.googleapis.com/instance/cpu/utilization"'
"""Measured outside the machine: https://docs.cloud.google.com/monitoring/api/metrics_gcp_c#gcp-compute"""
MINUTE_S = 60
LONGEST_MINUTES = 23 * 60
"""Of a condition: https://docs.cloud.google.com/monitoring/quotas#alerting_uptime_checks_limits"""


def idle_condition(
    machines: Input[str], percent: float, minutes: int, reducer: str | None = None
) -> AlertPolicyConditionConditionThresholdArgs:
    """CPU utilization of the machines below `percent` for `minutes`. machines: filter that selects them. reducer: over several machines."""
    return AlertPolicyConditionConditionThresholdArgs(
        filter=Output.concat(f"{CPU} AND ", machines),
        comparison="COMPARISON_LT",
        threshold_value=percent / 100,
        duration=f"{minutes * MINUTE_S}s",
        aggregations=[
            AlertPolicyConditionConditionThresholdAggregationArgs(
                alignment_period=f"{MINUTE_S}s", per_series_aligner="ALIGN_MAX", cross_series_reducer=reducer
            )
        ],
    )


def mail_channels(
    parent: pulumi.Resource, name: str, emails: Sequence[str], project: Input[str], labels: Mapping[str, str]
) -> list[Output[str]]:
    """Names of an e-mail channel per recipient."""
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
        for number, address in enumerate(emails)
    ]
    return [channel.name for channel in channels]
