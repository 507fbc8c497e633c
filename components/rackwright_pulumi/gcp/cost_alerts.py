"""Cost alerts of a cluster: budget and idle machines, by e-mail. They notify and stop nothing."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_gcp.billing import (
    Budget,
    BudgetAllUpdatesRuleArgs,
    BudgetAmountArgs,
    BudgetAmountSpecifiedAmountArgs,
    BudgetBudgetFilterArgs,
    BudgetThresholdRuleArgs,
)
from pulumi_gcp.monitoring import AlertPolicy, AlertPolicyConditionArgs
from rackwright.stackplan import CostAlertsPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.gcp.idle_alerts import LONGEST_MINUTES, STACK_LABEL, idle_condition, mail_channels
from rackwright_pulumi.gcp.labels import gcp_labels
from rackwright_pulumi.naming import child

POOL = 'metadata.user_labels."goog-k8s-cluster-name" = "{}" AND metadata.user_labels."goog-k8s-node-pool-name" = "{}"'
"""Labels that GKE gives its nodes: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/creating-managing-labels"""
MOST_CHANNELS = 5


class GcpGuardArgs(TypedDict):
    """guard: CostAlertsPlan. stack: value of the budget's label. pools: names of the accelerator pools, for idle alerts.

    project_number: in digits.
    """

    guard: Part[CostAlertsPlan]
    stack: str
    project: Input[str]
    project_number: Input[str]
    cluster_name: Input[str]
    pools: Sequence[str]
    tags: Part[Sequence[tuple[str, str]]]


class GcpGuard(pulumi.ComponentResource):
    """E-mail channels, a budget on the stack's label, and an alert for each idle pool.

    The budget is in US dollars, so the billing account must be in US dollars:
    https://docs.cloud.google.com/billing/docs/reference/budget/rest/v1/billingAccounts.budgets
    """

    def __init__(self, name: str, args: GcpGuardArgs, opts: ResourceOptions | None = None):
        check_args(GcpGuardArgs, args)
        super().__init__("rackwright:index:GcpGuard", name, None, opts)
        plan, labels = part(CostAlertsPlan, args["guard"]), gcp_labels(part(tuple[tuple[str, str], ...], args["tags"]))
        channels = mail_channels(self, name, plan.emails, args["project"], labels)
        if plan.budget_usd_per_month is not None and plan.billing_account:
            self._budget(name, plan, args, labels[STACK_LABEL], channels)
        for pool in args["pools"] if plan.idle_minutes else ():
            self._idle(name, plan, pool, args, channels, labels)
        self.register_outputs({})

    def _budget(self, name: str, plan: CostAlertsPlan, args: GcpGuardArgs, label: str, channels: list[Output[str]]) -> None:
        """At most five channels: https://docs.cloud.google.com/billing/docs/how-to/budgets-notification-recipients"""
        rules = [("CURRENT_SPEND", percent) for percent in plan.alert_percents] + [("FORECASTED_SPEND", plan.alert_percents[-1])]
        Budget(
            child(name, "budget"),
            billing_account=plan.billing_account,
            display_name=f"rackwright {args['stack']}"[:60],
            amount=BudgetAmountArgs(
                specified_amount=BudgetAmountSpecifiedAmountArgs(
                    currency_code="USD", units=str(max(1, round(plan.budget_usd_per_month or 0)))
                )
            ),
            budget_filter=BudgetBudgetFilterArgs(
                projects=[Output.concat("projects/", args["project_number"])], labels={STACK_LABEL: label}, calendar_period="MONTH"
            ),
            threshold_rules=[BudgetThresholdRuleArgs(threshold_percent=percent / 100, spend_basis=basis) for basis, percent in rules],
            all_updates_rule=BudgetAllUpdatesRuleArgs(monitoring_notification_channels=channels[:MOST_CHANNELS]) if channels else None,
            opts=ResourceOptions(parent=self),
        )

    def _idle(
        self, name: str, plan: CostAlertsPlan, pool: str, args: GcpGuardArgs, channels: list[Output[str]], labels: Mapping[str, str]
    ) -> None:
        """Alert on the highest CPU use of all nodes of a pool; a pool without nodes has no data and no alert."""
        minutes = min(plan.idle_minutes or 0, LONGEST_MINUTES)
        nodes = Output.from_input(args["cluster_name"]).apply(lambda cluster: POOL.format(cluster, pool))
        idle = idle_condition(nodes, plan.idle_cpu_percent, minutes, "REDUCE_MAX")
        AlertPolicy(
            child(name, "idle", pool),
            project=args["project"],
            display_name=f"{args['stack']}: nodes of {pool} idle for {minutes} minutes",
            combiner="OR",
            conditions=[AlertPolicyConditionArgs(display_name=f"CPU below {plan.idle_cpu_percent} %", condition_threshold=idle)],
            notification_channels=channels,
            user_labels=labels,
            opts=ResourceOptions(parent=self),
        )
