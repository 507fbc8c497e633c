"""Alert on an idle machine. Cloud Monitoring notifies and stops no machine; the startup script of the machine stops it."""

from collections.abc import Mapping

import pulumi
from pulumi import Input, ResourceOptions
from pulumi_gcp.monitoring import AlertPolicy, AlertPolicyConditionArgs, AlertPolicyDocumentationArgs
from rackwright.stackplan import BoxPlan, CostAlertsPlan

from rackwright_pulumi.gcp.idle_alerts import LONGEST_MINUTES, STACK_LABEL, idle_condition, mail_channels
from rackwright_pulumi.naming import child

GRACE_MINUTES = 15
"""Time in which an idle machine stops itself, so that only one that could not causes an alert."""


def idle_alert(
    parent: pulumi.Resource, name: str, plan: BoxPlan, guard: CostAlertsPlan, labels: Mapping[str, str], project: Input[str]
) -> None:
    """An alert to every recipient when the machine is idle and has not stopped itself."""
    minutes = min((plan.idle_stop_minutes or 0) + GRACE_MINUTES, LONGEST_MINUTES)
    machine = f'metadata.user_labels."{STACK_LABEL}" = "{labels[STACK_LABEL]}"'
    idle = idle_condition(machine, plan.idle_cpu_percent, minutes)
    AlertPolicy(
        child(name, "idle"),
        project=project,
        display_name=f"{name}: idle, and not stopped after {minutes} minutes",
        combiner="OR",
        conditions=[AlertPolicyConditionArgs(display_name=f"CPU utilization below {plan.idle_cpu_percent} %", condition_threshold=idle)],
        notification_channels=mail_channels(parent, name, guard.emails, project, labels),
        documentation=AlertPolicyDocumentationArgs(
            content="The machine should have stopped itself. If it runs, connect to it: systemctl status rackwright-idle-stop",
            mime_type="text/markdown",
        ),
        user_labels=labels,
        opts=ResourceOptions(parent=parent),
    )
